import type { Readable } from 'node:stream';
import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { Agent } from 'undici';
import { createS3Client } from '../../../functions/aws/s3.ts';
import { createFileAgent } from '../../../functions/copy/body.ts';
import { copyFile } from '../../../functions/copy/copy.ts';
import { ACCOUNT, CREDENTIALS } from '../../../infra/local/s3/server.ts';

const BUCKET = 'bench';

/** Copies `url` to the bucket at `endpoint`. */
export type Contender = (url: string, endpoint: string) => Promise<unknown>;

/** The contenders that run in Node, each in a process of its own. */
export const contenders: Readonly<Record<string, Contender>> = {
  raw,
  ours,
  'lib-storage': libStorage,
};

function at(endpoint: string) {
  return { endpoint, region: 'eu-west-1', forcePathStyle: true, credentials: CREDENTIALS };
}

/** The limit: undici's GET piped into undici's PUT, without a check or a retry. */
async function raw(url: string, endpoint: string): Promise<void> {
  const agent = new Agent({ allowH2: false });
  const { body, headers } = await agent.request({ ...target(url), method: 'GET' });
  const length = String(headers['content-length']);
  const put = await signedPut(endpoint, length);
  const answer = await agent.request({ ...put, method: 'PUT', body });
  const text = await answer.body.text();
  if (answer.statusCode !== 200) throw new Error(text);
}

/** The SDK signs the request, and is stopped before it sends it. */
async function signedPut(endpoint: string, length: string) {
  const command = new PutObjectCommand({ Bucket: BUCKET, Key: 'raw', ContentLength: Number(length) });
  const headers: Record<string, string> = {};
  command.middlewareStack.add(
    (next) => (args) => {
      const { headers: sent } = args.request as { headers: Record<string, string> };
      sent['x-amz-content-sha256'] = 'UNSIGNED-PAYLOAD';
      sent['content-length'] = length;
      return next(args);
    },
    { step: 'build', priority: 'low' },
  );
  command.middlewareStack.addRelativeTo(
    () => async (args: { request: unknown }) => {
      Object.assign(headers, (args.request as { headers: Record<string, string> }).headers);
      return { response: {}, output: { $metadata: {} } };
    },
    { relation: 'after', toMiddleware: 'httpSigningMiddleware' },
  );
  await new S3Client(at(endpoint)).send(command);
  return { ...target(`${endpoint}/${BUCKET}/raw?x-id=PutObject`), headers };
}

function target(url: string) {
  const { origin, pathname, search } = new URL(url);
  return { origin, path: pathname + search };
}

/** As SaveReport copies. */
function ours(url: string, endpoint: string) {
  return copyFile({
    source: { url, dispatcher: createFileAgent({ allowLoopback: true }) },
    destination: {
      s3: createS3Client(at(endpoint)),
      bucket: BUCKET,
      key: 'ours',
      expectedBucketOwner: ACCOUNT,
      maxBytes: 1e12,
    },
    deadline: new AbortController().signal,
  });
}

/** `Upload` of @aws-sdk/lib-storage with its defaults, from undici's body. */
async function libStorage(url: string, endpoint: string): Promise<void> {
  const { body } = await new Agent({ allowH2: false }).request({ ...target(url), method: 'GET' });
  const params = { Bucket: BUCKET, Key: 'lib-storage', Body: body as Readable };
  await new Upload({ client: new S3Client(at(endpoint)), params }).done();
}

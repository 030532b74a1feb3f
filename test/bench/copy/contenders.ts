import type { Readable } from 'node:stream';
import { PutObjectCommand, S3Client, type S3ClientConfig } from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { Agent } from 'undici';
import { copyToS3 } from '../../../functions/aws/copy/copy.ts';
import { signPut } from '../../../functions/aws/copy/sign.ts';
import { safeAgent } from '../../../functions/workflow/safe-hosts.ts';
import { ACCOUNT, CREDENTIALS } from '../../../infra/local/s3/server.ts';

/** Copies `url` to the bucket at `endpoint`; resolves to the bytes it copied. */
export type Contender = (url: string, endpoint: string) => Promise<number>;

const MiB = 1024 * 1024;
const BUCKET = 'bench';
const REGION = 'eu-west-1';

/** Each in the way its documentation shows first. */
export const contenders: Readonly<Record<string, Contender>> = {
  ours: (url, endpoint) => ours(url, endpoint, 'JSON'),

  'ours, rows not counted': (url, endpoint) => ours(url, endpoint, 'bytes'),

  async raw(url, endpoint) {
    const agent = new Agent({ allowH2: false });
    const { body, headers } = await agent.request({ ...target(url), method: 'GET' });
    const length = String(headers['content-length']);
    const { host, origin } = new URL(endpoint);
    const unsigned = { host, path: `/${BUCKET}/raw`, query: {}, headers: {} };
    const signed = signPut(unsigned, { region: REGION, credentials: CREDENTIALS, now: new Date() });
    const put = {
      origin,
      path: signed.path,
      method: 'PUT',
      headers: { ...signed.headers, 'content-length': length },
    } as const;
    const answer = await agent.request({ ...put, body });
    const text = await answer.body.text();
    if (answer.statusCode !== 200) throw new Error(text);
    return Number(length);
  },

  'lib-storage': (url, endpoint) => libStorage(url, endpoint, {}),

  'lib-storage, tuned': (url, endpoint) => libStorage(url, endpoint, { partSize: 8 * MiB, queueSize: 2 }),

  async 'whole body'(url, endpoint) {
    const { body } = await new Agent({ allowH2: false }).request({ ...target(url), method: 'GET' });
    const bytes = Buffer.from(await body.arrayBuffer());
    await client(endpoint).send(new PutObjectCommand({ Bucket: BUCKET, Key: 'whole', Body: bytes }));
    return bytes.length;
  },
};

async function ours(url: string, endpoint: string, format: string): Promise<number> {
  const { bytes } = await copyToS3({
    source: { url, dispatcher: safeAgent({ allowLoopback: true }), maxBytes: 1e12, checkUrl: () => {} },
    destination: {
      s3: client(endpoint),
      dispatcher: new Agent({ allowH2: false }),
      bucket: BUCKET,
      key: 'ours',
      expectedBucketOwner: ACCOUNT,
    },
    format,
  });
  return bytes;
}

async function libStorage(
  url: string,
  endpoint: string,
  tuning: { partSize?: number; queueSize?: number },
): Promise<number> {
  const { body, headers } = await new Agent({ allowH2: false }).request({ ...target(url), method: 'GET' });
  const params = { Bucket: BUCKET, Key: 'lib-storage', Body: body as Readable };
  await new Upload({ client: client(endpoint), params, ...tuning }).done();
  return Number(headers['content-length']);
}

function client(endpoint: string): S3Client {
  const config: S3ClientConfig = { endpoint, region: REGION, forcePathStyle: true, credentials: CREDENTIALS };
  return new S3Client(config);
}

function target(url: string): { origin: string; path: string } {
  const { origin, pathname } = new URL(url);
  return { origin, path: pathname };
}

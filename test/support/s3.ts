import { mkdtempDisposable, readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { S3Client, S3ClientConfig } from '@aws-sdk/client-s3';
import { createS3Client } from '../../functions/aws/s3.ts';
import type { S3Options } from '../../infra/lab/local/s3/call.ts';
import { CREDENTIALS, startS3 } from '../../infra/lab/local/s3/server.ts';
import { type Fault, type Faulty, type S3Call, startS3Proxy } from './faulty-services.ts';
import { startVersitygw } from './versitygw.ts';

export const BUCKET = 'exports-test';

export interface TestS3 extends Faulty<S3Call>, AsyncDisposable {
  readonly directory: string;
  /** Does not retry. */
  readonly client: S3Client;
  newClient(config?: S3ClientConfig): S3Client;
  close(): Promise<void>;
}

export interface TestS3Options extends Partial<Omit<S3Options, 'directory'>> {
  readonly faults?: readonly Fault[];
}

/** Starts the local S3, or `VERSITYGW`, behind a proxy, on a temporary folder. Closing it removes both. */
export async function startTestS3({ faults = [], ...options }: TestS3Options = {}): Promise<TestS3> {
  await using started = new AsyncDisposableStack();
  const { path } = started.use(await mkdtempDisposable(join(tmpdir(), 's3-')));
  const directory = join(path, 'objects');
  const { VERSITYGW } = process.env;
  const settings = { buckets: [BUCKET], ...options, directory };
  const server = started.use(await (VERSITYGW ? startVersitygw(VERSITYGW, settings) : startS3(settings)));
  const proxy = started.use(await startS3Proxy(() => server.endpoint));
  proxy.faults.push(...faults);
  const newClient = (config: S3ClientConfig = {}) =>
    createS3Client({ ...s3ConfigOf(proxy), maxAttempts: 1, ...config });
  const client = newClient();
  started.defer(() => client.destroy());
  const running = started.move();
  const close = () => running.disposeAsync();
  return { ...proxy, directory, client, newClient, close, [Symbol.asyncDispose]: close };
}

/** The config with which a client calls a local S3. */
export function s3ConfigOf({ endpoint }: { readonly endpoint: string }) {
  return { endpoint, region: 'eu-west-1', forcePathStyle: true, credentials: CREDENTIALS };
}

/** The names of all files of the buckets. */
export async function filesIn({ directory }: Pick<TestS3, 'directory'>): Promise<string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => entry.name);
}

/** Counts the folders of multipart uploads that are neither completed nor aborted. */
export async function countUploads(directory: string, bucket = BUCKET): Promise<number> {
  const folder = join(directory, bucket, '.uploads');
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isDirectory()).length;
}

/** Calls `hook` before each request that the client sends. */
export function beforeRequests({ config: { requestHandler } }: S3Client, hook: () => unknown): void {
  const handle = requestHandler.handle.bind(requestHandler);
  requestHandler.handle = async (...request) => {
    await hook();
    return handle(...request);
  };
}

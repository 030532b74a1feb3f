import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { S3Client, type S3ClientConfig } from '@aws-sdk/client-s3';
import { CREDENTIALS, type S3, type S3Options, startS3 } from '../../infra/local/s3/server.ts';

export const BUCKET = 'exports-test';

/** Starts the local S3 endpoint on a temporary folder, with a client that does not retry. Closing it removes the folder. */
export async function startTestS3(
  options: Partial<Omit<S3Options, 'directory'>> = {},
): Promise<S3 & { directory: string; client: S3Client; newClient(config?: S3ClientConfig): S3Client }> {
  const { path: directory, remove } = await mkdtempDisposable(join(tmpdir(), 's3-'));
  const server = await startS3({ buckets: [BUCKET], ...options, directory });
  const newClient = (config: S3ClientConfig = {}) =>
    new S3Client({
      endpoint: server.endpoint,
      region: 'eu-west-1',
      forcePathStyle: true,
      credentials: CREDENTIALS,
      maxAttempts: 1,
      ...config,
    });
  const client = newClient();
  const close = async () => {
    client.destroy();
    await server.close();
    await remove();
  };
  return { ...server, directory, client, newClient, close, [Symbol.asyncDispose]: close };
}

/** Calls `hook` before each request that the client sends. A middleware would not see the requests of parts. */
export function beforeRequests({ config: { requestHandler } }: S3Client, hook: () => unknown): void {
  const handle = requestHandler.handle.bind(requestHandler);
  requestHandler.handle = async (...request) => {
    await hook();
    return handle(...request);
  };
}

import type { Readable } from 'node:stream';
import { Upload } from '@aws-sdk/lib-storage';
import { Agent } from 'undici';
import { BUCKET, client } from './client.ts';

export async function libStorage(
  url: string,
  endpoint: string,
  tuning: { partSize?: number; queueSize?: number } = {},
): Promise<number> {
  const { origin, pathname } = new URL(url);
  const source = new Agent({ allowH2: false });
  const { body, headers } = await source.request({ origin, path: pathname, method: 'GET' });
  const params = { Bucket: BUCKET, Key: 'lib-storage', Body: body as Readable };
  await new Upload({ client: client(endpoint), params, ...tuning }).done();
  return Number(headers['content-length']);
}

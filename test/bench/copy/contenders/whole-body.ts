import { PutObjectCommand } from '@aws-sdk/client-s3';
import { Agent } from 'undici';
import { BUCKET, client } from './client.ts';

export async function wholeBody(url: string, endpoint: string): Promise<number> {
  const { origin, pathname } = new URL(url);
  const { body } = await new Agent({ allowH2: false }).request({ origin, path: pathname, method: 'GET' });
  const bytes = Buffer.from(await body.arrayBuffer());
  await client(endpoint).send(new PutObjectCommand({ Bucket: BUCKET, Key: 'whole-body', Body: bytes }));
  return bytes.length;
}

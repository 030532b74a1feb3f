import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { PutObjectCommand } from '@aws-sdk/client-s3';
import { BUCKET, startTestS3 } from '../../../support/s3.ts';

// A process of its own that may not write a file of this size. Prints whether the object was stored, and what is left.
await using s3 = await startTestS3();
const put = new PutObjectCommand({ Bucket: BUCKET, Key: 'report.json', Body: Buffer.alloc(1_000_000) });
const stored = await s3.client.send(put).then(
  () => true,
  () => false,
);
const left = await readdir(join(s3.directory, BUCKET, '.uploads'));
process.stdout.write(JSON.stringify({ stored, left }));

import type { ObjectSettings } from '../workflow/settings.ts';
import { tooLarge } from './download.ts';
import { createObjectWriter, type ObjectWriter } from './object-writer.ts';
import { createBufferPool } from './parts.ts';
import { createS3Client } from './s3-call.ts';
import type { Kind } from './upload.ts';

/** An object that is written as its bytes come. It becomes visible when `end` returns. */
export interface NewObject extends Pick<ObjectWriter, 'end' | 'abort'> {
  /** @throws DownloadRefused if the object grows larger than max_download_bytes, and what S3's calls throw */
  write(chunk: Buffer): Promise<void>;
}

export type CreateObject = (key: string, kind: Kind) => NewObject;

/** Writes objects of the bucket in the memory of two parts of 8 MiB. */
export function createNewObjects({ BUCKET, BUCKET_OWNER, MAX_DOWNLOAD_BYTES }: ObjectSettings): CreateObject {
  const s3 = createS3Client();
  const maxBytes = Number(MAX_DOWNLOAD_BYTES);
  return (key, kind) => {
    const to = { s3, bucket: BUCKET, key, expectedBucketOwner: BUCKET_OWNER };
    const writer = createObjectWriter(to, kind, { pool: createBufferPool() });
    let bytes = 0;
    return {
      ...writer,
      async write(chunk) {
        bytes += chunk.length;
        if (bytes > maxBytes) throw tooLarge(key, maxBytes);
        await writer.write(chunk);
      },
    };
  };
}

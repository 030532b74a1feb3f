import { DownloadRefused } from '../workflow/errors.ts';
import type { ObjectSettings } from '../workflow/settings.ts';
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
  return (key, kind) => {
    const to = { s3, bucket: BUCKET, key, expectedBucketOwner: BUCKET_OWNER };
    const writer = createObjectWriter(to, kind, { pool: createBufferPool() });
    let bytes = 0;
    return {
      ...writer,
      async write(chunk) {
        bytes += chunk.length;
        if (bytes > Number(MAX_DOWNLOAD_BYTES)) {
          throw new DownloadRefused(
            `${key} is larger than max_download_bytes (${MAX_DOWNLOAD_BYTES}) allows. Raise that setting, or export shorter ranges.`,
          );
        }
        await writer.write(chunk);
      },
    };
  };
}

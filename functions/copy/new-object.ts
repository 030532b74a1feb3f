import { DownloadRefused } from '../workflow/errors.ts';
import type { ObjectSettings } from '../workflow/settings.ts';
import type { StoredObject } from '../workflow/state-parts.ts';
import { createObjectWriter } from './object-writer.ts';
import { createBufferPool, PART_BYTES, PARTS_MAX } from './parts.ts';
import { createS3Client } from './s3-call.ts';
import type { Kind } from './upload.ts';

/** An object that is written as its bytes come. It becomes visible when `end` returns. */
export interface NewObject {
  /** @throws DownloadRefused if the object grows larger than max_download_bytes, and what S3's calls throw */
  write(chunk: Buffer): Promise<void>;
  /** @throws CopyFailed, AccessRefused, ServiceUnavailable */
  end(): Promise<Omit<StoredObject, 'copied_at' | 'rows'>>;
  abort(): Promise<void>;
}

export type CreateObject = (key: string, kind: Kind) => NewObject;

/** Writes objects of the bucket in the memory of two parts of 8 MiB. */
export function createNewObjects({ BUCKET, BUCKET_OWNER, MAX_DOWNLOAD_BYTES }: ObjectSettings): CreateObject {
  const s3 = createS3Client();
  const maxBytes = Math.min(Number(MAX_DOWNLOAD_BYTES), PARTS_MAX * PART_BYTES);
  return (key, kind) => {
    const to = { s3, bucket: BUCKET, key, expectedBucketOwner: BUCKET_OWNER };
    const writer = createObjectWriter(to, kind, { pool: createBufferPool() });
    let bytes = 0;
    return {
      async write(chunk) {
        bytes += chunk.length;
        if (bytes > maxBytes) {
          throw new DownloadRefused(
            `${key} is larger than max_download_bytes (${maxBytes}) allows. Raise that setting, or export shorter ranges.`,
          );
        }
        await writer.write(chunk);
      },
      async end() {
        const { versionId, ...stored } = await writer.end();
        return {
          key,
          ...stored,
          content_type: kind.contentType,
          ...(kind.contentEncoding !== undefined && { content_encoding: kind.contentEncoding }),
          ...(versionId !== undefined && { version_id: versionId }),
        };
      },
      abort: () => writer.abort(),
    };
  };
}

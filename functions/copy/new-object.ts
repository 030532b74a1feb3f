import { Agent } from 'undici';
import { DownloadRefused } from '../workflow/errors.ts';
import type { Settings } from '../workflow/settings.ts';
import type { StoredObject } from '../workflow/states.ts';
import { openObjectWriter } from './object-writer.ts';
import { openRing } from './part-writer.ts';
import { openS3Client } from './s3-client.ts';
import type { Kind } from './upload.ts';

/** An object that is written as its bytes come; visible only once `end` has returned. */
export interface NewObject {
  /** @throws DownloadRefused where it grows larger than the settings allow, and what the writer throws */
  write(chunk: Buffer): Promise<void>;
  /** @throws CopyFailed, AccessRefused, ServiceUnavailable */
  end(): Promise<Omit<StoredObject, 'copied_at' | 'rows'>>;
  abort(): Promise<void>;
}

export type OpenObject = (key: string, kind: Kind) => NewObject;

/** The bucket, for what is made here of the platform's answers. Memory stays that of two parts of 8 MiB. */
export function openNewObjects({ BUCKET, BUCKET_OWNER, MAX_DOWNLOAD_BYTES }: Settings): OpenObject {
  const s3 = openS3Client();
  const dispatcher = new Agent({ allowH2: false });
  return (key, kind) => {
    const to = { s3, dispatcher, bucket: BUCKET, key, expectedBucketOwner: BUCKET_OWNER };
    const writer = openObjectWriter(to, kind, openRing());
    let bytes = 0;
    return {
      async write(chunk) {
        bytes += chunk.length;
        if (bytes > Number(MAX_DOWNLOAD_BYTES)) {
          throw new DownloadRefused(
            `${key} is larger than the ${MAX_DOWNLOAD_BYTES} bytes that are allowed.`,
          );
        }
        await writer.write(chunk);
      },
      async end() {
        const { versionId, ...stored } = await writer.end();
        return {
          key,
          bytes: stored.bytes,
          crc32: stored.crc32,
          content_type: kind.contentType,
          ...(kind.contentEncoding !== undefined && { content_encoding: kind.contentEncoding }),
          ...(versionId !== undefined && { version_id: versionId }),
        };
      },
      abort: () => writer.abort(),
    };
  };
}

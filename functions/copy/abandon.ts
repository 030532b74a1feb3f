import { S3Client } from '@aws-sdk/client-s3';
import type { Settings } from '../workflow/settings.ts';
import { abortUpload } from './upload.ts';

/** Gives up an upload that an earlier call has begun. Never throws: the bucket's lifecycle rule gives it up within a day. */
export type Abandon = (key: string, uploadId: string) => Promise<void>;

export function openAbandon(
  { BUCKET: bucket, BUCKET_OWNER: expectedBucketOwner }: Pick<Settings, 'BUCKET' | 'BUCKET_OWNER'>,
  s3 = new S3Client({ maxAttempts: 2 }),
): Abandon {
  return (key, uploadId) => abortUpload({ s3, bucket, key, expectedBucketOwner }, { id: uploadId });
}

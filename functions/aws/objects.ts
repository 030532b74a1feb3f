import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import type { Settings } from '../workflow/settings.ts';
import { asServiceError } from './service-error.ts';

/** The bucket, for the small objects beside the reports. */
export interface ObjectStore {
  readonly bucket: string;
  /** @param key under `exports/` */
  putJson(key: string, value: unknown): Promise<void>;
}

export function openObjectStore({
  BUCKET,
  BUCKET_OWNER,
}: Pick<Settings, 'BUCKET' | 'BUCKET_OWNER'>): ObjectStore {
  const client = new S3Client({ maxAttempts: 1 });
  return {
    bucket: BUCKET,
    async putJson(key, value) {
      const command = new PutObjectCommand({
        Bucket: BUCKET,
        Key: key,
        Body: `${JSON.stringify(value, null, 2)}\n`,
        ContentType: 'application/json',
        ChecksumAlgorithm: 'CRC32',
        ExpectedBucketOwner: BUCKET_OWNER,
      });
      await client.send(command).catch((error) => {
        throw asServiceError(error, `write ${key} to bucket ${BUCKET}`, 's3:PutObject');
      });
    },
  };
}

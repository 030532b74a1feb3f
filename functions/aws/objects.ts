import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import type { Settings } from '../workflow/settings.ts';
import { ONE_TRY, withTimeout } from './call-options.ts';
import { asServiceError } from './service-error.ts';

/** The bucket's small objects, and heads of all objects. Each function throws AccessRefused or ServiceUnavailable. */
export interface ObjectStore {
  readonly bucket: string;
  /** @param key under `exports/` */
  putJson(key: string, value: unknown): Promise<void>;
  /** Returns the object's text; undefined if it does not exist. */
  getText(key: string): Promise<string | undefined>;
  /** Returns the CRC32 in base64 and the version, if S3 knows them, and the metadata; undefined if the object does not exist. */
  head(key: string): Promise<
    | {
        readonly crc32?: string;
        readonly version_id?: string;
        readonly metadata: Readonly<Record<string, string>>;
      }
    | undefined
  >;
  /** Succeeds even if the object does not exist. */
  remove(key: string): Promise<void>;
}

export function createObjectStore({
  BUCKET,
  BUCKET_OWNER,
}: Pick<Settings, 'BUCKET' | 'BUCKET_OWNER'>): ObjectStore {
  const client = new S3Client(ONE_TRY);
  const at = (key: string) => ({ Bucket: BUCKET, Key: key, ExpectedBucketOwner: BUCKET_OWNER });
  const refused = (doing: string, permission: string) => (error: unknown) => {
    throw asServiceError(error, `${doing} bucket ${BUCKET}`, permission);
  };
  return {
    bucket: BUCKET,
    async putJson(key, value) {
      const command = new PutObjectCommand({
        ...at(key),
        Body: `${JSON.stringify(value, null, 2)}\n`,
        ContentType: 'application/json',
        ChecksumAlgorithm: 'CRC32',
      });
      await client.send(command, withTimeout()).catch(refused(`write ${key} to`, 's3:PutObject'));
    },
    async getText(key) {
      const within = withTimeout();
      const read = async () =>
        (await client.send(new GetObjectCommand(at(key)), within)).Body?.transformToString();
      // Without s3:ListBucket, S3 answers 403 for an object that does not exist.
      return read().catch((error: unknown) => {
        if (error instanceof Error && error.name === 'NoSuchKey') return undefined;
        return refused(`read ${key} of`, 's3:GetObject and s3:ListBucket')(error);
      });
    },
    async head(key) {
      const head = async () => {
        const command = new HeadObjectCommand({ ...at(key), ChecksumMode: 'ENABLED' });
        const { ChecksumCRC32: crc32, VersionId, Metadata = {} } = await client.send(command, withTimeout());
        return {
          metadata: Metadata,
          ...(crc32 !== undefined && { crc32 }),
          ...(VersionId !== undefined && { version_id: VersionId }),
        };
      };
      return head().catch((error: unknown) => {
        if (error instanceof Error && error.name === 'NotFound') return undefined;
        return refused(`look at ${key} of`, 's3:GetObject and s3:ListBucket')(error);
      });
    },
    async remove(key) {
      const command = new DeleteObjectCommand(at(key));
      await client.send(command, withTimeout()).catch(refused(`remove ${key} from`, 's3:DeleteObject'));
    },
  };
}

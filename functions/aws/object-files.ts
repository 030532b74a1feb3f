import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { crc32 } from 'node:zlib';
import { GetObjectCommand, HeadObjectCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import type { Settings } from '../workflow/settings.ts';
import { ONE_TRY, withTimeout } from './call-options.ts';
import { asServiceError } from './service-error.ts';

/** A file gets the time of one small call (5 s), and of another one for every 5 MB: S3 takes 1 MB/s at least. */
const BYTES_PER_CALL = 5_000_000;

export type Metadata = Readonly<Record<string, string>>;

export interface ObjectHead {
  readonly etag: string;
  /** The user metadata that was stored with the object. */
  readonly metadata: Metadata;
}

/** The last bytes of an object, and the size of all. */
export interface ObjectEnd {
  readonly bytes: Buffer;
  readonly size: number;
}

/** Objects of any size, which pass through files on this disk. Each function throws AccessRefused or ServiceUnavailable. */
export interface ObjectFiles {
  /** @returns undefined if the object, or this version of it, no longer exists */
  open(key: string, version: string | undefined, signal: AbortSignal): Promise<Readable | undefined>;
  /** @returns undefined if the object does not exist */
  head(key: string): Promise<ObjectHead | undefined>;
  /**
   * Reads the last bytes of an object, or all if there are fewer.
   *
   * @returns undefined if the object no longer has this ETag
   */
  readEnd(key: string, etag: string, length: number): Promise<ObjectEnd | undefined>;
  /**
   * Writes a file with its metadata, which may have 2 KB.
   *
   * @param replaces the ETag of the object that it replaces; undefined if there must be none
   * @returns false if another writer was faster, and nothing was written
   */
  put(key: string, path: string, metadata: Metadata, replaces: string | undefined): Promise<boolean>;
}

/** Another writer has created, replaced or removed the object, or is about to. */
const CONFLICTS = /^(PreconditionFailed|ConditionalRequestConflict|NoSuchKey)$/;

export function createObjectFiles({
  BUCKET,
  BUCKET_OWNER,
}: Pick<Settings, 'BUCKET' | 'BUCKET_OWNER'>): ObjectFiles {
  const client = new S3Client(ONE_TRY);
  const at = (key: string) => ({ Bucket: BUCKET, Key: key, ExpectedBucketOwner: BUCKET_OWNER });
  const failure = (error: unknown, doing: string, permission: string) =>
    asServiceError(error, `${doing} bucket ${BUCKET}`, permission);
  return {
    async open(key, version, signal) {
      const command = new GetObjectCommand({ ...at(key), VersionId: version });
      try {
        const { Body } = await client.send(command, { abortSignal: signal });
        return Body as Readable;
      } catch (error) {
        if (error instanceof Error && /^NoSuch(Key|Version)$/.test(error.name)) return undefined;
        throw failure(error, `read ${key} of`, 's3:GetObject, s3:GetObjectVersion and s3:ListBucket');
      }
    },
    async head(key) {
      try {
        const { ETag, Metadata } = await client.send(new HeadObjectCommand(at(key)), withTimeout());
        return { etag: ETag ?? '', metadata: Metadata ?? {} };
      } catch (error) {
        if (error instanceof Error && error.name === 'NotFound') return undefined;
        throw failure(error, `look at ${key} of`, 's3:GetObject and s3:ListBucket');
      }
    },
    async readEnd(key, etag, length) {
      const command = new GetObjectCommand({ ...at(key), IfMatch: etag, Range: `bytes=-${length}` });
      try {
        const { Body, ContentRange } = await client.send(command, withTimeout());
        const bytes = Buffer.from((await Body?.transformToByteArray()) ?? []);
        // A range that covers the whole object may be answered with 200.
        return { bytes, size: Number(ContentRange?.split('/')[1] ?? bytes.length) };
      } catch (error) {
        if (error instanceof Error && CONFLICTS.test(error.name)) return undefined;
        throw failure(error, `read ${key} of`, 's3:GetObject and s3:ListBucket');
      }
    },
    async put(key, path, metadata, replaces) {
      const { size } = await stat(path);
      const command = new PutObjectCommand({
        ...at(key),
        ...(replaces === undefined ? { IfNoneMatch: '*' } : { IfMatch: replaces }),
        Body: createReadStream(path),
        ContentLength: size,
        ContentType: 'application/vnd.apache.parquet',
        ChecksumCRC32: await checksumOf(path),
        Metadata: metadata,
      });
      try {
        await client.send(command, withTimeout(1 + Math.ceil(size / BYTES_PER_CALL)));
        return true;
      } catch (error) {
        if (error instanceof Error && CONFLICTS.test(error.name)) return false;
        throw failure(error, `write ${key} to`, 's3:PutObject');
      }
    },
  };
}

/** Base64 of the big-endian CRC32, which S3 compares with the bytes that arrive. */
async function checksumOf(path: string): Promise<string> {
  let sum = 0;
  for await (const chunk of createReadStream(path)) sum = crc32(chunk as Buffer, sum);
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(sum);
  return bytes.toString('base64');
}

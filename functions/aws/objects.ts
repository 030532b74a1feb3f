import { createReadStream, createWriteStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { crc32 } from 'node:zlib';
import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  PutObjectCommand,
  paginateListObjectsV2,
  type S3ClientConfig,
} from '@aws-sdk/client-s3';
import type { Settings } from '../workflow/settings.ts';
import { addressed, createS3Client } from './s3.ts';
import { asServiceError } from './service-error.ts';

/** Milliseconds for all tries of a small call: the pauses of five tries take up to 7.5 s (see s3.ts). */
const CALL_TIMEOUT = 10_000;

/** Milliseconds for all pages of a list, of 1,000 keys each: an export may have run hourly for years. */
const LIST_TIMEOUT = 60_000;

/** A slow line takes 100 kB/s. A file gets the time of a small call, and this much more. */
const BYTES_PER_MILLISECOND = 100;

/** The SDK repeats a PUT of a smaller file. Most months have some kilobytes. */
const LARGE_FILE_BYTES = 8 * 1024 * 1024;

export interface ObjectHead {
  /** Base64, if S3 knows it. */
  readonly crc32?: string;
  readonly version_id?: string;
}

/** The text of an object, and the tag that changes with its bytes. */
export interface TaggedText {
  readonly text: string;
  readonly etag: string;
}

/** The last bytes of an object, and the size of all. */
export interface ObjectEnd {
  readonly bytes: Buffer;
  readonly size: number;
}

/** The bucket's objects. Each function throws AccessRefused or ServiceUnavailable. */
export interface ObjectStore {
  readonly bucket: string;
  /** Keys in the order of their characters. @param after leaves out this key and all before it */
  list(prefix: string, after?: string): Promise<string[]>;
  /**
   * Writes an object as JSON.
   *
   * @param replaces the object that it replaces, or that there must be none. Default: whatever is there
   * @returns false if another writer was faster, and nothing was written
   */
  putJson(key: string, value: unknown, replaces?: Pick<TaggedText, 'etag'> | 'absent'): Promise<boolean>;
  /** @returns the object's text; undefined if it does not exist */
  getText(key: string): Promise<string | undefined>;
  /** Like getText, for a writer that replaces the object. */
  getTagged(key: string): Promise<TaggedText | undefined>;
  /** @returns undefined if the object, or this version of it, does not exist */
  head(key: string, version?: string): Promise<ObjectHead | undefined>;
  /** @returns undefined if the object, or this version of it, no longer exists */
  open(key: string, version: string | undefined, signal: AbortSignal): Promise<Readable | undefined>;
  /**
   * Reads the last bytes of an object, or all if there are fewer.
   *
   * @returns undefined if the object does not exist
   */
  readEnd(key: string, length: number): Promise<ObjectEnd | undefined>;
  /**
   * Writes an object into a file of this disk.
   *
   * @returns its ETag; undefined if the object does not exist
   * @throws also ENOSPC
   */
  getFile(key: string, path: string, signal: AbortSignal): Promise<string | undefined>;
  /**
   * Writes a file of this disk.
   *
   * @param replaces the ETag of the object that it replaces; undefined if there must be none
   * @returns false if another writer was faster, and nothing was written
   */
  putFile(key: string, path: string, replaces: string | undefined): Promise<boolean>;
  /** Succeeds even if the object does not exist. */
  remove(key: string): Promise<void>;
}

/** Another writer has created, replaced or removed the object, or is about to. */
const CONFLICTS = /^(PreconditionFailed|ConditionalRequestConflict|NoSuchKey)$/;

/** @param config of the client, where the environment does not have it */
export function createObjectStore(
  { BUCKET, BUCKET_OWNER }: Pick<Settings, 'BUCKET' | 'BUCKET_OWNER'>,
  config: S3ClientConfig = {},
): ObjectStore {
  const client = createS3Client(config);
  const at = (key: string) => addressed({ bucket: BUCKET, key, expectedBucketOwner: BUCKET_OWNER });
  const within = (milliseconds = CALL_TIMEOUT) => ({ abortSignal: AbortSignal.timeout(milliseconds) });

  function refused(doing: string, permission: string) {
    return (error: unknown): never => {
      throw asServiceError(error, `${doing} bucket ${BUCKET}`, permission);
    };
  }

  /** Returns a value for errors with these names, and throws the others as `refuse` does. */
  function unless<T>(names: RegExp, value: T, refuse: (error: unknown) => never): (error: unknown) => T {
    return (error) => (error instanceof Error && names.test(error.name) ? value : refuse(error));
  }

  async function getTagged(key: string): Promise<TaggedText | undefined> {
    const read = async () => {
      const { Body, ETag = '' } = await client.send(new GetObjectCommand(at(key)), within());
      return { text: (await Body?.transformToString()) ?? '', etag: ETag };
    };
    // Without s3:ListBucket, S3 answers 403 for an object that does not exist.
    const refuse = refused(`read ${key} of`, 's3:GetObject and s3:ListBucket');
    return read().catch(unless(/^NoSuchKey$/, undefined, refuse));
  }

  return {
    bucket: BUCKET,
    async list(Prefix, StartAfter) {
      const pages = paginateListObjectsV2(
        { client },
        { Bucket: BUCKET, ExpectedBucketOwner: BUCKET_OWNER, Prefix, StartAfter: StartAfter || undefined },
        within(LIST_TIMEOUT),
      );
      const keys: string[] = [];
      try {
        for await (const { Contents = [] } of pages) keys.push(...Contents.map(({ Key = '' }) => Key));
        return keys;
      } catch (error) {
        return refused(`list ${Prefix} of`, 's3:ListBucket')(error);
      }
    },
    async putJson(key, value, replaces) {
      const command = new PutObjectCommand({
        ...at(key),
        ...(replaces === 'absent' ? { IfNoneMatch: '*' } : { IfMatch: replaces?.etag }),
        Body: `${JSON.stringify(value, null, 2)}\n`,
        ContentType: 'application/json',
        ChecksumAlgorithm: 'CRC32',
      });
      const put = async () => {
        await client.send(command, within());
        return true;
      };
      return put().catch(unless(CONFLICTS, false, refused(`write ${key} to`, 's3:PutObject')));
    },
    getText: async (key) => (await getTagged(key))?.text,
    getTagged,
    async head(key, VersionId) {
      const command = new HeadObjectCommand({ ...at(key), VersionId, ChecksumMode: 'ENABLED' });
      const refuse = refused(`look at ${key} of`, 's3:GetObject and s3:ListBucket');
      const answer = await client.send(command, within()).catch(unless(/^NotFound$/, undefined, refuse));
      if (answer === undefined) return undefined;
      const { ChecksumCRC32: crc32, VersionId: version_id } = answer;
      return { ...(crc32 !== undefined && { crc32 }), ...(version_id !== undefined && { version_id }) };
    },
    async open(key, version, signal) {
      const command = new GetObjectCommand({ ...at(key), VersionId: version });
      const refuse = refused(`read ${key} of`, 's3:GetObject, s3:GetObjectVersion and s3:ListBucket');
      const answer = await client
        .send(command, { abortSignal: signal })
        .catch(unless(/^NoSuch(Key|Version)$/, undefined, refuse));
      return answer?.Body as Readable | undefined;
    },
    async readEnd(key, length) {
      const command = new GetObjectCommand({ ...at(key), Range: `bytes=-${length}` });
      const read = async () => {
        const { Body, ContentRange } = await client.send(command, within());
        const bytes = Buffer.from((await Body?.transformToByteArray()) ?? []);
        // A range that covers the whole object may be answered with 200.
        return { bytes, size: Number(ContentRange?.split('/')[1] ?? bytes.length) };
      };
      const refuse = refused(`read ${key} of`, 's3:GetObject and s3:ListBucket');
      // S3 refuses to read the end of an empty object.
      const empty = { bytes: Buffer.alloc(0), size: 0 };
      const otherwise = unless(/^NoSuchKey$/, undefined, refuse);
      return read().catch((error) => (error.name === 'InvalidRange' ? empty : otherwise(error)));
    },
    async getFile(key, path, abortSignal) {
      const command = new GetObjectCommand(at(key));
      const read = async () => {
        const { Body, ETag } = await client.send(command, { abortSignal });
        await pipeline(Body as Readable, createWriteStream(path));
        return ETag;
      };
      const refuse = refused(`read ${key} of`, 's3:GetObject and s3:ListBucket');
      return read().catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOSPC') throw error;
        return unless(/^NoSuchKey$/, undefined, refuse)(error);
      });
    },
    async putFile(key, path, replaces) {
      const { size } = await stat(path);
      await using stream = size < LARGE_FILE_BYTES ? undefined : createReadStream(path);
      const command = new PutObjectCommand({
        ...at(key),
        ...(replaces === undefined ? { IfNoneMatch: '*' } : { IfMatch: replaces }),
        Body: stream ?? (await readFile(path)),
        ContentLength: size,
        ContentType: 'application/vnd.apache.parquet',
        ChecksumCRC32: await checksumOf(path),
      });
      const put = async () => {
        // The client ends a PUT that stalls: socketTimeout.
        const { abortSignal } = within(CALL_TIMEOUT + Math.ceil(size / BYTES_PER_MILLISECOND));
        await client.send(command, { abortSignal, requestTimeout: 0 });
        return true;
      };
      return await put().catch(unless(CONFLICTS, false, refused(`write ${key} to`, 's3:PutObject')));
    },
    async remove(key) {
      const command = new DeleteObjectCommand(at(key));
      await client.send(command, within()).catch(refused(`remove ${key} from`, 's3:DeleteObject'));
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

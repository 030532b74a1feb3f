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
  type S3Client,
  type S3ClientConfig,
} from '@aws-sdk/client-s3';
import type { Settings } from '../workflow/settings.ts';
import { addressed, base64Crc32, createS3Client } from './s3.ts';
import { asServiceError } from './service-error.ts';

/** Milliseconds for all tries of a small call: the pauses of five tries take up to 7.5 s (see s3.ts). */
const CALL_TIMEOUT = 10_000;

/** Milliseconds for all pages of a list, of 1,000 keys each: an export may have run hourly for years. */
const LIST_TIMEOUT = 60_000;

/** A slow line takes 100 kB/s. A file gets the time of a small call, and this much more. */
const BYTES_PER_MILLISECOND = 100;

/** The SDK repeats a PUT of a smaller file. Most months have some kilobytes. */
const LARGE_FILE_BYTES = 8 * 1024 * 1024;

/** Writing a large file in smaller blocks takes twice the CPU. */
const BLOCK_BYTES = 256 * 1024;

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

/** Another writer has created, replaced or removed the object, or is about to. */
const CONFLICTS = /^(PreconditionFailed|ConditionalRequestConflict|NoSuchKey)$/;

const ABSENT = /^NoSuch(Key|Version)$/;

/** Without s3:ListBucket, S3 answers 403 for an object that does not exist. */
const READ_OBJECT = 's3:GetObject and s3:ListBucket';

/** The bucket and its client. */
interface Access {
  readonly client: S3Client;
  readonly bucket: Pick<Settings, 'BUCKET' | 'BUCKET_OWNER'>;
}

/** The act of a call, which its error names. */
interface BucketCall {
  /** Such as "read exports/a.json of", which goes before the bucket's name. */
  readonly doing: string;
  readonly permission: string;
  /** The names of errors that are answers, such as the error for an absent object. */
  readonly expected?: RegExp;
}

export type ObjectStore = ReturnType<typeof createObjectStore>;

/**
 * The bucket's objects. Each function throws AccessRefused or ServiceUnavailable. One that reads returns
 * undefined if the object, or this version of it, does not exist.
 *
 * @param config of the client, where the environment does not have it
 */
export function createObjectStore(bucket: Access['bucket'], config: S3ClientConfig = {}) {
  const access: Access = { client: createS3Client(config), bucket };
  return {
    bucket: bucket.BUCKET,
    ...createListing(access),
    ...createReading(access),
    ...createWriting(access),
    ...createFileTransfer(access),
  };
}

function createListing(access: Access) {
  const { client, bucket } = access;

  async function listAll(Prefix: string, StartAfter: string | undefined): Promise<string[]> {
    const { BUCKET: Bucket, BUCKET_OWNER: ExpectedBucketOwner } = bucket;
    const where = { Bucket, ExpectedBucketOwner, Prefix, StartAfter };
    const keys: string[] = [];
    for await (const { Contents = [] } of paginateListObjectsV2({ client }, where, within(LIST_TIMEOUT)))
      keys.push(...Contents.map(({ Key = '' }) => Key));
    return keys;
  }

  return {
    /**
     * Keys in the order of their characters.
     *
     * @param after leaves out this key and all before it
     */
    async list(prefix: string, after?: string): Promise<string[]> {
      const call = { doing: `list ${prefix} of`, permission: 's3:ListBucket' };
      return (await attempt(access, call, listAll(prefix, after || undefined))) ?? [];
    },
  };
}

function createReading(access: Access) {
  const { client } = access;

  async function getTagged(key: string): Promise<TaggedText | undefined> {
    const read = async () => {
      const { Body, ETag = '' } = await client.send(new GetObjectCommand(at(access, key)), within());
      return { text: (await Body?.transformToString()) ?? '', etag: ETag };
    };
    return attempt(access, readingOf(key), read());
  }

  return {
    /** Also for a writer that replaces the object. */
    getTagged,

    getText: async (key: string): Promise<string | undefined> => (await getTagged(key))?.text,

    /** The CRC32 is in Base64, if S3 knows it. */
    async head(
      key: string,
      VersionId?: string,
    ): Promise<{ crc32?: string | undefined; version_id?: string | undefined } | undefined> {
      const command = new HeadObjectCommand({ ...at(access, key), VersionId, ChecksumMode: 'ENABLED' });
      const call = { doing: `look at ${key} of`, permission: READ_OBJECT, expected: /^NotFound$/ };
      const answer = await attempt(access, call, client.send(command, within()));
      return answer && { crc32: answer.ChecksumCRC32, version_id: answer.VersionId };
    },

    /** Reads the last bytes, or all if there are fewer. */
    async readEnd(key: string, length: number): Promise<ObjectEnd | undefined> {
      const read = async () => {
        const command = new GetObjectCommand({ ...at(access, key), Range: `bytes=-${length}` });
        const { Body, ContentRange } = await client.send(command, within());
        const bytes = Buffer.from((await Body?.transformToByteArray()) ?? []);
        // A range that covers the whole object may be answered with 200.
        return { bytes, size: Number(ContentRange?.split('/')[1] ?? bytes.length) };
      };
      const reading = read().catch((error) => {
        // S3 refuses to read the end of an empty object.
        if (error.name === 'InvalidRange') return { bytes: Buffer.alloc(0), size: 0 };
        throw error;
      });
      return attempt(access, readingOf(key), reading);
    },
  };
}

function createWriting(access: Access) {
  const { client } = access;
  return {
    /** @param replaces what it replaces, or that there must be none. Default: any */
    putJson(key: string, value: unknown, replaces?: Pick<TaggedText, 'etag'> | 'absent'): Promise<boolean> {
      const command = new PutObjectCommand({
        ...at(access, key),
        ...(replaces === 'absent' ? { IfNoneMatch: '*' } : { IfMatch: replaces?.etag }),
        Body: `${JSON.stringify(value, null, 2)}\n`,
        ContentType: 'application/json',
        ChecksumAlgorithm: 'CRC32',
      });
      return put(access, key, client.send(command, within()));
    },

    /** Replaces what is there. */
    async putText(key: string, text: string): Promise<void> {
      const Body = Buffer.from(text);
      const command = new PutObjectCommand({
        ...at(access, key),
        Body,
        ContentType: 'application/x-ndjson',
        ChecksumAlgorithm: 'CRC32',
      });
      await put(access, key, client.send(command, within(timeoutOf(Body.length))));
    },

    /** Succeeds even if the object does not exist. */
    async remove(key: string): Promise<void> {
      const removing = client.send(new DeleteObjectCommand(at(access, key)), within());
      await attempt(access, { doing: `remove ${key} from`, permission: 's3:DeleteObject' }, removing);
    },
  };
}

/** Objects as files of this disk. */
function createFileTransfer(access: Access) {
  const { client } = access;
  return {
    /**
     * Writes the object into a file, and compares it with the CRC32 that S3 sends.
     *
     * @throws also ENOSPC
     */
    async getFile(key: string, path: string, abortSignal: AbortSignal, VersionId?: string) {
      const command = new GetObjectCommand({ ...at(access, key), VersionId, ChecksumMode: 'ENABLED' });
      const read = async () => {
        const { Body, ETag = '', ChecksumCRC32: crc32 } = await client.send(command, { abortSignal });
        await pipeline(Body as Readable, createWriteStream(path, { highWaterMark: BLOCK_BYTES }));
        return { etag: ETag, crc32 };
      };
      const permission = VersionId === undefined ? READ_OBJECT : `s3:GetObjectVersion, ${READ_OBJECT}`;
      return attempt(access, { ...readingOf(key), permission }, read());
    },

    /** @param replaces the ETag of the object that it replaces; undefined if there must be none */
    async putFile(key: string, path: string, replaces: string | undefined): Promise<boolean> {
      const { size } = await stat(path);
      await using stream = size < LARGE_FILE_BYTES ? undefined : createReadStream(path);
      const command = new PutObjectCommand({
        ...at(access, key),
        ...(replaces === undefined ? { IfNoneMatch: '*' } : { IfMatch: replaces }),
        Body: stream ?? (await readFile(path)),
        ContentLength: size,
        ContentType: 'application/vnd.apache.parquet',
        ChecksumCRC32: await checksumOf(path),
      });
      // The client ends a PUT that stalls: socketTimeout.
      const options = { ...within(timeoutOf(size)), requestTimeout: 0 };
      return await put(access, key, client.send(command, options));
    },
  };
}

/** @returns undefined after an error that the call expects */
async function attempt<T>(
  { bucket }: Access,
  { doing, permission, expected }: BucketCall,
  work: Promise<T>,
): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof Error && expected?.test(error.name)) return undefined;
    // This disk is full, and not the bucket's.
    if ((error as NodeJS.ErrnoException).code === 'ENOSPC') throw error;
    throw asServiceError(error, `${doing} bucket ${bucket.BUCKET}`, permission);
  }
}

/** @returns false if another writer was faster, and nothing was written */
async function put(access: Access, key: string, putting: Promise<unknown>): Promise<boolean> {
  const call = { doing: `write ${key} to`, permission: 's3:PutObject', expected: CONFLICTS };
  return (await attempt(access, call, putting)) !== undefined;
}

/** The call that reads an object. */
function readingOf(key: string): BucketCall {
  return { doing: `read ${key} of`, permission: READ_OBJECT, expected: ABSENT };
}

function at({ bucket }: Access, key: string) {
  return addressed({ bucket: bucket.BUCKET, key, expectedBucketOwner: bucket.BUCKET_OWNER });
}

/** The options of a call that ends after this time, all tries together. */
function within(milliseconds = CALL_TIMEOUT) {
  return { abortSignal: AbortSignal.timeout(milliseconds) };
}

/** Milliseconds for a body of this size. */
function timeoutOf(bytes: number): number {
  return CALL_TIMEOUT + Math.ceil(bytes / BYTES_PER_MILLISECOND);
}

/** S3 compares it with the bytes that arrive. */
export async function checksumOf(path: string): Promise<string> {
  let sum = 0;
  for await (const chunk of createReadStream(path)) sum = crc32(chunk as Buffer, sum);
  return base64Crc32(sum);
}

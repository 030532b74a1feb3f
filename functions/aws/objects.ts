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
const READ = 's3:GetObject and s3:ListBucket';

export type ObjectStore = ReturnType<typeof createObjectStore>;

/**
 * The bucket's objects. Each function throws AccessRefused or ServiceUnavailable. One that reads returns
 * undefined if the object, or this version of it, does not exist.
 *
 * @param config of the client, where the environment does not have it
 */
export function createObjectStore(
  { BUCKET, BUCKET_OWNER }: Pick<Settings, 'BUCKET' | 'BUCKET_OWNER'>,
  config: S3ClientConfig = {},
) {
  const client = createS3Client(config);
  const at = (key: string) => addressed({ bucket: BUCKET, key, expectedBucketOwner: BUCKET_OWNER });
  const within = (milliseconds = CALL_TIMEOUT) => ({ abortSignal: AbortSignal.timeout(milliseconds) });

  /** @returns undefined after an error with one of these names */
  async function attempt<T>(
    work: Promise<T>,
    doing: string,
    permission: string,
    expected = /^$/,
  ): Promise<T | undefined> {
    try {
      return await work;
    } catch (error) {
      if (error instanceof Error && expected.test(error.name)) return undefined;
      // This disk is full, and not the bucket's.
      if ((error as NodeJS.ErrnoException).code === 'ENOSPC') throw error;
      throw asServiceError(error, `${doing} bucket ${BUCKET}`, permission);
    }
  }

  /** @returns false if another writer was faster, and nothing was written */
  async function put(
    command: PutObjectCommand,
    key: string,
    options: { abortSignal: AbortSignal; requestTimeout?: number },
  ): Promise<boolean> {
    const putting = client.send(command, options);
    return (await attempt(putting, `write ${key} to`, 's3:PutObject', CONFLICTS)) !== undefined;
  }

  async function listAll(Prefix: string, StartAfter: string | undefined): Promise<string[]> {
    const where = { Bucket: BUCKET, ExpectedBucketOwner: BUCKET_OWNER, Prefix, StartAfter };
    const keys: string[] = [];
    for await (const { Contents = [] } of paginateListObjectsV2({ client }, where, within(LIST_TIMEOUT)))
      keys.push(...Contents.map(({ Key = '' }) => Key));
    return keys;
  }

  /** Also for a writer that replaces the object. */
  async function getTagged(key: string): Promise<TaggedText | undefined> {
    const read = async () => {
      const { Body, ETag = '' } = await client.send(new GetObjectCommand(at(key)), within());
      return { text: (await Body?.transformToString()) ?? '', etag: ETag };
    };
    return attempt(read(), `read ${key} of`, READ, ABSENT);
  }

  return {
    bucket: BUCKET,
    getTagged,
    getText: async (key: string): Promise<string | undefined> => (await getTagged(key))?.text,

    /** Keys in the order of their characters. @param after leaves out this key and all before it */
    async list(prefix: string, after?: string): Promise<string[]> {
      return (await attempt(listAll(prefix, after || undefined), `list ${prefix} of`, 's3:ListBucket')) ?? [];
    },

    /** @param replaces what it replaces, or that there must be none. Default: any */
    putJson(key: string, value: unknown, replaces?: Pick<TaggedText, 'etag'> | 'absent'): Promise<boolean> {
      const command = new PutObjectCommand({
        ...at(key),
        ...(replaces === 'absent' ? { IfNoneMatch: '*' } : { IfMatch: replaces?.etag }),
        Body: `${JSON.stringify(value, null, 2)}\n`,
        ContentType: 'application/json',
        ChecksumAlgorithm: 'CRC32',
      });
      return put(command, key, within());
    },

    /** Replaces what is there. */
    async putText(key: string, text: string): Promise<void> {
      const Body = Buffer.from(text);
      const command = new PutObjectCommand({
        ...at(key),
        Body,
        ContentType: 'application/x-ndjson',
        ChecksumAlgorithm: 'CRC32',
      });
      await put(command, key, within(CALL_TIMEOUT + Math.ceil(Body.length / BYTES_PER_MILLISECOND)));
    },

    /** The CRC32 is in Base64, if S3 knows it. */
    async head(
      key: string,
      VersionId?: string,
    ): Promise<{ crc32?: string | undefined; version_id?: string | undefined } | undefined> {
      const command = new HeadObjectCommand({ ...at(key), VersionId, ChecksumMode: 'ENABLED' });
      const answer = await attempt(client.send(command, within()), `look at ${key} of`, READ, /^NotFound$/);
      return answer && { crc32: answer.ChecksumCRC32, version_id: answer.VersionId };
    },

    /** Reads the last bytes, or all if there are fewer. */
    async readEnd(key: string, length: number): Promise<ObjectEnd | undefined> {
      const read = async () => {
        const command = new GetObjectCommand({ ...at(key), Range: `bytes=-${length}` });
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
      return attempt(reading, `read ${key} of`, READ, ABSENT);
    },

    /**
     * Writes the object into a file of this disk, and compares it with the CRC32 that S3 sends.
     *
     * @throws also ENOSPC
     */
    async getFile(key: string, path: string, abortSignal: AbortSignal, VersionId?: string) {
      const command = new GetObjectCommand({ ...at(key), VersionId, ChecksumMode: 'ENABLED' });
      const read = async () => {
        const { Body, ETag = '', ChecksumCRC32: crc32 } = await client.send(command, { abortSignal });
        await pipeline(Body as Readable, createWriteStream(path, { highWaterMark: BLOCK_BYTES }));
        return { etag: ETag, crc32 };
      };
      const permission = VersionId === undefined ? READ : `s3:GetObjectVersion, ${READ}`;
      return attempt(read(), `read ${key} of`, permission, ABSENT);
    },

    /** @param replaces the ETag of the object that it replaces; undefined if there must be none */
    async putFile(key: string, path: string, replaces: string | undefined): Promise<boolean> {
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
      // The client ends a PUT that stalls: socketTimeout.
      const limit = CALL_TIMEOUT + Math.ceil(size / BYTES_PER_MILLISECOND);
      return await put(command, key, { ...within(limit), requestTimeout: 0 });
    },

    /** Succeeds even if the object does not exist. */
    async remove(key: string): Promise<void> {
      const removing = client.send(new DeleteObjectCommand(at(key)), within());
      await attempt(removing, `remove ${key} from`, 's3:DeleteObject');
    },
  };
}

/** S3 compares it with the bytes that arrive. */
export async function checksumOf(path: string): Promise<string> {
  let sum = 0;
  for await (const chunk of createReadStream(path)) sum = crc32(chunk as Buffer, sum);
  return base64Crc32(sum);
}

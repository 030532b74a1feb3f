import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { ListMultipartUploadsCommand } from '@aws-sdk/client-s3';
import { Agent, buildConnector } from 'undici';
import { expect } from 'vitest';
import type { Unfinished } from '../../functions/copy/attempt.ts';
import { type Copied, type CopyOptions, copyToS3 } from '../../functions/copy/copy.ts';
import { base64Crc32 } from '../../functions/copy/crc32.ts';
import type { Source } from '../../functions/copy/download.ts';
import type { Connect } from '../../functions/copy/get.ts';
import type { Destination } from '../../functions/copy/upload.ts';
import { ACCOUNT, type S3Options } from '../../infra/local/s3/server.ts';
import { BUCKET, openS3 } from './s3.ts';
import { type FileOptions, openStorageHost, type StorageHost } from './storage-host.ts';

export const KEY = 'exports/account=acme/report.json';

/** Parts of 64 KiB, so that a file of a megabyte has many. */
export const PART = 64 * 1024;

export interface Outcome {
  readonly copied?: Copied;
  /** Where the call was to be followed by another one. */
  readonly unfinished?: Unfinished;
  readonly error?: unknown;
  /** What stands at the key, if anything. */
  readonly object: Buffer | undefined;
  readonly openUploads: number;
  readonly host: StorageHost;
  readonly s3: Awaited<ReturnType<typeof openS3>>;
}

type Options = Partial<Omit<CopyOptions, 'source'>> & {
  readonly source?: Partial<Source>;
  /** Of the SDK. */
  readonly tries?: number;
};

/** A storage host with one file and an S3 bucket, both on this machine, and copies from the one to the other. */
export interface Copying extends AsyncDisposable {
  readonly host: StorageHost;
  readonly s3: Outcome['s3'];
  readonly source: Source;
  readonly destination: Destination;
  /** One call, and what it left. */
  copy(options?: Options): Promise<Outcome>;
  object(): Promise<Buffer | undefined>;
  openUploads(): Promise<number>;
}

export async function openCopying(file: FileOptions, s3Options: Partial<S3Options> = {}): Promise<Copying> {
  await using opened = new AsyncDisposableStack();
  const s3 = opened.use(await openS3({ minPartBytes: 1, ...s3Options }));
  const host = opened.use(await openStorageHost(file));
  const dispatcher = new Agent({ allowH2: false, connectTimeout: 1_000 });
  opened.defer(() => dispatcher.destroy());
  const source = {
    url: host.url,
    connect: connecting(file.certificate?.cert),
    maxBytes: 100 * 1024 * 1024,
    checkUrl: () => {},
  };
  const destination = { s3: s3.client, dispatcher, bucket: BUCKET, key: KEY, expectedBucketOwner: ACCOUNT };
  const open = opened.move();
  const object = () => readFile(join(s3.directory, BUCKET, KEY)).catch(() => undefined);
  const openUploads = async () => {
    const owner = { ExpectedBucketOwner: s3Options.account ?? ACCOUNT };
    const { Uploads = [] } = await s3.client.send(
      new ListMultipartUploadsCommand({ Bucket: BUCKET, ...owner }),
    );
    return Uploads.length;
  };
  const copy = async ({ source: changed, tries = 1, ...options }: Options = {}) => {
    const client = s3.newClient({ maxAttempts: tries });
    const result = await copyToS3({
      source: { ...source, ...changed },
      destination: { ...destination, s3: client },
      format: 'JSON',
      size: () => PART,
      pause: 1,
      ...options,
    }).then(
      (ended) => ('uploadId' in ended ? { unfinished: ended } : { copied: ended }),
      (error: unknown) => ({ error }),
    );
    client.destroy();
    return { ...result, object: await object(), openUploads: await openUploads(), host, s3 };
  };
  const close = () => open.disposeAsync();
  return { host, s3, source, destination, copy, object, openUploads, [Symbol.asyncDispose]: close };
}

/** To any address. @param ca whom to trust beside the well-known */
function connecting(ca: string | undefined): Connect {
  return (onread) =>
    buildConnector({ allowH2: false, timeout: 1_000, onread, ...(ca === undefined ? {} : { ca }) });
}

/** One copy, and what it left. */
export async function copyOnce(
  file: FileOptions,
  { s3, ...options }: Options & { s3?: Partial<S3Options> } = {},
): Promise<Outcome> {
  await using copying = await openCopying(file, s3);
  return await copying.copy(options);
}

/** A JSON array of exactly `bytes` bytes, with brackets and quotes inside its strings, and the number of its rows. */
export function jsonOf(bytes: number): { body: Buffer; rows: number } {
  const row = '{"date":"2026-10-01","name":"a \\"quoted\\" [name], {braced}","spend":12.5}';
  const rows = Math.max(1, Math.floor((bytes - 2) / (row.length + 1)));
  const text = `[${Array.from({ length: rows }, () => row).join(',')}`;
  return { body: Buffer.from(`${text}${' '.repeat(Math.max(0, bytes - text.length - 1))}]`), rows };
}

/** The very bytes, verified, and no upload left open. */
export function expectDelivered({ error, copied, object, openUploads }: Outcome, bytes: Buffer): void {
  expect(error).toBeUndefined();
  expect(object?.equals(bytes)).toBe(true);
  expect(copied?.bytes).toBe(bytes.length);
  expect(copied?.checksum.value).toBe(base64Crc32(crc32(bytes)));
  expect(openUploads).toBe(0);
}

/** Failed by this name, with nothing visible and no upload left open. */
export function expectNothing({ error, object, openUploads }: Outcome, name: string): void {
  expect(error).toMatchObject({ name });
  expect([object, openUploads]).toEqual([undefined, 0]);
}

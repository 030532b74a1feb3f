import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { ListMultipartUploadsCommand } from '@aws-sdk/client-s3';
import { Agent, buildConnector } from 'undici';
import { expect } from 'vitest';
import { createFileConnector } from '../../functions/copy/connection.ts';
import { type CopyCheckpoint, type CopyOptions, copyFile } from '../../functions/copy/copy.ts';
import { base64Crc32 } from '../../functions/copy/crc32.ts';
import type { Source } from '../../functions/copy/download.ts';
import type { WrittenObject } from '../../functions/copy/object-writer.ts';
import { createBufferPool } from '../../functions/copy/parts.ts';
import type { Destination } from '../../functions/copy/s3-call.ts';
import { ACCOUNT, type S3Options } from '../../infra/local/s3/server.ts';
import { BUCKET, startTestS3 } from './s3.ts';
import { type FileOptions, type StorageHost, startStorageHost } from './storage-host.ts';

export const KEY = 'exports/account=acme/report.json';

/** Parts of 64 KiB, so that a file of 1 MB has many. */
export const PART = 64 * 1024;

export interface Outcome {
  readonly copied?: WrittenObject;
  /** Set if another call is to follow. */
  readonly checkpoint?: CopyCheckpoint;
  readonly error?: unknown;
  /** The object at the key, if there is one. */
  readonly object: Buffer | undefined;
  readonly openUploads: number;
  readonly host: StorageHost;
  readonly s3: Awaited<ReturnType<typeof startTestS3>>;
}

type Options = Partial<Omit<CopyOptions, 'source' | 'pool'>> & {
  readonly source?: Partial<Source>;
  readonly part?: number;
};

/** A storage host with one file, a bucket, and copies from one to the other. */
export interface Copying extends AsyncDisposable {
  readonly host: StorageHost;
  readonly s3: Outcome['s3'];
  readonly source: Source;
  readonly destination: Destination;
  /** Makes one call and reports what it left. */
  copy(options?: Options): Promise<Outcome>;
  object(): Promise<Buffer | undefined>;
  openUploads(): Promise<number>;
}

export async function startCopying(file: FileOptions, s3Options: Partial<S3Options> = {}): Promise<Copying> {
  await using opened = new AsyncDisposableStack();
  const s3 = opened.use(await startTestS3({ minPartBytes: 1, ...s3Options }));
  const host = opened.use(await startStorageHost(file));
  const dispatcher = createDispatcher(file.certificate?.cert);
  opened.defer(() => dispatcher.destroy());
  const source = { url: host.url, dispatcher, maxBytes: 100 * 1024 * 1024 };
  const destination = {
    ...{ s3: s3.client, bucket: BUCKET, key: KEY, expectedBucketOwner: ACCOUNT },
    retryPause: 1,
  };
  const open = opened.move();
  const object = () => readFile(join(s3.directory, BUCKET, KEY)).catch(() => undefined);
  const openUploads = async () => {
    const owner = { ExpectedBucketOwner: s3Options.account ?? ACCOUNT };
    const { Uploads = [] } = await s3.client.send(
      new ListMultipartUploadsCommand({ Bucket: BUCKET, ...owner }),
    );
    return Uploads.length;
  };
  const copy = async ({ source: changed, part = PART, ...options }: Options = {}) => {
    const result = await copyFile({
      source: { ...source, ...changed },
      destination,
      format: 'JSON',
      deadline: new AbortController().signal,
      pool: createBufferPool(part),
      pause: 1,
      ...options,
    }).then(
      (ended) => ('upload_id' in ended ? { checkpoint: handOn(ended) } : { copied: ended }),
      (error: unknown) => ({ error }),
    );
    return { ...result, object: await object(), openUploads: await openUploads(), host, s3 };
  };
  const close = () => open.disposeAsync();
  return { host, s3, source, destination, copy, object, openUploads, [Symbol.asyncDispose]: close };
}

/** Connects to any address. @param ca a certificate to trust */
export function createDispatcher(ca?: string): Agent {
  const options = { allowH2: false, timeout: 1_000, ...(ca !== undefined && { ca }) };
  const connect = createFileConnector((onread) => buildConnector({ ...options, onread }));
  return new Agent({ allowH2: false, connect });
}

/** The state machine passes a state on as JSON. */
export function handOn<T>(value: T): T {
  return JSON.parse(JSON.stringify(value));
}

/** Copies in one call and reports what it left. */
export async function copyOnce(
  file: FileOptions,
  { s3, ...options }: Options & { s3?: Partial<S3Options> } = {},
): Promise<Outcome> {
  await using copying = await startCopying(file, s3);
  return await copying.copy(options);
}

/** A JSON array of exactly `bytes` bytes, with brackets and quotes inside its strings. */
export function jsonOf(bytes: number): { body: Buffer } {
  const row = '{"date":"2026-10-01","name":"a \\"quoted\\" [name], {braced}","spend":12.5}';
  const rows = Math.max(1, Math.floor((bytes - 2) / (row.length + 1)));
  const text = `[${Array.from({ length: rows }, () => row).join(',')}`;
  return { body: Buffer.from(`${text}${' '.repeat(Math.max(0, bytes - text.length - 1))}]`) };
}

/** Expects exactly these bytes, verified, and no open upload. */
export function expectDelivered({ error, copied, object, openUploads }: Outcome, bytes: Buffer): void {
  expect(error).toBeUndefined();
  expect(object?.equals(bytes)).toBe(true);
  expect(copied).toMatchObject({ bytes: bytes.length, crc32: base64Crc32(crc32(bytes)) });
  expect(openUploads).toBe(0);
}

/** Expects an error of this name, no visible object and no open upload. */
export function expectNothing({ error, object, openUploads }: Outcome, name: string): void {
  expect(error).toMatchObject({ name });
  expect([object, openUploads]).toEqual([undefined, 0]);
}

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { Agent, type Dispatcher } from 'undici';
import { expect } from 'vitest';
import { base64Crc32 } from '../../functions/aws/s3.ts';
import { type CopyCheckpoint, copyFile } from '../../functions/copy/copy.ts';
import type { DownloadSource } from '../../functions/copy/download.ts';
import type { WrittenObject } from '../../functions/copy/object-writer.ts';
import type { Destination } from '../../functions/copy/upload.ts';
import { LOCAL_AWS_ACCOUNT } from '../../infra/lab/local/s3/server.ts';
import type { S3Call } from './faulty-services.ts';
import { BUCKET, beforeRequests, startTestS3, type TestS3Options } from './s3.ts';
import { type FileOptions, type StorageHost, startStorageHost } from './storage-host.ts';

export const KEY = 'exports/account=acme/report.json';

/** Parts of 64 KiB, so that a file of 1 MB has many. Any S3 but the local one takes 5 MiB at least. */
export const PART = process.env.VERSITYGW ? 5 * 1024 * 1024 : 64 * 1024;

/** Ends a call of a function early, after this many bytes of the file have arrived. */
export interface Cut {
  readonly after: number;
  /** `time`: the call stops in time. `kill`: it does nothing more, and S3 hears nothing more of it. */
  readonly by: 'time' | 'kill';
}

/** The call's function was killed, so the state machine has no new state. */
export class Killed extends Error {
  override readonly name = 'Killed';
}

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

interface Call {
  readonly checkpoint?: CopyCheckpoint | undefined;
  readonly cut?: Cut | undefined;
  readonly source?: Partial<DownloadSource>;
  readonly destination?: Partial<Destination>;
}

/** A storage host with one file, a bucket, and copies from one to the other. */
export interface Copying extends AsyncDisposable {
  readonly host: StorageHost;
  readonly s3: Outcome['s3'];
  /** Makes one call and reports what it left. */
  copy(call?: Call): Promise<Outcome>;
  /** Calls as the state machine does: again from the last checkpoint, after a retryable failure too. */
  save(cuts?: readonly Cut[]): Promise<Outcome & { readonly calls: number }>;
}

/** Calls of SaveReport, at most. */
const CALLS_MAX = 12;
const RETRIED = ['Killed', 'CopyFailed', 'ServiceUnavailable', 'UrlExpired'];

export async function startCopying(file: FileOptions, s3Options: TestS3Options = {}): Promise<Copying> {
  await using opened = new AsyncDisposableStack();
  const s3 = opened.use(await startTestS3({ minPartBytes: 1, ...s3Options }));
  const host = opened.use(await startStorageHost(file));
  const open = opened.move();

  async function copy({ checkpoint, cut, ...changed }: Call = {}): Promise<Outcome> {
    const deadline = new AbortController();
    const agent = createDispatcher(file.certificate?.cert);
    const client = s3.newClient({ maxAttempts: 5 });
    let isKilled = false;
    let arrived = 0;
    beforeRequests(client, () => {
      if (isKilled) throw new Killed();
    });
    const dispatcher = counting(agent, (bytes) => {
      arrived += bytes;
      if (cut === undefined || arrived < cut.after) return;
      if (cut.by === 'time') return deadline.abort();
      isKilled = true;
      agent.destroy().catch(() => {});
      client.destroy();
    });
    const result = await copyFile({
      source: { url: host.url, dispatcher, ...changed.source },
      destination: {
        s3: client,
        bucket: BUCKET,
        key: KEY,
        expectedBucketOwner: LOCAL_AWS_ACCOUNT,
        maxBytes: 300_000_000,
        partBytes: PART,
        ...changed.destination,
      },
      deadline: deadline.signal,
      checkpoint: checkpoint && JSON.parse(JSON.stringify(checkpoint)),
    }).then(
      (ended) => ('upload_id' in ended ? { checkpoint: ended } : { copied: ended }),
      (error: unknown) => ({ error }),
    );
    client.destroy();
    await agent.destroy();
    const object = await readFile(join(s3.directory, BUCKET, KEY)).catch(() => undefined);
    const left = { object, openUploads: countOpen(s3.journal), host, s3 };
    return isKilled ? { error: new Killed(), ...left } : { ...result, ...left };
  }

  async function save(cuts: readonly Cut[] = []) {
    let checkpoint: CopyCheckpoint | undefined;
    for (let calls = 1; ; calls++) {
      const outcome = await copy({ checkpoint, cut: cuts[calls - 1] });
      checkpoint = outcome.checkpoint ?? checkpoint;
      const isRetried =
        outcome.checkpoint || RETRIED.includes((outcome.error as Error | undefined)?.name ?? '');
      if (!isRetried || calls === CALLS_MAX) return { ...outcome, calls };
    }
  }

  return { host, s3, copy, save, [Symbol.asyncDispose]: () => open.disposeAsync() };
}

/** Counts the uploads that were neither completed nor aborted. */
function countOpen(journal: readonly S3Call[]): number {
  const done = journal.filter(({ status, error }) => status < 300 && error === undefined);
  const count = (name: RegExp) => done.filter(({ operation }) => name.test(operation)).length;
  return count(/^CreateM/) - count(/^(Complete|Abort)M/);
}

/** Connects to any address. @param ca a certificate to trust */
function createDispatcher(ca?: string): Agent {
  return new Agent({ allowH2: false, connect: { timeout: 1_000, ...(ca !== undefined && { ca }) } });
}

/** Counts the bytes of every body. */
function counting(agent: Dispatcher, count: (bytes: number) => void): Dispatcher {
  return agent.compose((dispatch) => (options, handler) => {
    const onData = handler.onResponseData?.bind(handler);
    handler.onResponseData = (controller, chunk) => {
      onData?.(controller, chunk);
      count(chunk.length);
    };
    return dispatch(options, handler);
  });
}

/** Copies in one call and reports what it left. */
export async function copyOnce(file: FileOptions, { s3, ...call }: Call & { s3?: TestS3Options } = {}) {
  await using copying = await startCopying(file, s3);
  return await copying.copy(call);
}

/** A JSON array of exactly `bytes` bytes. */
export function jsonOf(bytes: number): Buffer {
  const row = '{"date":"2026-10-01","name":"a \\"quoted\\" [name], {braced}","spend":12.5}';
  const rows = Math.max(1, Math.floor((bytes - 2) / (row.length + 1)));
  const text = `[${Array.from({ length: rows }, () => row).join(',')}`;
  return Buffer.from(`${text}${' '.repeat(Math.max(0, bytes - text.length - 1))}]`);
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
  expect({ object, openUploads }).toEqual({ object: undefined, openUploads: 0 });
}

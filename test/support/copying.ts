import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ListMultipartUploadsCommand } from '@aws-sdk/client-s3';
import { Agent } from 'undici';
import { type Copied, type CopyOptions, copyToS3 } from '../../functions/aws/copy/copy.ts';
import type { Source } from '../../functions/aws/copy/download.ts';
import { ACCOUNT, type S3Options } from '../../infra/local/s3/server.ts';
import { BUCKET, openS3 } from './s3.ts';
import { type FileOptions, openStorageHost, type StorageHost } from './storage-host.ts';

export const KEY = 'exports/account=acme/report.json';

/** Parts of 64 KiB, so that a file of a megabyte has many. */
export const PART = 64 * 1024;

export interface Outcome {
  readonly copied?: Copied;
  readonly error?: unknown;
  /** What stands at the key, if anything. */
  readonly object: Buffer | undefined;
  readonly openUploads: number;
  readonly host: StorageHost;
  readonly s3: Awaited<ReturnType<typeof openS3>>;
}

/** One copy from a storage host to S3, both on this machine, and what it left. */
export async function copyOnce(
  file: FileOptions,
  {
    s3: s3Options = {},
    source = {},
    tries = 1,
    ...options
  }: Partial<Omit<CopyOptions, 'source'>> & {
    s3?: Partial<S3Options>;
    source?: Partial<Source>;
    /** Of the SDK. */
    tries?: number;
  } = {},
): Promise<Outcome> {
  await using s3 = await openS3({ minPartBytes: 1, ...s3Options });
  await using host = await openStorageHost(file);
  await using dispatcher = disposable(new Agent({ allowH2: false, connectTimeout: 1_000 }));
  const client = s3.newClient({ maxAttempts: tries });
  const result = await copyToS3({
    source: { url: host.url, dispatcher, maxBytes: 100 * 1024 * 1024, checkUrl: () => {}, ...source },
    destination: { s3: client, dispatcher, bucket: BUCKET, key: KEY, expectedBucketOwner: ACCOUNT },
    format: 'JSON',
    size: () => PART,
    pause: 1,
    ...options,
  }).then(
    (copied) => ({ copied }),
    (error: unknown) => ({ error }),
  );
  const object = await readFile(join(s3.directory, BUCKET, KEY)).catch(() => undefined);
  const { Uploads = [] } = await s3.client.send(
    new ListMultipartUploadsCommand({ Bucket: BUCKET, ExpectedBucketOwner: s3Options.account ?? ACCOUNT }),
  );
  client.destroy();
  return { ...result, object, openUploads: Uploads.length, host, s3 };
}

/** A JSON array of exactly `bytes` bytes, with brackets and quotes inside its strings, and the number of its rows. */
export function jsonOf(bytes: number): { body: Buffer; rows: number } {
  const row = '{"date":"2026-10-01","name":"a \\"quoted\\" [name], {braced}","spend":12.5}';
  const rows = Math.max(1, Math.floor((bytes - 2) / (row.length + 1)));
  const text = `[${Array.from({ length: rows }, () => row).join(',')}`;
  return { body: Buffer.from(`${text}${' '.repeat(Math.max(0, bytes - text.length - 1))}]`), rows };
}

function disposable(agent: Agent): Agent & AsyncDisposable {
  return Object.assign(agent, { [Symbol.asyncDispose]: () => agent.destroy() });
}

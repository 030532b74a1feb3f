import { CopyFailed, DownloadRefused, ServiceUnavailable } from '../workflow/errors.ts';
import {
  type Attempt,
  type AttemptOptions,
  begin,
  failureOf,
  mayPass,
  pass,
  resume,
  type Unfinished,
} from './attempt.ts';
import { download, type FileHead, type Receiver, type Source } from './download.ts';
import { openRing } from './part-writer.ts';

export interface CopyOptions extends AttemptOptions {
  readonly source: Source;
  /** Ends the call before its time is up: what is stored by then is gone on with by a later call. */
  readonly deadline?: AbortSignal;
  /** What an earlier call left. */
  readonly unfinished?: Unfinished | undefined;
  /** Called with the bytes that are here so far; fewer than before when the copy had to begin again. */
  readonly onProgress?: (bytes: number) => void;
  /** Whether it is rather to be copied in ranges; then nothing is copied. */
  readonly divides?: ((file: FileHead) => boolean) | undefined;
  /** For tests. */
  readonly ring?: ReturnType<typeof openRing>;
}

/** An object in S3 that is complete, verified and visible. */
export interface Copied {
  readonly bytes: number;
  /** `value` is base64, and what S3 itself states for the object. */
  readonly checksum: { readonly algorithm: 'CRC32'; readonly type: 'FULL_OBJECT'; readonly value: string };
  readonly contentType: string;
  readonly contentEncoding?: string;
  /** Where the file is a JSON array or NDJSON. */
  readonly rows?: number;
  readonly etag?: string;
  readonly versionId?: string;
  /** Bytes that had to be fetched once more. */
  readonly fetchedTwice: number;
}

/** Not a failure: the file is one that is to be copied in ranges. */
export class Divisible extends Error {
  override readonly name = 'Divisible';
  readonly file: FileHead;
  constructor(file: FileHead) {
    super('The file is to be copied in ranges.');
    this.file = file;
  }
}

/**
 * Copies a file of any size from its pre-signed URL to an S3 object, byte for byte, in the memory of two parts. The
 * object becomes visible only when the file is known to be whole and S3 has verified the checksum of all of it.
 *
 * Whatever goes wrong before leaves no upload open, but for one thing: where a later call is provided for by a deadline and
 * this one has stored a part, then what would help another try (time, a fresh URL, patience) leaves the copy unfinished.
 * If it stored none, it throws, and what an earlier call left stays as it was.
 *
 * @throws Divisible; UrlExpired (fetch a fresh URL), CopyFailed and ServiceUnavailable (try again), DownloadRefused and
 *   AccessRefused (nothing helps but a person)
 */
export function copyToS3(options: CopyOptions & { readonly deadline?: never }): Promise<Copied>;
export function copyToS3(options: CopyOptions): Promise<Copied | Unfinished>;
export async function copyToS3(options: CopyOptions): Promise<Copied | Unfinished> {
  const { deadline, unfinished, ring = openRing() } = options;
  const taken = unfinished && (await resume(options, unfinished, ring));
  let attempt = taken;
  let gone: Promise<void> | undefined; // what a beginning left behind, once it is removed
  let ready: Promise<void> | undefined; // the same, until the ring is waited for
  let bytes = taken ? (unfinished?.at ?? 0) : 0;
  let ended = false;
  const receiver: Receiver = {
    begin(file) {
      if (options.divides?.(file)) throw new Divisible(file);
      if (attempt) gone = ready = all([gone, attempt.writer.abort()]);
      attempt = begin(options, file, ring);
      bytes = 0;
    },
    write(chunk) {
      const { inspection, writer } = started(attempt);
      const write = () => pass(inspection, writer, chunk);
      const wait = ready?.then(write) ?? write();
      ready = undefined;
      bytes += chunk.length;
      options.onProgress?.(bytes);
      return wait;
    },
    closed: () => started(attempt).inspection.closed(),
  };
  try {
    const { fetchedTwice } = await download(options.source, receiver, {
      signal: deadline,
      from: taken && unfinished,
      ...(options.pause === undefined ? {} : { pause: options.pause }),
    });
    await gone;
    ended = true;
    return await finish(started(attempt), fetchedTwice);
  } catch (error) {
    await gone;
    return await leave(options, { attempt, taken: attempt === taken, ended }, error);
  }
}

async function finish(
  { inspection, writer, contentType, file }: Attempt,
  fetchedTwice: number,
): Promise<Copied> {
  const { contentEncoding } = file;
  const rows = await inspection.end();
  const { crc32, ...stored } = await writer.end();
  return {
    ...stored,
    checksum: { algorithm: 'CRC32', type: 'FULL_OBJECT', value: crc32 },
    contentType,
    ...(contentEncoding === undefined ? {} : { contentEncoding }),
    ...rows,
    fetchedTwice,
  };
}

/** After a failure: what a later call goes on with, or else nothing is left and the failure is thrown. */
async function leave(
  { deadline, unfinished }: CopyOptions,
  { attempt, taken, ended }: { attempt: Attempt | undefined; taken: boolean; ended: boolean },
  error: unknown,
): Promise<Unfinished> {
  const failure = failureOf(error, deadline);
  if (attempt === undefined) throw failure;
  const { file, contentType, writer } = attempt;
  const obstacle = obstacleTo(attempt);
  const passing = failure instanceof ServiceUnavailable || (!ended && mayPass(failure));
  if (deadline === undefined || !passing || obstacle !== undefined) {
    await writer.abort();
    if (failure === error || obstacle === undefined) throw failure;
    throw new DownloadRefused(
      `The file did not come in the time that a call has, and cannot be gone on with: ${obstacle}.`,
    );
  }
  const left = await writer.leave();
  if (left === undefined || (taken && left.at === unfinished?.at)) throw failure;
  return { ...left, file, contentType };
}

/** Why another answer of the storage host cannot be put behind what is stored. */
function obstacleTo({ file }: Attempt): string | undefined {
  if (file.contentEncoding !== undefined)
    return `its content encoding ${file.contentEncoding} is read from the beginning`;
  if (file.etag === undefined) return 'the storage host gives it no strong ETag';
  return file.ignoresRanges ? 'the storage host serves no ranges of it' : undefined;
}

function started(attempt: Attempt | undefined): Attempt {
  if (attempt === undefined)
    throw new CopyFailed('The storage host sent bytes before it said what they are.');
  return attempt;
}

async function all(waits: (Promise<void> | undefined)[]): Promise<void> {
  await Promise.all(waits);
}

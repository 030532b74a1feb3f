import { setTimeout as sleep } from 'node:timers/promises';
import { CopyFailed, DownloadRefused, ExportError, UrlExpired } from '../workflow/errors.ts';
import type { Head } from './answer.ts';
import { type Connect, type Ended, get } from './get.ts';

export interface Source {
  /** Pre-signed; it is never put into a message or a log. */
  readonly url: string;
  readonly connect: Connect;
  /** @throws DownloadRefused */
  readonly checkUrl: (url: string) => void;
  readonly maxBytes: number;
  /** Milliseconds to the headers, and between two pieces of the body. */
  readonly timeouts?: { readonly headers?: number; readonly idle?: number };
}

/** Takes the file; `begin` may come again, and then all that was written before is void. */
export interface Receiver {
  /** @throws whatever is to end the download */
  begin(file: FileHead): void;
  /** Asks the sender to wait by returning a promise. */
  write(chunk: Buffer): Promise<void> | undefined;
  /** Whether the file is whole, judged by its own shape: asked where the host does not say how long it is. */
  closed(): Promise<boolean>;
}

export interface FileHead {
  readonly contentType: string | undefined;
  readonly contentEncoding: string | undefined;
  /** A strong validator, without which bytes of two answers are never put together. */
  readonly etag: string | undefined;
  readonly bytes: number | undefined;
  /** Whether a range was asked for and all of the file came. */
  readonly ignoresRanges: boolean;
}

// Each break is followed by one more request, after a pause that doubles while nothing comes: 0.2 + 0.4 + 0.8 + 1.6 +
// 3.2 = 6.2 s before the 6th answer in a row without a KiB gives up. Breaks that bring the file on are only counted.
const BREAKS_MAX = 40;
const FRUITLESS_MAX = 6;
// What came is void each time: a file of 50 GiB that goes on to begin again is fetched 5 times, not 40, before it is given up.
const BEGIN_AGAINS_MAX = 4;
const PAUSE_MS = 200;

// A host that sends less than this in one idle time-out is stalled: 6 answers × 30 s = 3 min before it is given up.
const MIN_BYTES = 1024;

const HEADERS_TIMEOUT_MS = 30_000;
const IDLE_TIMEOUT_MS = 30_000;

/** Where a download begins that is not of a whole file. */
export interface Beginning {
  /** As the host described it before, with a strong ETag. */
  readonly file: FileHead;
  /** Bytes of the file that the receiver has already. */
  readonly at: number;
  /** Exclusive; absent: to the file's end, and from its beginning again where it is another one by now. */
  readonly to?: number | undefined;
}

interface Options {
  readonly signal?: AbortSignal | undefined;
  readonly pause?: number;
  readonly from?: Beginning | undefined;
}

interface Progress {
  file: FileHead | undefined;
  /** Bytes of the file that the receiver has. */
  at: number;
  /** Where the range that is asked for ends (exclusive), if it is not the file's end. */
  readonly to: number | undefined;
  /** Bytes that came and were void, and how often that was so. */
  fetchedTwice: number;
  beginAgains: number;
}

/**
 * Downloads a file into `receiver`, whole or not at all. A body that breaks off is taken up at the byte where it broke,
 * by Range and If-Match on a strong ETag; where that cannot be, it begins again.
 *
 * @returns bytes fetched that had been fetched before
 * @throws UrlExpired, CopyFailed, DownloadRefused, NotTheSame where a range is asked for, or what the receiver threw
 */
export async function download(
  source: Source,
  receiver: Receiver,
  { signal, pause = PAUSE_MS, from }: Options = {},
): Promise<{ bytes: number; fetchedTwice: number }> {
  source.checkUrl(source.url);
  const progress: Progress = {
    file: from?.file,
    at: from?.at ?? 0,
    to: from?.to,
    fetchedTwice: 0,
    beginAgains: 0,
  };
  let fruitless = 0;
  if (from !== undefined && from.at === (from.to ?? from.file.bytes))
    return { bytes: from.at, fetchedTwice: 0 };
  for (let breaks = 0; breaks < BREAKS_MAX && fruitless < FRUITLESS_MAX; breaks++) {
    if (progress.beginAgains > BEGIN_AGAINS_MAX) break;
    const before = progress.at + progress.fetchedTwice;
    const ended = await ask(source, receiver, progress, signal);
    if (ended === 'complete') return { bytes: progress.at, fetchedTwice: progress.fetchedTwice };
    fruitless = progress.at + progress.fetchedTwice >= before + MIN_BYTES ? 1 : fruitless + 1;
    await sleep(pause * 2 ** (fruitless - 1), undefined, signal && { signal });
  }
  const facts = { bytes: progress.at, of: progress.file?.bytes };
  throw new CopyFailed('The download broke off too often. Try again with a fresh URL.', facts);
}

/** One request: for all of the file, or for what is missing of it. */
async function ask(
  source: Source,
  receiver: Receiver,
  progress: Progress,
  signal: AbortSignal | undefined,
): Promise<'complete' | 'broken'> {
  const { file, at, to } = progress;
  const resumed = file?.etag !== undefined && (at > 0 || to !== undefined);
  let answered = false;
  const onHead = (head: Head) => {
    answered = true;
    if (resumed && nothingFollows(head, progress)) throw new Whole();
    if (resumed && continues(head, file, progress)) return;
    begin(head, source, receiver, progress, resumed);
  };
  const onData = (chunk: Buffer) => {
    progress.at += chunk.length;
    if (progress.at > source.maxBytes) throw tooLarge(source.maxBytes);
    if (to !== undefined && progress.at > to) throw new NotTheSame();
    return receiver.write(chunk);
  };
  const headers: Record<string, string> = { accept: '*/*', 'accept-encoding': 'identity' };
  if (resumed)
    Object.assign(headers, { range: `bytes=${at}-${to === undefined ? '' : to - 1}`, 'if-match': file.etag });
  const { headers: headersTimeout = HEADERS_TIMEOUT_MS, idle: bodyTimeout = IDLE_TIMEOUT_MS } =
    source.timeouts ?? {};
  const request = { url: source.url, headers, headersTimeout, bodyTimeout, minBytes: MIN_BYTES, signal };
  try {
    return await wholeness(await get(source.connect, request, { onHead, onData }), receiver, progress);
  } catch (error) {
    return outcome(error, { first: file === undefined && !answered, progress, signal });
  }
}

/**
 * Whether a 206 goes on exactly where the body broke off, in the same file, to the end that was asked for, with a body as
 * long as that. It says how long the file is, which is held to from then on where nothing had said so.
 */
function continues({ status, headers }: Head, file: FileHead, progress: Progress): boolean {
  if (status !== 206) return false;
  const range = /^bytes (\d+)-(\d+)\/(\d+)$/.exec(headers['content-range'] ?? '') ?? [];
  const [, start, last, total] = range.map(Number);
  const { at, to = total } = progress;
  const length = Number(headers['content-length'] ?? Number(to) - at);
  const sameLength = total === (file.bytes ?? total) && (last ?? 0) + 1 === to && length === to - at;
  const sameFile = strongEtag(headers) === file.etag && encodingOf(headers) === file.contentEncoding;
  if (start !== at || !sameLength || !sameFile) throw new NotTheSame();
  progress.file = { ...file, bytes: total };
  return true;
}

/** Whether a 416 says that the file, whose length nothing had said, ends where the body did. */
function nothingFollows({ status, headers }: Head, { file, at, to = file?.bytes }: Progress): boolean {
  return to === undefined && status === 416 && headers['content-range'] === `bytes */${at}`;
}

function begin(head: Head, source: Source, receiver: Receiver, progress: Progress, ranged: boolean): void {
  const { status, headers } = head;
  if (progress.file !== undefined && [412, 416].includes(status)) throw new NotTheSame();
  refuseUnless200(status);
  if (progress.to !== undefined) throw new NotTheSame();
  const length = headers['content-length'];
  const bytes = length === undefined ? undefined : Number(length);
  if (bytes !== undefined && bytes > source.maxBytes) throw tooLarge(source.maxBytes);
  voidAll(progress);
  progress.file = {
    contentType: headers['content-type'] || undefined,
    contentEncoding: encodingOf(headers),
    etag: strongEtag(headers),
    bytes,
    ignoresRanges: ranged || progress.file?.ignoresRanges === true,
  };
  receiver.begin(progress.file);
}

/** Judges the end of an answer's body: by its length, by its framing, or else by the file's own shape. */
async function wholeness(
  ended: Ended,
  receiver: Receiver,
  progress: Progress,
): Promise<'complete' | 'broken'> {
  const { file, at, to = file?.bytes } = progress;
  if (at === to) return 'complete';
  // It broke nowhere: what came is another body than the one that its head announced, an error page for example.
  if (to !== undefined && ended.framed) throw new NotTheSame();
  if (to !== undefined) return 'broken';
  if (ended.framed || (await receiver.closed())) return 'complete';
  if (file?.etag === undefined) voidAll(progress);
  return 'broken';
}

/** A break is 'broken'; what another request would not change is thrown. */
function outcome(
  error: unknown,
  { first, progress, signal }: { first: boolean; progress: Progress; signal: AbortSignal | undefined },
): 'complete' | 'broken' {
  signal?.throwIfAborted();
  if (error instanceof Whole) return 'complete';
  if (error instanceof NotTheSame && progress.to === undefined) {
    voidAll(progress);
    return 'broken';
  }
  if (error instanceof Unavailable && progress.file !== undefined) return 'broken';
  if (error instanceof Unavailable) throw new CopyFailed(error.message, { status: error.status });
  if (error instanceof ExportError || !isBreak(error)) throw error;
  if (first) throw new CopyFailed(`The storage host did not answer (${codeOf(error)}). Try again.`);
  if (progress.file?.etag === undefined) voidAll(progress);
  return 'broken';
}

function voidAll(progress: Progress): void {
  if (progress.at >= MIN_BYTES) progress.beginAgains += 1;
  progress.fetchedTwice += progress.at;
  progress.at = 0;
  progress.file = progress.file && { ...progress.file, etag: undefined };
}

function refuseUnless200(status: number): void {
  if (status === 200) return;
  if (status === 401 || status === 403 || status === 410) {
    throw new UrlExpired(
      'The storage host no longer serves the URL. Fetch the report again for a fresh one.',
      { status },
    );
  }
  if (status >= 300 && status < 400) {
    throw new DownloadRefused('The storage host redirects, which is never followed.', { status });
  }
  throw new Unavailable(status);
}

/** The host answers, but not with the file. */
class Unavailable extends Error {
  override readonly name = 'Unavailable';
  readonly status: number;
  constructor(status: number) {
    super(`The storage host answered ${status}. Try again with a fresh URL.`);
    this.status = status;
  }
}

/** The file is another one than that of which some bytes are here, or the host serves no ranges of it. */
export class NotTheSame extends Error {
  override readonly name = 'NotTheSame';
}

/** Not a failure: all of the file had come before this was asked. */
class Whole extends Error {
  override readonly name = 'Whole';
}

/** A failure of the network, of TLS or of HTTP's framing, as they are named in get.ts and by Node; a mistake of ours is none. */
function isBreak(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' && !/^ERR_(?!SSL|TLS)/.test(code);
}

function codeOf(error: unknown): string {
  const { code, name } = error as { code?: unknown; name?: unknown };
  return String(code ?? name);
}

function tooLarge(maxBytes: number): DownloadRefused {
  return new DownloadRefused(`The file is larger than the ${maxBytes} bytes that a setting allows.`, {
    max: maxBytes,
  });
}

function strongEtag(headers: Head['headers']): string | undefined {
  const etag = headers.etag;
  return etag?.startsWith('"') ? etag : undefined;
}

function encodingOf(headers: Head['headers']): string | undefined {
  const encoding = headers['content-encoding']
    ?.trim()
    .toLowerCase()
    .replace(/^x-gzip$/, 'gzip');
  return encoding === '' || encoding === 'identity' ? undefined : encoding;
}

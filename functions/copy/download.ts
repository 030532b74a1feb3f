import { setTimeout as sleep } from 'node:timers/promises';
import type { Dispatcher } from 'undici';
import { codeOf } from '../platform/request.ts';
import { CopyFailed, DownloadRefused, ExportError, UrlExpired } from '../workflow/errors.ts';
import type { Body, Write } from './body.ts';
import { encodingOf } from './content.ts';
import { get, type Headers, type Response } from './response.ts';

export interface Source {
  /** Pre-signed. It never appears in a message or a log. */
  readonly url: string;
  readonly dispatcher: Dispatcher;
  readonly maxBytes: number;
  /** Milliseconds until the headers, and the window in which a body must bring at least 1 KiB. */
  readonly timeouts?: { readonly headers?: number; readonly idle?: number };
}

/** The file as the storage host describes it. */
export interface FileHead {
  readonly contentType: string | undefined;
  readonly contentEncoding: string | undefined;
  /** Only a strong ETag: bytes of two responses are never put together without one. */
  readonly etag: string | undefined;
  readonly bytes: number | undefined;
  /** The host has answered a range request with the whole file. */
  readonly ignoresRanges: boolean;
}

export interface Receiver {
  /** May be called again; then everything written before is void. */
  begin(file: FileHead): Promise<void>;
  /** Everything written before is void. `begin` follows unless the download fails. */
  discard(): void;
  readonly write: Write;
}

// After each break comes one more request. While nothing arrives, the pause doubles: after 0.2 + 0.4 + 0.8 + 1.6 + 3.2 =
// 6.2 s, the 6th response in a row without a KiB gives up. Breaks that bring the file forward are only counted.
const BREAKS_MAX = 40;
const FRUITLESS_MAX = 6;
const PAUSE_MS = 200;
// A file that always starts again from the beginning is fetched 5 times, not 40 times.
const RESTARTS_MAX = 4;

// A host that sends less than this in one idle window is stalled: 6 responses × 30 s = 3 min before it is given up.
const MIN_BYTES = 1024;
const HEADERS_TIMEOUT_MS = 30_000;
const IDLE_TIMEOUT_MS = 30_000;

interface Options {
  readonly signal: AbortSignal;
  readonly pause?: number | undefined;
  /** The file, which has a strong ETag, and the number of its bytes that the receiver already has. */
  readonly from?: { readonly file: FileHead; readonly at: number } | undefined;
}

interface Progress {
  file: FileHead | undefined;
  /** Bytes of the file that the receiver has. */
  at: number;
  /** Bytes that arrived and became void. */
  wasted: number;
  restarts: number;
}

/**
 * Downloads a file completely or fails. Resumes a body that breaks off by Range and If-Match on a strong ETag, and starts
 * again from the beginning if the host does not allow that.
 *
 * @returns the size of the file
 * @throws UrlExpired, CopyFailed, DownloadRefused; what the receiver throws; the signal's reason
 */
export async function download(
  source: Source,
  receiver: Receiver,
  { signal, pause = PAUSE_MS, from }: Options,
): Promise<number> {
  const progress: Progress = { file: from?.file, at: from?.at ?? 0, wasted: 0, restarts: 0 };
  if (from !== undefined && from.at === from.file.bytes) return from.at;
  const transfer = { source, receiver, progress };
  let fruitless = 0;
  for (let breaks = 0; breaks < BREAKS_MAX && fruitless < FRUITLESS_MAX; breaks++) {
    if (progress.restarts > RESTARTS_MAX) break;
    const before = progress.at + progress.wasted;
    if ((await fetchRest(transfer, signal)) === 'complete') return progress.at;
    fruitless = progress.at + progress.wasted >= before + MIN_BYTES ? 1 : fruitless + 1;
    await sleep(pause * 2 ** (fruitless - 1), undefined, { signal });
  }
  const facts = { bytes: progress.at, of: progress.file?.bytes };
  throw new CopyFailed('The download broke off too often. Try again with a fresh URL.', facts);
}

interface Transfer {
  readonly source: Source;
  readonly receiver: Receiver;
  readonly progress: Progress;
}

/** One request: for the whole file, or for the part of it that is missing. */
async function fetchRest(transfer: Transfer, signal: AbortSignal): Promise<'complete' | 'broken'> {
  const { source, receiver, progress } = transfer;
  const isFirst = progress.file === undefined;
  const range = progress.at > 0 && progress.file?.etag !== undefined;
  let response: Response | undefined;
  try {
    const headers = { accept: '*/*', 'accept-encoding': 'identity', ...(range && rangeHeaders(progress)) };
    const { dispatcher, url, timeouts } = source;
    const headersTimeout = timeouts?.headers ?? HEADERS_TIMEOUT_MS;
    response = await get({ dispatcher, url, headers, headersTimeout }, signal);
    const answer = range ? judgeRange(response, progress) : 'file';
    if (answer === 'nothing left') return 'complete';
    if (answer === 'another file') return restart(progress, receiver);
    if (answer === 'file' && response.status !== 200) return refuse(response.status, isFirst);
    checkFraming(response.headers);
    if (answer === 'file') await begin(response.headers, transfer, range);
    await readBody(response.body, transfer, signal);
    const { at, file } = progress;
    if (file?.bytes === undefined || at === file.bytes) return 'complete';
    // Nothing broke: the body is not the one that its headers announced. It may be an error page.
    return restart(progress, receiver);
  } catch (error) {
    signal.throwIfAborted();
    if (!isBreak(error)) throw error;
    if (response === undefined && isFirst)
      throw new CopyFailed(`The storage host did not answer (${codeOf(error)}). Try again.`);
    if (progress.file?.etag === undefined || error instanceof TooLong) restart(progress, receiver);
    return 'broken';
  } finally {
    response?.body.close();
  }
}

function rangeHeaders({ at, file }: Progress): Record<string, string> {
  return { range: `bytes=${at}-`, 'if-match': file?.etag ?? '' };
}

/** The meaning of the response to a request for the bytes from `at` to the end of a file with a strong ETag. */
function judgeRange(
  { status, headers }: Response,
  progress: Progress,
): 'rest' | 'file' | 'nothing left' | 'another file' {
  const { file, at } = progress;
  if (status === 416 && file?.bytes === undefined && headers['content-range'] === `bytes */${at}`)
    return 'nothing left';
  if (status === 412 || status === 416) return 'another file';
  if (status !== 206 || file === undefined) return 'file';
  const numbers = /^bytes (\d+)-(\d+)\/(\d+)$/.exec(headers['content-range'] ?? '') ?? [];
  const [, start, last = 0, total = 0] = numbers.map(Number);
  const length = Number(headers['content-length'] ?? total - at);
  const isRest =
    start === at && last + 1 === total && length === total - at && total === (file.bytes ?? total);
  const isSameFile =
    strongEtag(headers) === file.etag && encodingOf(headers['content-encoding']) === file.contentEncoding;
  if (!isRest || !isSameFile) return 'another file';
  progress.file = { ...file, bytes: total };
  return 'rest';
}

async function begin(
  headers: Headers,
  { source, receiver, progress }: Transfer,
  ignoresRanges: boolean,
): Promise<void> {
  const length = headers['content-length'];
  const bytes = length === undefined ? undefined : Number(length);
  if (bytes !== undefined && bytes > source.maxBytes) throw tooLarge('The file', source.maxBytes);
  restart(progress, receiver);
  progress.file = {
    contentType: headers['content-type'] || undefined,
    contentEncoding: encodingOf(headers['content-encoding']),
    etag: strongEtag(headers),
    bytes,
    ignoresRanges: ignoresRanges || progress.file?.ignoresRanges === true,
  };
  await receiver.begin(progress.file);
}

function readBody(body: Body, { source, receiver, progress }: Transfer, signal: AbortSignal): Promise<void> {
  const idle = source.timeouts?.idle ?? IDLE_TIMEOUT_MS;
  return body.read({ idle, minBytes: MIN_BYTES }, signal, (chunk) => {
    progress.at += chunk.length;
    if (progress.at > source.maxBytes) throw tooLarge('The file', source.maxBytes);
    if (progress.at > (progress.file?.bytes ?? Infinity)) throw new TooLong();
    return receiver.write(chunk);
  });
}

/** The bytes so far are void. */
function restart(progress: Progress, receiver: Receiver): 'broken' {
  receiver.discard();
  if (progress.at >= MIN_BYTES) progress.restarts += 1;
  progress.wasted += progress.at;
  progress.at = 0;
  progress.file = progress.file && { ...progress.file, etag: undefined };
  return 'broken';
}

/** undici takes the end of the connection for the end of such a body, so a truncated one would look complete. */
function checkFraming(headers: Headers): void {
  const coding = headers['transfer-encoding'];
  const isFramed =
    coding === undefined ? headers['content-length'] !== undefined : coding.toLowerCase() === 'chunked';
  if (isFramed) return;
  throw new CopyFailed(
    'The storage host marks the end of the file neither by Content-Length nor by plain chunks. Try again with a fresh URL.',
  );
}

function refuse(status: number, isFirst: boolean): 'broken' {
  if (status === 401 || status === 403 || status === 410) {
    throw new UrlExpired(
      'The storage host no longer serves the URL. Fetch the report again for a fresh one.',
      { status },
    );
  }
  if (status >= 300 && status < 400) {
    throw new DownloadRefused('The storage host redirects, which is never followed.', { status });
  }
  if (!isFirst) return 'broken';
  throw new CopyFailed(`The storage host answered ${status}. Try again with a fresh URL.`, { status });
}

/** A failure of the network, TLS or HTTP: Node and undici give it a code. Programming errors are not breaks. */
function isBreak(error: unknown): boolean {
  const { code, name } = error as { code?: unknown; name?: unknown };
  if (error instanceof ExportError) return false;
  if (typeof code !== 'string') return name === 'HTTPParserError';
  // undici throws ERR_ASSERTION if the host answers 101.
  return !/^ERR_(?!SSL|TLS|ASSERTION)|^UND_ERR_INVALID/.test(code);
}

/** A 206 brings more bytes than its Content-Range says. */
class TooLong extends Error {
  override readonly name = 'TooLong';
  readonly code = 'TOO_LONG';
}

export function tooLarge(what: string, maxBytes: number): DownloadRefused {
  return new DownloadRefused(
    `${what} is larger than max_download_bytes (${maxBytes}) allows. Raise that setting, or export shorter ranges.`,
    { max: maxBytes },
  );
}

/** RFC 9110, 8.8.3. */
function strongEtag(headers: Headers): string | undefined {
  return /^"[\x21\x23-\x7e]*"$/.exec(headers.etag ?? '')?.[0];
}

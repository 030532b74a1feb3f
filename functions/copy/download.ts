import { retryAfterOf } from '../platform/answer.ts';
import { isGzip, isLabeledPage, isPage, START_BYTES, unreadableCoding } from '../platform/content.ts';
import { isCertificateFault, sayUntrusted } from '../platform/failures.ts';
import { codeOf } from '../platform/send.ts';
import { CopyFailed, DownloadRefused, ExportError, UrlExpired } from '../workflow/errors.ts';
import type { Checkpoint } from '../workflow/state-parts.ts';
import { type FileRequest, type ResponseHeaders, readResponse, type Write } from './body.ts';
import type { Kind } from './upload.ts';

export type DownloadSource = Omit<FileRequest, 'headers'>;

/** The file as the storage host describes it. */
export interface FileHead extends Kind {
  /** Only a strong ETag: bytes of two responses are never put together without one. */
  readonly etag: string | undefined;
  /** The size, if it is known. */
  readonly bytes: number | undefined;
}

/** The part of a file that earlier calls have stored. */
export type StoredBytes = Pick<Checkpoint, 'stored_bytes' | 'etag'>;

/**
 * The rest of the file cannot be appended to what is stored: the file changed, the host serves no ranges, or
 * it sent another range than it announced. The copy has to start again.
 */
export class RemainderRefused extends CopyFailed {
  constructor(reason: string, facts?: Record<string, string | number | undefined>) {
    super(`The storage host does not serve the rest of the file: ${reason}. The copy starts again.`, facts);
  }
}

/**
 * Makes one GET: of the whole file, or of the rest behind the bytes that are stored.
 *
 * @param begin called before the first byte is stored. Returns the function that takes the bytes
 * @throws UrlExpired (fetch a fresh URL), CopyFailed (try again), RemainderRefused (start again),
 *   DownloadRefused (a person must act); what `begin` and `write` throw
 */
export async function download(
  { url, dispatcher, timeouts }: DownloadSource,
  stored: StoredBytes | undefined,
  begin: (file: FileHead) => Write,
  signal: AbortSignal,
): Promise<void> {
  const range = stored && { range: `bytes=${stored.stored_bytes}-`, 'if-match': stored.etag };
  const headers = { accept: '*/*', 'accept-encoding': 'identity', ...range };
  let at = stored?.stored_bytes ?? 0;
  let end: number | undefined;
  let writer: StartWriter | undefined;
  const judge = (status: number, answered: ResponseHeaders): Write => {
    end = stored ? judgeRest(status, answered, stored) : judgeFile(status, answered);
    checkFraming(answered);
    // The start of the rest of a file says nothing about the file.
    const bytes = stored ? 0 : Math.min(START_BYTES, end ?? START_BYTES);
    const etag = strongEtag(answered);
    const opened = createStartWriter(bytes, (start) =>
      begin({ ...kindOf(answered, stored ? NOTHING : start), etag, bytes: end }),
    );
    writer = opened;
    return (chunk) => {
      at += chunk.length;
      if (end !== undefined && at > end) throw wrongLength(at, end);
      return opened.write(chunk);
    };
  };
  try {
    await readResponse({ url, dispatcher, headers, timeouts }, judge, signal);
    await writer?.end();
  } catch (error) {
    if (signal.aborted)
      throw new CopyFailed('The call ended before it stored a part that the next call could resume from.');
    const { code, name } = error as { code?: unknown; name?: unknown };
    // Node and undici give a code to failures of the network, TLS and HTTP. Others are ours.
    if (error instanceof ExportError || (typeof code !== 'string' && name !== 'HTTPParserError')) throw error;
    const failure = { code: codeOf(error), host: new URL(url).host };
    if (isCertificateFault(failure.code)) throw new DownloadRefused(sayUntrusted(failure), failure);
    const facts = { bytes: at, of: end };
    throw new CopyFailed(`The download broke off (${failure.code}).`, facts);
  }
  if (at === 0) throw new DownloadRefused('The file is empty. Nothing was stored.');
  if (stored && at !== end) throw wrongLength(at, end);
}

function wrongLength(bytes: number, of: number | undefined): RemainderRefused {
  return new RemainderRefused('its range has another length', { bytes, of });
}

/** @returns the size of the file, if it is known */
function judgeFile(status: number, headers: ResponseHeaders): number | undefined {
  if (status !== 200) throw refusal(status, headers);
  const length = headers['content-length'];
  return length === undefined ? undefined : Number(length);
}

/** @returns the size of the file */
function judgeRest(
  status: number,
  headers: ResponseHeaders,
  { stored_bytes: at, etag }: StoredBytes,
): number {
  if (status === 200) throw new RemainderRefused('it sends the whole file instead');
  if (status === 412 || status === 416) throw new RemainderRefused('it changed or ended', { status });
  if (status !== 206) throw refusal(status, headers);
  const numbers = /^bytes (\d+)-(\d+)\/(\d+)$/.exec(headers['content-range'] ?? '') ?? [];
  const [, start, last = 0, size = 0] = numbers.map(Number);
  const length = Number(headers['content-length'] ?? size - at);
  if (start !== at || last + 1 !== size || length !== size - at)
    throw new RemainderRefused('it sends another range');
  if (strongEtag(headers) !== etag) throw new RemainderRefused('the file changed');
  return size;
}

function refusal(status: number, headers: ResponseHeaders): ExportError {
  if (status === 401 || status === 403 || status === 410)
    return new UrlExpired(`The storage host no longer serves the URL (${status}).`, { status });
  if (status >= 300 && status < 400)
    return new DownloadRefused('The storage host redirects, which is never followed.', { status });
  const facts = { status, retry_after: retryAfterOf({ headers }) };
  return new CopyFailed(`The storage host answered ${status}.`, facts);
}

/** undici takes the connection's end for the body's end, so a truncated body would look complete. */
function checkFraming(headers: ResponseHeaders): void {
  const coding = headers['transfer-encoding'];
  const isFramed =
    coding === undefined ? headers['content-length'] !== undefined : coding.toLowerCase() === 'chunked';
  if (!isFramed)
    throw new CopyFailed(
      'The end of the file is marked neither by Content-Length nor by plain chunks. Try again.',
    );
}

const NOTHING = Buffer.alloc(0);

interface StartWriter {
  readonly write: Write;
  /** Writes a file that is shorter than the start. */
  readonly end: () => Promise<void>;
}

/** Holds back the first bytes of a file, by which `open` judges it. */
function createStartWriter(bytes: number, open: (start: Buffer) => Write): StartWriter {
  let start: Buffer = NOTHING;
  let write: Write | undefined;
  const writeStart = () => {
    write = open(start);
    return write(start);
  };
  return {
    write(chunk) {
      if (write) return write(chunk);
      start = Buffer.concat([start, chunk]);
      return start.length < bytes ? undefined : writeStart();
    },
    async end() {
      if (write === undefined && start.length > 0) await writeStart();
    },
  };
}

/** The first bytes decide. The headers only name the type of what these leave open. */
function kindOf(headers: ResponseHeaders, start: Buffer): Kind {
  if (isPage(start))
    throw new DownloadRefused('The file is a web page or an error in XML, not a report. Nothing was stored.');
  const coding = unreadableCoding(headers['content-encoding'], start);
  if (coding !== undefined) throw new DownloadRefused(`No step can read the content encoding ${coding}.`);
  return {
    content_type: contentTypeOf(headers),
    content_encoding: isGzip(start) ? 'gzip' : undefined,
  };
}

/** S3 stores it as metadata, which holds 2 KB of ASCII. */
function contentTypeOf(headers: ResponseHeaders): string {
  const type = /^[\x20-\x7e]{1,255}$/.exec(headers['content-type'] ?? '')?.[0];
  return type === undefined || isLabeledPage(type) ? 'application/octet-stream' : type;
}

/** RFC 9110, 8.8.3. */
function strongEtag(headers: ResponseHeaders): string | undefined {
  return /^"[\x21\x23-\x7e]*"$/.exec(headers.etag ?? '')?.[0];
}

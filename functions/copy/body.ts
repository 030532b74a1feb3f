import { addAbortSignal, Writable } from 'node:stream';
import type { Dispatcher } from 'undici';

/**
 * Bytes that may wait for S3 before the body has to wait. Node reads 64 KiB from a connection at once. If
 * that were enough to pause the body, undici would stop its parser for each piece.
 */
export const WAITING_BYTES = 256 * 1024;

const HEADERS_TIMEOUT_MS = 30_000;
/** Between two pieces of the body. A pause of `write` does not count. */
const IDLE_TIMEOUT_MS = 30_000;

export interface FileRequest {
  readonly dispatcher: Dispatcher;
  /** Pre-signed. It never appears in a message or a log. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Milliseconds until the headers, and between two pieces of the body. */
  readonly timeouts?: { readonly headers?: number; readonly idle?: number } | undefined;
}

/** Names in lower case. Repeated headers are joined by a comma. */
export type ResponseHeaders = Readonly<Record<string, string | undefined>>;

/** A returned promise asks the body to wait. */
export type Write = (chunk: Buffer) => Promise<void> | undefined;

/**
 * Sends a GET and reads its response to the end.
 *
 * @param begin judges the headers, and returns the function that takes the body. An error that it throws ends
 *   the request
 * @returns after the last `write` has ended
 * @throws undici's errors, what `begin` and `write` throw. An error of the signal, at once: S3 may be slow
 *   when the call's time is up
 */
export async function readResponse(
  { dispatcher, url, headers, timeouts = {} }: FileRequest,
  begin: (status: number, headers: ResponseHeaders) => Write,
  signal: AbortSignal,
): Promise<void> {
  await dispatcher.stream(
    {
      origin: new URL(url).origin,
      path: requestTarget(url),
      method: 'GET',
      headers,
      headersTimeout: timeouts.headers ?? HEADERS_TIMEOUT_MS,
      bodyTimeout: timeouts.idle ?? IDLE_TIMEOUT_MS,
      // A connection that is kept may be dead when a frozen function wakes up.
      reset: true,
      signal,
    },
    ({ statusCode, headers: answered }) => {
      const joined = Object.entries(answered).map(([name, value]) => [name, [value].flat().join(', ')]);
      const write = begin(statusCode, Object.fromEntries(joined));
      // The signal above has no effect after the end of the body, when bytes may still wait for S3.
      return addAbortSignal(signal, createReceiver(write));
    },
  );
}

function createReceiver(write: Write): Writable {
  const take = async (chunk: Buffer) => write(chunk);
  return new Writable({
    highWaterMark: WAITING_BYTES,
    write(chunk: Buffer, _encoding, done) {
      take(chunk).then(() => done(), done);
    },
  });
}

/**
 * The path and the query of a URL, byte for byte: the signature of a pre-signed URL covers them. `URL` would
 * write `'` in a query as %27, and remove `/./` and `/%2e%2e/` from a path. Encodes only what a request
 * cannot hold, such as a space.
 */
export function requestTarget(url: string): string {
  const { pathname, search } = new URL(url);
  const [, target] = /^https?:\/\/[^/\\?#]+([/?][^#]*)/i.exec(url.trim().replace(/[\t\r\n]/g, '')) ?? [];
  if (target === undefined) return pathname + search;
  const path = target.startsWith('/') ? target : `/${target}`;
  return path.toWellFormed().replace(/[^\x21-\x7e]+/g, encodeURIComponent);
}

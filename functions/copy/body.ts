import type { OnReadOpts, Socket } from 'node:net';
import { Agent, type buildConnector, type Dispatcher } from 'undici';
import { safeConnector } from '../platform/safe-agent.ts';
import type { HostPolicy } from '../platform/safe-hosts.ts';

/**
 * The bytes of a response, in buffers that are used again. This file is why the copy is faster than a plain
 * pipe, by two means. (1) Node reads each connection into the same two buffers in turn (`onread`). It would
 * otherwise allocate memory for each read, and let 60 MB of garbage pile up. (2) undici's dispatcher is used
 * without its stream, which would keep chunks. The price: a chunk may change as soon as its handler has
 * returned, so a chunk that must wait is copied.
 */

// With a fast host, the kernel has this much at once. Reads of 64 KiB cost a sixth more CPU.
const READ_BYTES = 256 * 1024;

const HEADERS_TIMEOUT_MS = 30_000;
/** Between two pieces of the body. A pause of `write` does not count. */
const IDLE_TIMEOUT_MS = 30_000;

export interface Request {
  readonly dispatcher: Dispatcher;
  /** Pre-signed. It never appears in a message or a log. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Milliseconds until the headers, and between two pieces of the body. */
  readonly timeouts?: { readonly headers?: number; readonly idle?: number } | undefined;
}

/** Names in lower case. Repeated headers are joined by a comma. */
export type Headers = Readonly<Record<string, string | undefined>>;

/** Copies the chunk before it returns. A returned promise asks the body to wait. */
export type Write = (chunk: Buffer) => Promise<void> | undefined;

/**
 * Sends a GET and reads its response to the end.
 *
 * @param begin judges the headers, and returns the function that takes the body. An error that it throws ends
 *   the request
 * @returns after the last `write` has ended
 * @throws undici's errors, what `begin` and `write` throw. The signal's reason, at once: S3 may be slow when
 *   the call's time is up
 */
export function readResponse(
  { dispatcher, url, headers, timeouts = {} }: Request,
  begin: (status: number, headers: Headers) => Write,
  signal: AbortSignal,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const { origin } = new URL(url);
  let stop = reject;
  let write: Write | undefined;
  let pending: Promise<void> | undefined;
  let remaining = Infinity;

  function wait(controller: Dispatcher.DispatchController, until: Promise<void>): void {
    pending = until;
    // If the connection closes while undici is paused at the end of a body, undici calls the body incomplete.
    if (remaining > 0) controller.pause();
    until.then(() => {
      if (pending !== until) return;
      pending = undefined;
      controller.resume();
    }, stop);
  }

  async function writeAfter(before: Promise<void>, chunk: Buffer): Promise<void> {
    await before;
    await write?.(chunk);
  }

  dispatcher.dispatch(
    {
      origin,
      path: requestTarget(url),
      method: 'GET',
      headers,
      headersTimeout: timeouts.headers ?? HEADERS_TIMEOUT_MS,
      bodyTimeout: timeouts.idle ?? IDLE_TIMEOUT_MS,
      // A connection that is kept may be dead when a frozen function wakes up.
      reset: true,
    },
    {
      onRequestStart(controller) {
        stop = (error) => controller.abort(error as Error);
        if (signal.aborted) stop(signal.reason);
      },
      onResponseStart(_, status, sent) {
        if (status < 200) return;
        const joined = Object.entries(sent).map(([name, value]) => [name, [value].flat().join(', ')]);
        remaining = Number(sent['content-length'] ?? Infinity);
        try {
          write = begin(status, Object.fromEntries(joined));
        } catch (error) {
          stop(error);
        }
      },
      onResponseData(controller, chunk) {
        remaining -= chunk.length;
        // When the connection closes, undici hands over what it has, paused or not.
        const written = pending ? writeAfter(pending, Buffer.from(chunk)) : write?.(chunk);
        if (written) wait(controller, written);
      },
      onResponseEnd() {
        stop = reject; // nothing is left to abort
        Promise.resolve(pending).then(resolve, reject);
      },
      onResponseError: (_, error) => reject(error),
    },
  );

  const onAbort = () => stop(signal.reason);
  signal.addEventListener('abort', onAbort);
  return promise.finally(() => signal.removeEventListener('abort', onAbort));
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

export function createFileAgent(policy: Pick<HostPolicy, 'allowLoopback'>): Agent {
  const connect = createFileConnector((onread) => safeConnector(policy, { onread }));
  return new Agent({ allowH2: false, connect });
}

/**
 * undici keeps pieces of the headers until the last one has come. It refuses more than 16 KiB of names and
 * values, which is at most 64 KiB with their colons and line ends. A buffer is filled again only after the
 * other one has got 128 KiB.
 */
export function createFileConnector(
  createConnector: (onread: OnReadOpts) => buildConnector.connector,
): buildConnector.connector {
  return (target, callback) => {
    let filling = Buffer.allocUnsafeSlow(READ_BYTES);
    let other = Buffer.allocUnsafeSlow(READ_BYTES);
    // `filling` holds this many bytes so far.
    let at = 0;
    let socket: Socket | undefined;
    const onread = {
      buffer: () => filling.subarray(at),
      callback(bytes: number): boolean {
        if (socket === undefined) throw new Error('Bytes came before the connection was made');
        const wantsMore = socket.push(filling.subarray(at, at + bytes));
        at += bytes;
        if (at > READ_BYTES / 2) {
          // If undici has paused, the other buffer may still have unread bytes: a new one takes its place.
          const isRead = socket.readableLength <= at;
          [filling, other] = [isRead ? other : Buffer.allocUnsafeSlow(READ_BYTES), filling];
          at = 0;
        }
        return wantsMore;
      },
    };
    createConnector(onread)(target, (...[error, connected]: Parameters<buildConnector.Callback>) => {
      if (error) return callback(error, null);
      socket = connected;
      callback(null, socket);
    });
  };
}

import type { Dispatcher } from 'undici';

export interface Head {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
}

export interface Ended {
  /** Whether HTTP itself said where the body ends; otherwise the connection was simply closed. */
  readonly framed: boolean;
}

export interface Get {
  readonly url: string;
  readonly headers: Record<string, string>;
  /** Milliseconds to the headers. */
  readonly headersTimeout: number;
  /** Milliseconds in which at least `minBytes` of the body must come, unless `onData` holds it back. */
  readonly bodyTimeout: number;
  readonly minBytes: number;
  readonly signal: AbortSignal | undefined;
}

/**
 * A GET whose body is handed over piece by piece as undici's parser has it: without a stream in between, which would
 * cost a third of the speed. `onData` holds the connection back by returning a promise.
 *
 * @throws TooSlow, what `onHead` or `onData` threw or rejected with, the signal's reason, or undici's error
 */
export function get(
  dispatcher: Dispatcher,
  { url, headers, headersTimeout, bodyTimeout, minBytes, signal }: Get,
  receiver: { onHead(head: Head): void; onData(chunk: Buffer): Promise<void> | undefined },
): Promise<Ended> {
  const { origin, pathname, search } = new URL(url);
  const options = {
    origin,
    path: pathname + search,
    method: 'GET',
    headers,
    headersTimeout,
    bodyTimeout,
  } as const;
  return new Promise((resolve, reject) => {
    let framed = true;
    let controller: Dispatcher.DispatchController | undefined;
    // Data may come although the connection is held back, when the other side has closed it; so each piece waits for
    // the one before, and the end for all of them.
    let pending: Promise<void> | undefined;
    let spent: Buffer | undefined;
    const pace = openPace({ minBytes, window: bodyTimeout, held: () => pending !== undefined });
    const fail = (error: unknown) => {
      pace.stop();
      reject(error);
      controller?.abort(error instanceof Error ? error : new Error(String(error)));
    };
    const stop = () => fail(signal?.reason);
    const finish = (settle: () => void) => {
      pace.stop();
      signal?.removeEventListener('abort', stop);
      if (pending === undefined) settle();
      else pending.then(settle, reject);
    };
    const hold = (wait: Promise<void>) => {
      pending = wait;
      controller?.pause();
      wait.then(() => {
        if (pending !== wait) return;
        pending = undefined;
        controller?.resume();
      }, fail);
    };
    if (signal?.aborted) return fail(signal.reason);
    signal?.addEventListener('abort', stop);
    dispatcher.dispatch(options, {
      onRequestStart(started) {
        controller = started;
        if (signal?.aborted) stop();
      },
      onResponseStart(_, status, raw) {
        if (status < 200) return;
        pace.start(() => fail(new TooSlow()));
        framed = 'content-length' in raw || 'transfer-encoding' in raw;
        attempt(() => receiver.onHead({ status, headers: single(raw) }), fail);
      },
      onResponseData(_, chunk) {
        pace.count(chunk.length);
        if (pending) return hold(pending.then(() => receiver.onData(chunk)));
        if (spent) release(spent);
        spent = chunk;
        const wait = attempt(() => receiver.onData(chunk), fail);
        if (wait) hold(wait);
      },
      onResponseEnd: () => finish(() => resolve({ framed })),
      onResponseError: (_, error) => finish(() => reject(error)),
    });
  });
}

/**
 * Frees a piece's memory at once instead of at some garbage collection: hundreds of megabytes pass through pieces of 64 KiB,
 * and the collector, which sees only their small heads, would let many wait and then mark the whole heap for them. A piece that
 * shares its memory with others is left alone; and only the piece before is freed, since undici may still look at the last one.
 */
function release(piece: Buffer): void {
  const { buffer } = piece;
  // Not an empty one: that is a constant of undici's.
  if (piece.length > 0 && piece.length === buffer.byteLength && buffer instanceof ArrayBuffer)
    buffer.transfer(0);
}

/** Watches that a body keeps coming: undici's own time-out sees only that something came, were it a byte. */
function openPace({ minBytes, window, held }: { minBytes: number; window: number; held: () => boolean }) {
  let came = 0;
  let timer: NodeJS.Timeout | undefined;
  return {
    start(tooSlow: () => void) {
      timer ??= setInterval(() => {
        if (came < minBytes && !held()) tooSlow();
        came = held() ? minBytes : 0; // what is held back now has an easy next window
      }, window);
    },
    count(bytes: number) {
      came += bytes;
    },
    stop: () => clearInterval(timer),
  };
}

/** The body comes, but a few bytes at a time. */
class TooSlow extends Error {
  override readonly name = 'TooSlow';
  readonly code = 'TOO_SLOW';
}

/** undici calls us from inside its parser, where nothing may be thrown. */
function attempt<T>(action: () => T, fail: (error: unknown) => void): T | undefined {
  try {
    return action();
  } catch (error) {
    fail(error);
    return undefined;
  }
}

function single(headers: Readonly<Record<string, string | string[] | undefined>>): Head['headers'] {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value].flat()[0]]));
}

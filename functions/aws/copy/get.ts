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
  readonly headersTimeout: number;
  readonly bodyTimeout: number;
  readonly signal: AbortSignal | undefined;
}

/**
 * A GET whose body is handed over piece by piece as undici's parser has it: without a stream in between, which would
 * cost a third of the speed. `onData` holds the connection back by returning a promise.
 *
 * @throws what `onHead` or `onData` threw or rejected with, the signal's reason, or undici's error
 */
export function get(
  dispatcher: Dispatcher,
  { url, headers, headersTimeout, bodyTimeout, signal }: Get,
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
    const fail = (error: unknown) => {
      reject(error);
      controller?.abort(error instanceof Error ? error : new Error(String(error)));
    };
    const stop = () => fail(signal?.reason);
    const finish = (settle: () => void) => {
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
    if (signal?.aborted) return reject(signal.reason);
    signal?.addEventListener('abort', stop);
    dispatcher.dispatch(options, {
      onRequestStart(started) {
        controller = started;
        if (signal?.aborted) stop();
      },
      onResponseStart(_, status, raw) {
        if (status < 200) return;
        framed = 'content-length' in raw || 'transfer-encoding' in raw;
        attempt(() => receiver.onHead({ status, headers: single(raw) }), fail);
      },
      onResponseData(_, chunk) {
        if (pending) return hold(pending.then(() => receiver.onData(chunk)));
        const wait = attempt(() => receiver.onData(chunk), fail);
        if (wait) hold(wait);
      },
      onResponseEnd: () => finish(() => resolve({ framed })),
      onResponseError: (_, error) => finish(() => reject(error)),
    });
  });
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

import type { Dispatcher } from 'undici';

/** Milliseconds in which at least `minBytes` must come, unless `write` holds the body back. */
interface Pace {
  readonly idle: number;
  readonly minBytes: number;
}

/** Copies the chunk before it returns. A returned promise asks the body to wait. */
export type Write = (chunk: Buffer) => Promise<void> | undefined;

/** The body of a response, which waits until it is read. */
export interface Body {
  /** Takes the next bytes, which may change afterwards. */
  take(chunk: Buffer): void;
  /** Ends the body, with an error if it is not complete, after the bytes before it are written. */
  end(error?: Error): void;
  /**
   * Reads the body to its end. To be called once.
   *
   * @throws TooSlow, what `write` throws, and the error of `end`; no `write` is pending then. The signal's reason, at
   *   once: S3 may be slow when the call's time is up.
   */
  read(pace: Pace, signal: AbortSignal, write: Write): Promise<void>;
  /** Leaves the rest of the body. */
  close(): void;
}

/**
 * A body that undici's dispatcher fills. The stream that undici's `request` returns would keep chunks, and so would need
 * memory of its own for each of them.
 *
 * @param length as announced
 */
export function createBody(controller: Dispatcher.DispatchController, length = Infinity): Body {
  const reading = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  ended.promise.catch(() => {}); // nobody may read the body
  let write: Write = () => undefined;
  let pending: Promise<void> | undefined;
  let came = 0;
  let left = length;
  const stop = (error: Error) => {
    ended.reject(error);
    controller.abort(error);
  };
  const wait = (until: Promise<void>) => {
    pending = until;
    // If the connection closes while undici is paused at the end of a body, undici calls the body incomplete.
    if (left > 0) controller.pause();
    until.then(() => {
      if (pending !== until) return;
      pending = undefined;
      controller.resume();
    }, stop);
  };
  const writeAfter = async (before: Promise<void>, chunk: Buffer) => {
    await before;
    await write(chunk);
  };
  wait(reading.promise);
  return {
    take(chunk) {
      came += chunk.length;
      left -= chunk.length;
      // When the connection closes, undici hands over what it has, paused or not.
      const written = pending ? writeAfter(pending, Buffer.from(chunk)) : write(chunk);
      if (written) wait(written);
    },
    end(error) {
      Promise.resolve(pending).then(() => (error ? ended.reject(error) : ended.resolve()), ended.reject);
    },
    async read({ idle, minBytes }, signal, to) {
      signal.throwIfAborted();
      write = to;
      reading.resolve();
      const timer = setInterval(() => {
        if (came < minBytes && !pending) stop(new TooSlow());
        came = pending ? minBytes : 0; // after a pause, the next window needs no bytes
      }, idle);
      const onAbort = () => stop(signal.reason);
      signal.addEventListener('abort', onAbort);
      try {
        await ended.promise;
      } finally {
        clearInterval(timer);
        signal.removeEventListener('abort', onAbort);
      }
    },
    close: () => stop(new Error('The rest of the body is not needed')),
  };
}

class TooSlow extends Error {
  override readonly name = 'TooSlow';
  readonly code = 'TOO_SLOW';
}

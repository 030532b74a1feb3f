import type { OnReadOpts, Socket } from 'node:net';
import type { buildConnector } from 'undici';
import { type Head, openAnswer } from './answer.ts';

export interface Ended {
  /** Whether HTTP itself said where the body ends; otherwise the connection was simply closed. */
  readonly framed: boolean;
}

/** Opens connections that are read as told. Whom it connects to, and how long it may take, is for it to decide. */
export type Connect = (onread: OnReadOpts) => buildConnector.connector;

export interface Get {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Milliseconds from the request to the headers. */
  readonly headersTimeout: number;
  /** Milliseconds in which at least `minBytes` of the body must come, unless `onData` holds it back. */
  readonly bodyTimeout: number;
  readonly minBytes: number;
  readonly signal: AbortSignal | undefined;
}

interface Receiver {
  onHead(head: Head): void;
  /** The chunk's memory is read into again once this has returned, or the promise is settled. */
  onData(chunk: Buffer): Promise<void> | undefined;
}

// What the kernel has at once, if it has much: reads of 64 KiB cost twice as much.
const READ_BYTES = 256 * 1024;

/**
 * A GET on a connection of its own, read into the same memory from the beginning to the end: HTTP clients make a new
 * buffer for each 64 KiB and pass it through a stream, which costs three times what the network itself does. `onData`
 * holds the connection back by returning a promise.
 *
 * @throws TooSlow, BadAnswer, what `onHead` or `onData` threw or rejected with, the signal's reason, or Node's error
 */
export async function get(connect: Connect, request: Get, receiver: Receiver): Promise<Ended> {
  const { url, signal, headersTimeout } = request;
  signal?.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<Ended>();
  let socket: Socket | undefined;
  let over = false;
  const fail = (error: unknown) => {
    over = true;
    socket?.destroy(); // at once, or it would go on to hand over what it has
    reject(error);
  };
  const intake = openIntake(receiver, { resume: () => socket?.resume(), fail });
  const pace = openPace(request, intake.held);
  const tooSlow = () => fail(new TooSlow());
  const slow = setTimeout(tooSlow, headersTimeout);
  const answer = openAnswer({
    onHead(head) {
      clearTimeout(slow);
      pace.start(tooSlow);
      receiver.onHead(head);
    },
    onData(chunk) {
      pace.count(chunk.length);
      intake.take(chunk);
    },
  });
  const end = (ended: () => Ended) => intake.settled().then(ended).then(resolve, fail);
  const onread = readInTurns(intake.held, (bytes) => {
    try {
      answer.write(bytes);
      if (answer.whole()) void end(answer.end);
    } catch (error) {
      socket?.destroy();
      void end(() => raise(error)); // what is held is taken first: another answer may go on behind it
    }
  });
  const stop = () => fail(signal?.reason);
  signal?.addEventListener('abort', stop);
  connect(onread)(targetOf(url), (error, connected) => {
    if (error !== null) return fail(error);
    if (over) return connected.destroy();
    socket = connected;
    let broken: Error | undefined;
    socket.on('error', (cause) => {
      broken = cause;
    });
    socket.on('close', () => void end(() => (broken ? raise(broken) : answer.end())));
    socket.write(textOf(request));
    slow.refresh();
  });
  try {
    return await promise;
  } finally {
    over = true;
    socket?.destroy();
    clearTimeout(slow);
    pace.stop();
    signal?.removeEventListener('abort', stop);
  }
}

/**
 * Hands on one piece after another, and holds the connection back meanwhile. Data may come nevertheless, which TLS had
 * decrypted already; it is copied, and the end waits for all of it.
 */
function openIntake(
  { onData }: Receiver,
  { resume, fail }: { resume: () => void; fail: (error: unknown) => void },
) {
  let pending: Promise<void> | undefined;
  const hold = (wait: Promise<void>) => {
    pending = wait;
    wait.then(() => {
      if (pending !== wait) return;
      pending = undefined;
      resume();
    }, fail);
  };
  return {
    take(chunk: Buffer) {
      const copy = pending && Buffer.from(chunk);
      const wait = pending && copy ? pending.then(() => onData(copy)) : onData(chunk);
      if (wait) hold(wait);
    },
    held: () => pending !== undefined,
    settled: async () => pending,
  };
}

/** Two buffers, since one may be read into while a piece of the other is held. */
function readInTurns(held: () => boolean, take: (bytes: Buffer) => void): OnReadOpts {
  let [filling, other] = [Buffer.allocUnsafeSlow(READ_BYTES), Buffer.allocUnsafeSlow(READ_BYTES)];
  return {
    // Asked for after each read.
    buffer: () => filling,
    callback(bytes) {
      const heldBefore = held();
      take(filling.subarray(0, bytes));
      if (held() && !heldBefore) [filling, other] = [other, filling];
      return !held();
    },
  };
}

function targetOf(url: string) {
  const { protocol, hostname, host, port } = new URL(url);
  return { protocol, hostname: hostname.replace(/^\[|\]$/g, ''), host, port };
}

function textOf({ url, headers }: Get): string {
  const { host, pathname, search } = new URL(url);
  const lines = Object.entries({ host, connection: 'close', ...headers });
  const head = lines.map(([name, value]) => `${name}: ${value}`);
  return [`GET ${pathname}${search} HTTP/1.1`, ...head, '', ''].join('\r\n');
}

/** Watches that a body keeps coming: that something comes is not enough, were it a byte now and then. */
function openPace({ minBytes, bodyTimeout }: Get, held: () => boolean) {
  let came = 0;
  let timer: NodeJS.Timeout | undefined;
  return {
    start(tooSlow: () => void) {
      timer = setInterval(() => {
        if (came < minBytes && !held()) tooSlow();
        came = held() ? minBytes : 0; // what is held back now has an easy next window
      }, bodyTimeout);
    },
    count(bytes: number) {
      came += bytes;
    },
    stop: () => clearInterval(timer),
  };
}

/** No head came in time, or the body comes a few bytes at a time. */
class TooSlow extends Error {
  override readonly name = 'TooSlow';
  readonly code = 'TOO_SLOW';
}

function raise(error: unknown): never {
  throw error;
}

import { crc32 } from 'node:zlib';
import type { JsonProgress } from '../workflow/checkpoint.ts';
import { CopyFailed } from '../workflow/errors.ts';

const MiB = 1024 * 1024;

/** Larger parts gained no speed. S3 takes parts of 5 MiB and more. */
export const PART_BYTES = 8 * MiB;

/** One part fills while the other is uploaded. A third buffer gained no speed. */
const BUFFERS = 2;

// When a call's time is up, a minute is left. The two parts on their way get half of it, which takes 0.6 MB/s.
export const SETTLE_MS = 30_000;

/** The memory of a copy. A copy that starts again from the beginning uses the same buffers. */
export interface BufferPool {
  readonly partBytes: number;
  /** Allocates the buffer when it is first needed, so that a small file takes only one. */
  get(index: number): Buffer;
}

/** @param partBytes tests use smaller parts */
export function createBufferPool(partBytes: number = PART_BYTES): BufferPool {
  const buffers: Buffer[] = [];
  return {
    partBytes,
    get(index) {
      buffers[index] ??= Buffer.allocUnsafeSlow(partBytes);
      return buffers[index];
    },
  };
}

/** A part to upload. */
export interface FullPart {
  /** From 1. */
  readonly number: number;
  readonly body: Buffer;
  readonly crc32: number;
}

/** A part that S3 has stored. */
export interface Part {
  /** From 1. */
  readonly number: number;
  readonly bytes: number;
  readonly crc32: number;
  readonly etag: string;
}

/** Everything before this position is stored. */
export interface Position {
  /** Bytes from the beginning of the file: whole parts, or the whole file. */
  readonly at: number;
  /** The content check's result up to that byte. */
  readonly json: JsonProgress | undefined;
}

/** Cuts bytes into parts and sends one while the next one fills. */
interface PartWriter {
  /** Copies the chunk. A returned promise asks the caller to wait before it writes again. */
  write(chunk: Buffer): Promise<void> | undefined;
  /** Bytes that have not filled a part yet. */
  rest(): Buffer;
  /** Sends the rest. @returns the parts of this writer by number */
  end(): Promise<Part[]>;
  /** Takes no more bytes and waits for the parts on their way. Never throws. */
  settle(): Promise<Position>;
  /** Cancels the parts on their way. Never throws. */
  stop(): Promise<void>;
}

interface PartSender {
  send(part: FullPart, signal: AbortSignal): Promise<Part>;
  /** Called after each call of `send`. */
  progress(): JsonProgress | undefined;
}

export function createPartWriter(sender: PartSender, pool: BufferPool, from: Position): PartWriter {
  const stopping = new AbortController();
  const sending = Array.from({ length: BUFFERS }, () => Promise.resolve());
  const parts: Part[] = [];
  let stored = from;
  let at = from.at;
  let index = 0;
  let used = 0;
  let crc = 0;
  let lastGapless: Promise<void> = Promise.resolve();
  let failure: { readonly error: unknown } | undefined;
  const throwFailure = () => {
    if (failure) throw failure.error;
  };

  function write(chunk: Buffer): Promise<void> | undefined {
    if (failure) return Promise.reject(failure.error);
    const copied = chunk.copy(pool.get(index), used);
    // Computed while the bytes are in the CPU's cache. Over a whole part, it would take half as long again.
    crc = crc32(copied < chunk.length ? chunk.subarray(0, copied) : chunk, crc);
    used += copied;
    if (used < pool.partBytes) return undefined;
    dispatch();
    const rest = Buffer.from(chunk.subarray(copied));
    // The other buffer may still be on its way.
    return sending[index]?.then(() => (rest.length > 0 ? write(rest) : undefined));
  }

  function rest(): Buffer {
    return pool.get(index).subarray(0, used);
  }

  function dispatch(): void {
    const part = { number: Math.floor(at / pool.partBytes) + 1, body: rest(), crc32: crc };
    const sent = sender.send(part, stopping.signal).then((done) => void parts.push(done));
    sent.catch((error) => {
      failure ??= { error };
    });
    sending[index] = sent;
    index = (index + 1) % BUFFERS;
    at += used;
    used = 0;
    crc = 0;
    const position = { at, json: sender.progress() };
    lastGapless = Promise.all([lastGapless, sent]).then(() => {
      stored = position;
    });
    lastGapless.catch(() => {});
  }

  async function end(): Promise<Part[]> {
    throwFailure();
    if (used > 0) dispatch();
    await Promise.all(sending);
    throwFailure();
    return parts.toSorted((one, other) => one.number - other.number);
  }

  async function settle(): Promise<Position> {
    failure ??= { error: new CopyFailed('The next call resumes the copy.') };
    const timer = setTimeout(() => stopping.abort(), SETTLE_MS);
    await Promise.allSettled([...sending, lastGapless]);
    clearTimeout(timer);
    return stored;
  }

  async function stop(): Promise<void> {
    stopping.abort();
    failure ??= { error: stopping.signal.reason };
    await Promise.allSettled(sending);
  }

  return { write, rest, end, settle, stop };
}

import { crc32 } from 'node:zlib';
import { CopyFailed, DownloadRefused } from '../workflow/errors.ts';
import { putPart } from './put-part.ts';
import type { Destination, Part, Upload } from './upload.ts';

const MiB = 1024 * 1024;

/** Of one upload, which is S3's limit. */
export const PARTS_MAX = 10_000;

const RING_PARTS = 2; // a third changed neither speed nor CPU, and took 8 MiB more

// What is on its way when a call's time is up has half of the minute that is left; two parts of 8 MiB at 0.6 MB/s.
export const SETTLE_MS = 30_000;

/**
 * The bytes of part `number`, from 1, where nobody knows how many there will be: 8 MiB as long as that will do, so that
 * memory is the same for 10 MB and for 30 GB, then more, so that 10,000 parts suffice: 4,000 × 8 + 2,000 × 16 + 2,000 × 32 +
 * 2,000 × 64 MiB = 250 GiB.
 */
export function partBytes(number: number): number {
  if (number <= 4_000) return 8 * MiB;
  return number <= 6_000 ? 16 * MiB : number <= 8_000 ? 32 * MiB : 64 * MiB;
}

/** @throws DownloadRefused where S3 takes no part of that number */
export function checkPart(number: number): void {
  if (number > PARTS_MAX)
    throw new DownloadRefused(`The file needs more than the ${PARTS_MAX} parts that S3 allows.`);
}

/** How far the parts of a file are stored, without a gap: what a later call goes on from. */
export interface Position {
  /** The part that comes next. */
  readonly part: number;
  /** Where it begins in the file. */
  readonly at: number;
  /** What `mark` said of the bytes before it. */
  readonly shape?: string | undefined;
}

/** Cuts bytes into parts, of which one goes out while the next one fills. */
export interface PartWriter {
  /** Bytes that the part which fills still takes; at least one. */
  left(): number;
  /** Copies the chunk; asks the sender to wait by returning a promise, one at a time. */
  write(chunk: Buffer): Promise<void> | undefined;
  /** What has not filled a part. */
  rest(): Buffer;
  /** Sends the rest as the last part, if there is any. @returns the parts that this writer has stored, by number */
  end(): Promise<Part[]>;
  /** Takes no more, lets what is on its way arrive and forgets the rest. @returns how far it came; never throws */
  settle(): Promise<Position>;
  /** Breaks off what is on its way. Never throws. */
  stop(): Promise<void>;
}

/** One fills while the others are on their way. Handed from one writer to the next, so that beginning again costs no memory. */
export interface Ring {
  readonly slots: number;
  /** A buffer of `bytes` or more; made when first needed, so that a small file takes one. */
  take(slot: number, bytes: number): Buffer;
  /** Bytes that all buffers have together. */
  held(): number;
}

export function openRing(): Ring {
  const buffers = Array.from({ length: RING_PARTS }, () => Buffer.alloc(0));
  return {
    slots: RING_PARTS,
    take(slot, bytes) {
      const buffer = buffers[slot];
      if (buffer && buffer.length >= bytes) return buffer;
      const larger = Buffer.allocUnsafeSlow(bytes);
      buffers[slot] = larger;
      return larger;
    },
    held: () => buffers.reduce((sum, { length }) => sum + length, 0),
  };
}

export interface PartOptions {
  /** The bytes of part `number`. */
  readonly size?: typeof partBytes;
  /** The first of the growing pauses before a part is sent again, in milliseconds. */
  readonly pause?: number | undefined;
  readonly from?: Position | undefined;
  /** Called where a part ends, for what a later call has to know of the bytes before. */
  readonly mark?: (() => string | undefined) | undefined;
}

/** @param upload asked for when the first part is full */
export function openPartWriter(
  to: Destination,
  upload: () => Promise<Upload>,
  ring: Ring,
  { size = partBytes, pause, from, mark = () => undefined }: PartOptions = {},
): PartWriter {
  const stopping = new AbortController();
  const sending = Array.from({ length: ring.slots }, () => Promise.resolve());
  const parts: Part[] = [];
  let position: Position = from ?? { part: 1, at: 0 };
  let filling = position;
  let gapless: Promise<void> = Promise.resolve();
  let slot = 0;
  let used = 0;
  let failure: { error: unknown } | undefined;

  const left = () => size(filling.part) - used;

  function write(chunk: Buffer): Promise<void> | undefined {
    if (failure) return Promise.reject(failure.error);
    const copied = chunk.copy(room(), used, 0, Math.min(chunk.length, left()));
    used += copied;
    if (left() > 0) return undefined;
    send();
    const rest = chunk.subarray(copied);
    return free().then(() => (rest.length > 0 ? write(rest) : undefined));
  }

  function room(): Buffer {
    checkPart(filling.part);
    return ring.take(slot, size(filling.part));
  }

  const rest = () => room().subarray(0, used);

  /** Until the buffer that is to fill next has been sent. */
  async function free(): Promise<void> {
    await sending[slot];
  }

  function send(): void {
    const body = rest();
    const part = { number: filling.part, body, crc32: crc32(body) };
    const sent = upload().then(async (created) => {
      const options = { signal: stopping.signal, ...(pause === undefined ? {} : { pause }) };
      parts.push(await putPart(to, created, part, options));
    });
    sending[slot] = sent;
    sent.catch((error) => {
      failure ??= { error };
    });
    slot = (slot + 1) % ring.slots;
    const next = { part: filling.part + 1, at: filling.at + used, shape: mark() };
    filling = next;
    used = 0;
    gapless = Promise.all([gapless, sent]).then(() => {
      position = next;
    });
    gapless.catch(() => {}); // each part says so itself
  }

  async function end(): Promise<Part[]> {
    if (used > 0) send();
    await Promise.all(sending);
    if (failure) throw failure.error;
    return parts.toSorted((one, other) => one.number - other.number);
  }

  async function settle(): Promise<Position> {
    failure ??= { error: new CopyFailed('The copy was left to a later call.') };
    const timer = setTimeout(() => stopping.abort(), SETTLE_MS);
    await Promise.allSettled([...sending, gapless]);
    clearTimeout(timer);
    return position;
  }

  async function stop(): Promise<void> {
    stopping.abort();
    failure ??= { error: stopping.signal.reason };
    await Promise.allSettled(sending);
  }

  return { left, write, rest, end, settle, stop };
}

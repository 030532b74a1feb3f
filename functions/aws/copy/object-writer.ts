import { crc32 } from 'node:zlib';
import { DownloadRefused } from '../../workflow/errors.ts';
import { putPart } from './put-part.ts';
import {
  abortUpload,
  completeUpload,
  createUpload,
  type Destination,
  type Kind,
  type Part,
  putWhole,
  type Stored,
  type Upload,
} from './upload.ts';

const MiB = 1024 * 1024;
const PARTS_MAX = 10_000;
const RING_PARTS = 2; // a third changed neither speed nor CPU, and took 8 MiB more;

/**
 * The bytes of part `number`, from 1: 8 MiB as long as that will do, so that memory is the same for 10 MB and for 30 GB,
 * then more, so that 10,000 parts suffice: 4,000 × 8 + 2,000 × 16 + 2,000 × 32 + 2,000 × 64 MiB = 250 GiB.
 */
export function partBytes(number: number): number {
  if (number <= 4_000) return 8 * MiB;
  return number <= 6_000 ? 16 * MiB : number <= 8_000 ? 32 * MiB : 64 * MiB;
}

/** Writes one object: parts go out while the next one fills. Nothing is visible before `end` has returned. */
export interface ObjectWriter {
  /** Copies the chunk; asks the sender to wait by returning a promise, one at a time. */
  write(chunk: Buffer): Promise<void> | undefined;
  /** @throws CopyFailed, AccessRefused, ServiceUnavailable */
  end(): Promise<Stored>;
  /** Gives up: what was uploaded is removed. To be called once nothing waits for `write` any more. Never throws. */
  abort(): Promise<void>;
}

/** One fills while the others are on their way. Handed from one writer to the next, so that beginning again costs no memory. */
export type Ring = Buffer[];

export function openRing(): Ring {
  return Array.from({ length: RING_PARTS }, () => Buffer.alloc(0));
}

export function openObjectWriter(
  to: Destination,
  kind: Kind,
  ring: Ring,
  { signal, size = partBytes, pause }: { signal?: AbortSignal; size?: typeof partBytes; pause?: number } = {},
): ObjectWriter {
  const stop = new AbortController();
  const stopped = signal ? AbortSignal.any([signal, stop.signal]) : stop.signal;
  const sending = ring.map(() => Promise.resolve());
  const parts: Part[] = [];
  let upload: Promise<Upload> | undefined;
  let slot = 0;
  let used = 0;
  let number = 1;
  let failure: { error: unknown } | undefined;

  function write(chunk: Buffer): Promise<void> | undefined {
    if (failure) return Promise.reject(failure.error);
    const buffer = room();
    const copied = chunk.copy(buffer, used, 0, Math.min(chunk.length, size(number) - used));
    used += copied;
    if (used < size(number)) return undefined;
    send();
    const rest = chunk.subarray(copied);
    return free().then(() => (rest.length > 0 ? write(rest) : undefined));
  }

  /** The buffer that fills; made when first needed, so that a small file takes one. */
  function room(): Buffer {
    if (number > PARTS_MAX)
      throw new DownloadRefused(`The file needs more than the ${PARTS_MAX} parts that S3 allows.`);
    const buffer = ring[slot];
    if (buffer && buffer.length >= size(number)) return buffer;
    const larger = Buffer.allocUnsafeSlow(size(number));
    ring[slot] = larger;
    return larger;
  }

  /** Until the buffer that is to fill next has been sent. */
  async function free(): Promise<void> {
    await sending[slot];
  }

  function send(): void {
    const body = room().subarray(0, used);
    const part = { number, body, crc32: crc32(body) };
    upload ??= createUpload(to, kind);
    const sent = upload.then(async (created) => {
      parts[part.number - 1] = await putPart(to, created, part, {
        signal: stopped,
        ...(pause === undefined ? {} : { pause }),
      });
    });
    sending[slot] = sent;
    sent.catch((error) => {
      failure ??= { error };
    });
    slot = (slot + 1) % ring.length;
    used = 0;
    number++;
  }

  async function end(): Promise<Stored> {
    if (upload === undefined) {
      const body = room().subarray(0, used);
      return putWhole(to, kind, body, crc32(body));
    }
    if (used > 0) send();
    await Promise.all(sending);
    return completeUpload(to, await upload, parts);
  }

  async function abort(): Promise<void> {
    stop.abort();
    failure ??= { error: stop.signal.reason };
    const created = await upload?.catch(() => undefined);
    // A part that arrives after the abort would stay for ever.
    await Promise.allSettled(sending);
    if (created) await abortUpload(to, created);
  }

  return { write, end, abort };
}

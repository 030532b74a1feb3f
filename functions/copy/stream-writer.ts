import { CopyFailed } from '../workflow/errors.ts';
import { openPartStream, type PartStream } from './part-stream.ts';
import {
  checkPart,
  PARTS_MAX,
  type PartOptions,
  type PartWriter,
  type Position,
  SETTLE_MS,
} from './part-writer.ts';
import type { Destination, Part, Upload } from './upload.ts';

const MiB = 1024 * 1024;
const GiB = 1024 * MiB;

/** What S3 takes as one part. */
const PART_MAX = 5 * GiB;

/** At 50 MB/s a part takes 1.3 s, beside which the pause until S3 has answered is small. */
const PART_MIN = 64 * MiB;

/** All parts of a file whose length is known, equal but for the last; 48 TiB, which is S3's own limit, take parts of 5 GiB. */
export function streamedPartBytes(bytes: number): number {
  return Math.min(PART_MAX, Math.max(PART_MIN, Math.ceil(bytes / PARTS_MAX / MiB) * MiB));
}

/**
 * Parts that are too large to be held. One that breaks cannot be sent again from here: the writer fails, what is stored is
 * left, and a later call fetches that part again.
 *
 * @param bytes of the file, or up to the end of the range
 */
export function openStreamWriter(
  to: Destination,
  upload: () => Promise<Upload>,
  bytes: number,
  { size = () => streamedPartBytes(bytes), from, mark = () => undefined }: PartOptions = {},
): PartWriter {
  const stopping = new AbortController();
  const parts: Part[] = [];
  let position: Position = from ?? { part: 1, at: 0 };
  let open: PartStream | undefined;
  let used = 0; // bytes of the open part
  let ending: Promise<void> = Promise.resolve();
  let failure: { error: unknown } | undefined;

  const partBytes = () => Math.min(size(position.part), bytes - position.at);
  const left = () => Math.max(1, partBytes() - used);

  function write(chunk: Buffer): Promise<void> | undefined {
    if (failure) return Promise.reject(failure.error);
    return open ? add(open, chunk) : begin().then((part) => add(part, chunk));
  }

  async function begin(): Promise<PartStream> {
    checkPart(position.part);
    const created = await upload();
    if (failure) throw failure.error;
    open = openPartStream(to, created, { number: position.part, bytes: partBytes() }, stopping.signal);
    return open;
  }

  function add(part: PartStream, chunk: Buffer): Promise<void> | undefined {
    used += chunk.length;
    const wait = part.write(chunk);
    if (used < partBytes()) return wait;
    ending = close(part, wait, mark());
    return ending;
  }

  async function close(
    part: PartStream,
    wait: Promise<void> | undefined,
    shape: string | undefined,
  ): Promise<void> {
    await wait;
    parts.push(await part.end());
    position = { part: position.part + 1, at: position.at + used, shape };
    used = 0;
    open = undefined;
  }

  async function end(): Promise<Part[]> {
    await ending;
    return parts;
  }

  async function settle(): Promise<Position> {
    failure ??= { error: new CopyFailed('The copy was left to a later call.') };
    const timer = setTimeout(() => stopping.abort(), SETTLE_MS);
    await Promise.allSettled([ending]);
    clearTimeout(timer);
    stopping.abort();
    return position;
  }

  async function stop(): Promise<void> {
    stopping.abort();
    failure ??= { error: stopping.signal.reason };
    await Promise.allSettled([ending]);
  }

  return { left, write, rest: () => Buffer.alloc(0), end, settle, stop };
}

import { openPartWriter, type PartOptions, type PartWriter, partBytes, type Ring } from './part-writer.ts';
import { openStreamWriter, streamedPartBytes } from './stream-writer.ts';
import type { Destination, Upload } from './upload.ts';

/** How a file is cut into parts: the same in every call that copies some of it. */
export interface Layout {
  /** The bytes of part `number`, from 1. */
  readonly size: (number: number) => number;
  /** Its parts are too large to be held in memory. */
  readonly streamed: boolean;
}

/** 10,000 parts of 8 MiB are 78 GiB: two of them are held, and sent again where S3 refuses one. */
const HELD_MAX = 10_000 * partBytes(1);

/** @param bytes of the file; without them the parts have to grow as they come, and 250 GiB is all that they can hold */
export function layoutOf(
  bytes: number | undefined,
  { size, streamed = false }: Partial<Layout> = {},
): Layout {
  if (size) return { size, streamed };
  if (bytes === undefined) return { size: partBytes, streamed: false };
  const whole = bytes <= HELD_MAX ? partBytes(1) : streamedPartBytes(bytes);
  return { size: () => whole, streamed: bytes > HELD_MAX };
}

/** @param until where the parts end, in the file */
export function openParts(
  to: Destination,
  upload: () => Promise<Upload>,
  ring: Ring,
  { size, streamed }: Layout,
  { until = Number.NaN, ...options }: PartOptions & { readonly until?: number | undefined },
): PartWriter {
  return streamed
    ? openStreamWriter(to, upload, until, { ...options, size })
    : openPartWriter(to, upload, ring, { ...options, size });
}

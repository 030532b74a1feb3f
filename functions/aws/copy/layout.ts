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

/** What 10,000 parts that can be held come to (see part-writer.ts). */
const HELD_MAX = 250 * 1024 ** 3;

/** @param bytes of the file; without them, no more than 250 GiB can be taken, as each part must be sized before its end is known */
export function layoutOf(
  bytes: number | undefined,
  { size, streamed = false }: Partial<Layout> = {},
): Layout {
  if (size) return { size, streamed };
  if (bytes === undefined || bytes <= HELD_MAX) return { size: partBytes, streamed: false };
  return { size: () => streamedPartBytes(bytes), streamed: true };
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

import * as z from 'zod/mini';

/** What travels of a copy that takes more than one call of a function. Parts and their checksums are S3's to remember. */

/** The file, as the storage host described it; all bytes of it are asked for by this ETag. */
const SourceFile = z.object({
  /** A strong one. */
  etag: z.string(),
  bytes: z.optional(z.number()),
  content_type: z.string(),
});

/** How far the bytes are stored, without a gap. */
const Position = z.object({
  /** The number of the part that comes next, and where it begins in the file. */
  part: z.number(),
  at: z.number(),
  /** What the JSON before has come to (see json-shape.ts, json-fragment.ts). */
  shape: z.optional(z.string()),
});

/** Bytes of the file that are copied beside others. */
export const CopyRange = z.extend(Position, {
  /** Its first part, its first byte, and the byte behind its last. */
  first: z.number(),
  from: z.number(),
  to: z.number(),
  /**
   * `open` its turn comes · `stored` all of it is · `broken` it comes no further for now · `void` what is there now is another
   * file, or cannot be had in ranges
   */
  status: z.enum(['open', 'stored', 'broken', 'void']),
  /** When it may GET the report next, and how long after that again (see turns.ts). */
  turn: z.string(),
  /** When it is called for that: later in the turn, where the function's clock was behind that of Step Functions. */
  wake: z.string(),
  turn_every_seconds: z.number(),
  /** Turns that were taken, or missed. */
  turns: z.number(),
  /** Those that were missed in a row. */
  missed: z.optional(z.number()),
  /** Turns in a row that failed, and the name of the last error. */
  failures: z.number(),
  error: z.optional(z.string()),
});
export type CopyRange = z.infer<typeof CopyRange>;

export const Copying = z.object({
  /** Whose file it is. */
  report_id: z.string(),
  upload_id: z.string(),
  file: SourceFile,
  /** Calls of SaveReport that left it to a later one; those for an earlier report are counted on. */
  calls: z.number(),
  /** Where it is copied in one go. */
  position: z.optional(Position),
  /** Where it is copied in ranges: in the order of the file. */
  ranges: z.optional(z.array(CopyRange)),
  /** The same, once they have ended: each a CopyRange, or what Step Functions put in its place where its execution died. */
  ended: z.optional(z.array(z.unknown())),
  /** Rounds in a row in which no range came further, and the bytes of all of them before this round. */
  idle_rounds: z.optional(z.number()),
  stored_before: z.optional(z.number()),
});
export type Copying = z.infer<typeof Copying>;

/**
 * Each range as it ended; one that is open still was lost, and comes no further for now. Of one whose execution died there
 * is only what it began with: its bytes are copied again.
 */
export function asEnded(begun: readonly CopyRange[], ended: readonly unknown[] = []): CopyRange[] {
  const came = ended.flatMap((range) => CopyRange.safeParse(range).data ?? []);
  return begun.map((before): CopyRange => {
    const range = came.find(({ first }) => first === before.first) ?? before;
    return range.status === 'open' ? { ...range, status: 'broken' } : range;
  });
}

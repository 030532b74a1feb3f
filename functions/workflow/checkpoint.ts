import * as z from 'zod/mini';

/** The check of a JSON text up to some byte (functions/copy/content.ts). */
export const JsonProgress = z.object({
  /** The first and the last character that is not white space. */
  first: z.string(),
  last: z.string(),
  count: z.object({
    /** Open brackets; -1 if the text is broken. */
    depth: z.number(),
    in_string: z.boolean(),
    escaped: z.boolean(),
    /** Values at the top level, and whether the last one is an array. */
    values: z.number(),
    is_array: z.boolean(),
    /** Elements of the last value. */
    elements: z.number(),
    awaits_element: z.boolean(),
  }),
});
export type JsonProgress = z.infer<typeof JsonProgress>;

/** A copy that is not finished: the next call of SaveReport continues from here. S3 keeps the parts and their checksums. */
export const Checkpoint = z.object({
  report_id: z.string(),
  upload_id: z.string(),
  /** The strong ETag of the file. The next call asks for the rest of this file only. */
  etag: z.string(),
  /** Bytes from the beginning of the file: whole parts, or the whole file. */
  stored_bytes: z.number(),
  /** The size of the file, if it is known. */
  bytes: z.optional(z.number()),
  content_type: z.string(),
  json: z.optional(JsonProgress),
  /** Calls of SaveReport that left a checkpoint, those for an earlier report included. */
  calls: z.number(),
});
export type Checkpoint = z.infer<typeof Checkpoint>;

import * as z from 'zod/mini';

/** The check of a JSON text up to some byte (functions/copy/content.ts): its first and last character that is not white space. */
export const JsonProgress = z.object({ first: z.string(), last: z.string() });
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

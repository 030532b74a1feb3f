import * as z from 'zod/mini';

/** The size of a part. S3 takes 5 MiB and more; larger parts than these gained no speed. */
export const PART_BYTES = 8 * 1024 * 1024;

/** An unfinished copy, which the next SaveReport continues. S3 keeps the parts and their checksums. */
export const Checkpoint = z.object({
  report_id: z.string(),
  upload_id: z.string(),
  /** The strong ETag of the file. The next call asks for the rest of this file only. */
  etag: z.string(),
  /** Bytes from the beginning of the file: whole parts of PART_BYTES. */
  stored_bytes: z.number(),
  content_type: z.string(),
  content_encoding: z.optional(z.string()),
  /** Calls of SaveReport that left a checkpoint, those for an earlier report included. */
  calls: z.number(),
});
export type Checkpoint = z.infer<typeof Checkpoint>;

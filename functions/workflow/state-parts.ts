import * as z from 'zod/mini';
import { isObject } from './json.ts';

/** The parts that the states of states.ts are made of. */

/** Days. `end_date` is exclusive. */
export const Days = z.object({ start_date: z.string(), end_date: z.string() });

export const Window = z.object({
  ...Days.shape,
  /** The platform's own total of the days, without dimensions. Absent: their rows. */
  content: z.optional(z.literal('total')),
});
export type Window = z.infer<typeof Window>;

/** The error that a Catch of the state machine adds to the state. */
export const Caught = z.object({ Error: z.string(), Cause: z.optional(z.string()) });
export type Caught = z.infer<typeof Caught>;

export const TokenRef = z.object({
  /** The version of the account's token secret that holds the token. */
  version: z.string(),
  /** The token's name in that secret. */
  scope: z.string(),
  expires_at: z.string(),
  /** Renewed after a 401 and not accepted since, so another 401 is final. */
  unproven: z.boolean(),
});
export type TokenRef = z.infer<typeof TokenRef>;

/** Advertisers, of which a state and a manifest name the first. */
export const CountedAdvertisers = z.object({ count: z.number(), advertiser_ids: z.array(z.string()) });
export type CountedAdvertisers = z.infer<typeof CountedAdvertisers>;

/** Advertisers of a run's list that no list of a delivered manifest has. */
export const Newcomers = z.extend(CountedAdvertisers, {
  /** From the first exported day to the run that lists them. Absent if there are no days before it. */
  history: z.optional(Days),
});
export type Newcomers = z.infer<typeof Newcomers>;

/** All advertisers of an account, as a run listed them. */
export const Advertisers = z.object({
  /** The object that has their ids. */
  key: z.string(),
  /** Without the refused ones. */
  count: z.number(),
  /** Advertisers that the platform refused to report about. Absent: none. */
  refused: z.optional(CountedAdvertisers),
});
export type Advertisers = z.infer<typeof Advertisers>;

/** A report that the window created. */
export const ReportRef = z.object({
  id: z.string(),
  created_at: z.string(),
  /** Counts 404, ready without a URL, and ready no longer. The second one gives the report up. */
  useless_answers: z.number(),
  /**
   * `description` continues "the report …", such as `is READY`. Absent before the first poll.
   */
  last_answer: z.optional(z.object({ description: z.string(), request_id: z.optional(z.string()) })),
  /** Not polled any more. A report that is only slow is still polled, like its replacement. */
  given_up: z.boolean(),
});
export type ReportRef = z.infer<typeof ReportRef>;

/** A page of a list, as the pages behind it are compared with it. */
const PageMark = z.object({ items: z.number(), digest: z.string() });

/** The part of a list that was read, if its end is not reached. The next call goes on behind it. */
export const ListProgress = z.object({
  /** Items that were read: the offset of the next page. */
  offset: z.number(),
  pages: z.number(),
  /** The place of the items in each answer. */
  path: z.array(z.string()),
  first: PageMark,
  last: PageMark,
  /** The digest of the last item, without its fields that may change. */
  last_item: z.string(),
  /** Items of the largest page. */
  largest: z.number(),
  /** The number of items of the whole list, as the last page named it, and only if it is not that page's. */
  total: z.optional(z.number()),
});
export type ListProgress = z.infer<typeof ListProgress>;

/** Pages that are stored, in objects under `_pages/`. */
export const StoredPages = z.object({
  objects: z.number(),
  progress: ListProgress,
  /** The list has ended. */
  is_complete: z.boolean(),
});
export type StoredPages = z.infer<typeof StoredPages>;

/** A complete and verified object in S3. */
export const StoredObject = z.object({
  key: z.string(),
  bytes: z.number(),
  /** Base64 of the big-endian CRC32 of the whole object, as S3 returns it for checksum type FULL_OBJECT. */
  crc32: z.string(),
  content_type: z.string(),
  content_encoding: z.optional(z.string()),
  /** Absent if the format has no rows that we can count. */
  rows: z.optional(z.number()),
  version_id: z.optional(z.string()),
  copied_at: z.string(),
});
export type StoredObject = z.infer<typeof StoredObject>;

/** The sums of the rows of a report, beside the platform's own total of the same days. */
export const Comparison = z.object({
  /** Days that were compared. */
  days: z.number(),
  /** Sums of days that differ by more than `reconcile_tolerance` allows. Absent if nothing is tolerated. */
  above_tolerance: z.optional(z.number()),
  /** Over all of these days, to 15 digits. */
  metrics: z.array(
    z.object({
      metric: z.string(),
      rows_sum: z.number(),
      platform_total: z.number(),
      /** The sum of the rows less the total. */
      difference: z.number(),
    }),
  ),
});
export type Comparison = z.infer<typeof Comparison>;

/** Days of a table that a delivery changed, or would have emptied. */
export const TableChanges = z.object({
  /** Days that showed other values before, and the first and last of them. */
  restated: z.number(),
  first_restated: z.optional(z.string()),
  last_restated: z.optional(z.string()),
  /** Days without rows in the report: the table keeps its own. A list: 1 if its snapshot is empty. */
  held: z.number(),
  first_held: z.optional(z.string()),
  last_held: z.optional(z.string()),
});
export type TableChanges = z.infer<typeof TableChanges>;

function isTexts(value: unknown): boolean {
  return isObject(value) && Object.values(value).every((text) => typeof text === 'string');
}

/** The facts that CurateReport found in the file, and the days that it wrote into the export's table. */
export const Curated = z.object({
  /** Absent if no row has a date. */
  first_date: z.optional(z.string()),
  last_date: z.optional(z.string()),
  /** The newest day that has rows and was over when the report was created. Absent if there is none. */
  newest_day: z.optional(z.string()),
  /** By metric. A string keeps all digits of a decimal. A record of Zod would drop `__proto__`. */
  sums: z.optional(z.custom<Readonly<Record<string, string>>>(isTexts)),
  /** Absent if the table has not been written. */
  table: z.optional(
    z.extend(TableChanges, {
      name: z.string(),
      /** Days of the window that show this report now. Of a list: 1 if the table shows this snapshot. */
      days: z.number(),
      /** Days that keep a newer report. */
      kept: z.number(),
    }),
  ),
  /** The reason why the export's table was not written. The raw file is delivered all the same. */
  table_problem: z.optional(z.string()),
});
export type Curated = z.infer<typeof Curated>;

/** An unfinished copy, which the next SaveReport continues. S3 keeps the parts and their checksums. */
export const Checkpoint = z.object({
  report_id: z.string(),
  upload_id: z.string(),
  /** The strong ETag of the file. The next call asks for the rest of this file only. */
  etag: z.string(),
  /** Bytes from the beginning of the file: whole parts of PART_BYTES (copy/parts.ts). */
  stored_bytes: z.number(),
  content_type: z.string(),
  content_encoding: z.optional(z.string()),
  /** Calls of SaveReport that left a checkpoint, also for an earlier report of the window. */
  calls: z.number(),
});
export type Checkpoint = z.infer<typeof Checkpoint>;

/** One thing that failed: a window, or the whole export. */
export const Failure = z.object({
  /** A name of errors.ts, or an error of AWS. It never begins with `States.` (see reportedName). */
  error: z.string(),
  happened: z.string(),
  todo: z.string(),
  report_ids: z.array(z.string()),
  /** The platform's ids of the answers that failed. */
  request_ids: z.array(z.string()),
  faults: z.optional(z.array(z.string())),
});
export type Failure = z.infer<typeof Failure>;

/**
 * The failure report of a window or of an export. The bucket has it. An export's report is also its event,
 * its Cause and the CLI's output.
 */
export const FailureReport = z.extend(Failure, {
  version: z.literal('1'),
  execution: z.string(),
  account: z.optional(z.string()),
  export: z.optional(z.string()),
  window: z.optional(Window),
  failed_at: z.string(),
  /** A link to the section about this error. */
  runbook: z.string(),
  /** The report's place. Absent if the request is refused, because its names are not checked. */
  bucket: z.optional(z.string()),
  key: z.optional(z.string()),
  windows_delivered: z.optional(z.number()),
  windows_failed: z.optional(z.number()),
  /** The first ten that failed. */
  failed_windows: z.optional(z.array(z.extend(Failure, { window: Window }))),
  /** The problem of the first delivered window whose rows are not in the export's table. */
  table_problem: z.optional(z.string()),
});
export type FailureReport = z.infer<typeof FailureReport>;

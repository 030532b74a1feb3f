import * as z from 'zod/mini';
import { parseJson } from './json.ts';
import { isPossibleTime } from './possible.ts';
import { isCalendarDate } from './request/dates.ts';

/** A report that says something about a day. */
const Version = {
  report_id: z.string(),
  /** ISO 8601, by our clock. */
  created_at: z.string(),
  request_hash: z.string(),
};

/** The facts of the ledger about a day that a table shows. */
const LedgerFacts = z.object({
  /** The window of the report. */
  start_date: z.string(),
  end_date: z.string(),
  copied_at: z.string(),
  /** The execution that brought it. */
  execution: z.string(),
  /** The day was over when the report was created, in the account's time zone. */
  day_over: z.boolean(),
  /** By metric. Null if the metric is null in all rows. */
  sums: z.record(z.string(), z.nullable(z.string())),
});

/** A day of a month's object. `days` of the Parquet metadata lists them all, also days without rows. */
export const ShownDay = z.object({
  ...Version,
  rows: z.number(),
  /** The last write changed the day's rows or sums. A retry finds it here. */
  restated: z.boolean(),
  /** The metric, or `rows`, that fell furthest below `warn_below` of what the day showed before. */
  fell: z.optional(z.object({ metric: z.string(), before: z.number(), now: z.number() })),
  /** When a person or a request accepted that the shown report has no rows for the day. */
  accepted_at: z.optional(z.string()),
  /** The newest report, if it has no rows for the day and nobody accepted that: the day is held. */
  held: z.optional(z.object({ ...Version, ledger: LedgerFacts })),
  /** Columns of the report's request that the table did not have when the day was written. */
  lacks: z.optional(z.readonly(z.array(z.string()))),
  /** A writer adds it to the ledger if that lacks it, as after a kill. */
  ledger: LedgerFacts,
});
export type ShownDay = z.infer<typeof ShownDay>;

export type ReportVersion = Pick<ShownDay, 'report_id' | 'created_at' | 'request_hash'>;

/** A platform may give the id of a report to a later one. */
export type ReportId = Pick<ReportVersion, 'report_id' | 'created_at'>;

/** Positive if the first report is the newer one, 0 if they are the same. */
export function compareReports(first: ReportId, second: ReportId): number {
  const age = Date.parse(first.created_at) - Date.parse(second.created_at);
  if (age !== 0) return age;
  if (first.report_id === second.report_id) return 0;
  return first.report_id > second.report_id ? 1 : -1;
}

export function isNewer(first: ReportId, second: ReportId): boolean {
  return compareReports(first, second) > 0;
}

export function isSameReport(first: ReportId, second: ReportId): boolean {
  return compareReports(first, second) === 0;
}

/** True if a report counts for a day: it has rows of the day, or somebody accepted that it has none. */
export function counts({ rows, accepted_at }: Pick<ShownDay, 'rows' | 'accepted_at'>): boolean {
  return rows > 0 || accepted_at !== undefined;
}

/** By date. */
export type ShownDays = Readonly<Record<string, ShownDay>>;

/** The key of the Parquet file's metadata. */
export const DAYS_KEY = 'days';

const StoredDays = z.record(z.string().check(z.refine(isCalendarDate)), ShownDay);

/**
 * Reads the days of an object. A report from a time to come is refused, because it would keep its days for
 * ever.
 *
 * @param text of the metadata
 * @returns undefined if something else wrote it, or it cannot be true
 */
export function readShownDays(text: string, now = new Date()): ShownDays | undefined {
  const { data: days } = StoredDays.safeParse(parseJson(text));
  const reports = Object.values(days ?? {}).flatMap((day) => [day, day.held ?? []].flat());
  return reports.every(({ created_at }) => isPossibleTime(created_at, now)) ? days : undefined;
}

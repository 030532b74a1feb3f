import * as z from 'zod/mini';
import { parseJson } from './json.ts';

/** A report that says something about a day. */
const Version = {
  report_id: z.string(),
  /** ISO 8601, by our clock. */
  created_at: z.string(),
  request_hash: z.string(),
};

/** One day of a month's object, also a day without rows. The key-value metadata `days` of the Parquet file lists all of them. */
export const ShownDay = z.object({
  ...Version,
  rows: z.number(),
  /** The last write changed the day's rows or sums. A retry finds it here. */
  restated: z.boolean(),
  /** A newer report that has no rows for the day: the object keeps those that it shows. */
  held: z.optional(z.object(Version)),
});
export type ShownDay = z.infer<typeof ShownDay>;

/** By date. */
export type ShownDays = Readonly<Record<string, ShownDay>>;

/** A day of a report that was delivered. */
export interface OfferedDay extends Pick<ShownDay, 'report_id' | 'created_at' | 'request_hash' | 'rows'> {}

/** The key of the Parquet file's metadata. */
export const DAYS = 'days';

const Days = z.record(z.string(), ShownDay);

/** @param text of the metadata @returns undefined if something else wrote it */
export function readShownDays(text: string): ShownDays | undefined {
  return Days.safeParse(parseJson(text)).data;
}

/**
 * Says whether a report's day may replace the one that an object shows. The newest report of a request wins, whoever writes last;
 * but no report without rows takes rows away.
 *
 * - `write`: it wins · `same`: the object shows it already
 * - `keep`: the object shows a newer report
 * - `hold`: it is newer, but has no rows where the object has some · `same hold`: the object says so already
 */
export function judgeDay(
  shown: ShownDay | undefined,
  offered: OfferedDay,
  { acceptEmpty }: { readonly acceptEmpty: boolean },
): 'write' | 'same' | 'keep' | 'hold' | 'same hold' {
  if (!shown) return 'write';
  const order = compareReports(shown, offered);
  if (order === 0) return 'same';
  if (order > 0) return 'keep';
  if (acceptEmpty || offered.rows > 0 || shown.rows === 0) return 'write';
  if (!shown.held) return 'hold';
  const held = compareReports(shown.held, offered);
  return held >= 0 ? 'same hold' : 'hold';
}

export type ReportVersion = Pick<ShownDay, 'report_id' | 'created_at' | 'request_hash'>;

/** Positive if the first one is newer. A report of another request is always older. */
export function compareReports(shown: ReportVersion, offered: ReportVersion): number {
  if (shown.request_hash !== offered.request_hash) return -1;
  const age = Date.parse(shown.created_at) - Date.parse(offered.created_at);
  if (age !== 0) return age;
  if (shown.report_id === offered.report_id) return 0;
  return shown.report_id > offered.report_id ? 1 : -1;
}

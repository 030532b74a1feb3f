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

export type ReportVersion = Pick<ShownDay, 'report_id' | 'created_at' | 'request_hash'>;

/** By date. */
export type ShownDays = Readonly<Record<string, ShownDay>>;

/** The key of the Parquet file's metadata. */
export const DAYS = 'days';

const Days = z.record(z.string(), ShownDay);

/** @param text of the metadata @returns undefined if something else wrote it */
export function readShownDays(text: string): ShownDays | undefined {
  return Days.safeParse(parseJson(text)).data;
}

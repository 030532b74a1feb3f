import type { ObjectStore } from '../aws/objects.ts';
import { type DamagedMonth, type MonthEntries, readEntries, shownOn } from '../tables/month-entries.ts';
import { reasonOf } from '../tables/report.ts';
import { addDays, type DateRange, monthOf } from '../workflow/request/dates.ts';
import type { ExportRequest } from '../workflow/request/request.ts';
import type { ShownDays } from '../workflow/shown-days.ts';
import { type TableSchema, tableOf } from '../workflow/table.ts';
import { type Attempt, covers, type JudgedDay, judgeDays } from './judge.ts';
import { type ExportRecords, readRecords, type StoredDelivery } from './records.ts';
import { daysToRenew } from './runs.ts';

export type DayStore = Pick<ObjectStore, 'list' | 'getText' | 'head' | 'readEnd'>;

/** An export, and the facts by which its days are judged. */
export interface JudgedExport {
  readonly request: ExportRequest;
  /** The hash of the configured request. */
  readonly hash: string;
  /** Its table; undefined if the export has none. */
  readonly schema: TableSchema | undefined;
}

/** The entries of an account's table about some days. */
export interface ShownEntries {
  readonly shown: ShownDays;
  /** The objects that can be read. */
  readonly months: readonly MonthEntries[];
  /** Objects that cannot be read. Their days are behind. */
  readonly damaged: readonly DamagedMonth[];
}

export type StoredDay = JudgedDay<StoredDelivery>;

/**
 * Reads the records and the table of an export, and judges some of its days.
 *
 * @param days ascending
 * @param since only reports that were created since this instant count
 * @returns `unread`: the reason why the table cannot be read. The days are then judged by manifests alone
 * @throws AccessRefused, ServiceUnavailable
 */
export async function readDays(
  store: DayStore,
  judged: JudgedExport,
  days: readonly string[],
  now: Date,
  since?: Date,
): Promise<{ readonly days: StoredDay[]; readonly unread?: string }> {
  const [records, table] = await Promise.all([
    readRecords(store, judged.request, now, rangeOfDays(days)),
    tryTable(store, judged, days),
  ]);
  return {
    days: judgeStored(days, judged, records, table.entries, since),
    ...(table.unread !== undefined && { unread: table.unread }),
  };
}

/** @returns `unread`: the reason why the table cannot be read */
async function tryTable(
  store: DayStore,
  judged: JudgedExport,
  days: readonly string[],
): Promise<{ readonly entries?: ShownEntries | undefined; readonly unread?: string }> {
  try {
    return { entries: await readTable(store, judged, days) };
  } catch (error) {
    const unread = reasonOf(error);
    if (unread === undefined) throw error;
    return { unread };
  }
}

/** Reads what the table shows; undefined if the export has no table. @throws AccessRefused */
export async function readTable(
  store: Pick<ObjectStore, 'list' | 'readEnd'>,
  { request, schema }: JudgedExport,
  days: readonly string[],
): Promise<ShownEntries | undefined> {
  const table = tableOf(request);
  if (schema === undefined || table === undefined) return undefined;
  const wanted = new Set(days.map(monthOf));
  const { account } = request;
  const { months, damaged } = await readEntries(store, { table, account }, (month) => wanted.has(month));
  return { shown: shownOn(days, months), months, damaged };
}

/**
 * Judges days by records and entries that were read.
 *
 * @param since only reports that were created since this instant count
 */
export function judgeStored(
  days: readonly string[],
  { request, hash }: JudgedExport,
  { deliveries, failures, runs }: Pick<ExportRecords, 'deliveries' | 'failures' | 'runs'>,
  entries: ShownEntries | undefined,
  since?: Date,
): StoredDay[] {
  const counting = since
    ? deliveries.filter(({ created_at }) => Date.parse(created_at) >= since.getTime())
    : deliveries;
  const interrupted = runs.flatMap((run): Attempt[] => {
    const open = new Set(daysToRenew(run, deliveries));
    const at = run.began_at;
    const unfinished = run.windows.filter((window) => [...open].some((day) => covers(window, day)));
    return unfinished.map((window) => ({ ...window, at }));
  });
  const attempts = [
    ...failures.map(({ start_date, end_date, at, error, happened }) => {
      return { start_date, end_date, at, error: `${error}: ${happened}` };
    }),
    ...interrupted,
  ];
  const judged = judgeDays(days, {
    deliveries: counting,
    shown: entries?.shown,
    hash,
    timeZone: request.kind === 'report' ? (request.time_zone ?? 'UTC') : undefined,
    attempts,
  });
  return judged.map((day) => {
    const damage = entries?.damaged.find(({ month }) => month === undefined || month === monthOf(day.day));
    return day.state === 'behind' && damage ? { ...day, problem: `${damage.key} cannot be read` } : day;
  });
}

/**
 * The range from the first day to the last one.
 *
 * @param days ascending
 * @returns undefined for no days
 */
function rangeOfDays(days: readonly string[]): DateRange | undefined {
  const first = days.at(0);
  const last = days.at(-1);
  if (first === undefined || last === undefined) return undefined;
  return { start_date: first, end_date: addDays(last, 1) };
}

import { type DayStore, judgeStored, readTable, type StoredDay } from '../../../functions/days/read-days.ts';
import { runningExecution } from '../../../functions/days/runs.ts';
import type { MonthEntries } from '../../../functions/tables/month-entries.ts';
import { type DateRange, daysOf } from '../../../functions/workflow/request/dates.ts';
import type { ShownDays } from '../../../functions/workflow/shown-days.ts';
import type { ReadableBucket } from '../place/bucket.ts';
import { UsageError } from '../place/errors.ts';
import type { RecordedExport } from './read-export.ts';
import { readLedgerKnowledge } from './rebuildable.ts';

/** The days of an export that are looked at, each with its state. */
export interface JudgedRange extends DateRange {
  readonly days: readonly StoredDay[];
  /** The days that are behind, and that `rebuild` cannot add. */
  readonly without_file: ReadonlySet<string>;
  /** The table's objects that can be read. */
  readonly months: readonly MonthEntries[];
  /** The keys of the table's objects that cannot be read. */
  readonly damaged: readonly string[];
}

/**
 * Judges the days of an export that are looked at: of a report each day, of a list its newest snapshot.
 *
 * @param running executions, whose days are not interrupted
 * @throws UsageError for a query for purchases, which has no days; TableProblem, AccessRefused
 */
export async function judgeExport(
  store: DayStore & Pick<ReadableBucket, 'toFile'>,
  recordedExport: RecordedExport,
  running: readonly string[] = [],
): Promise<JudgedRange> {
  const { request, due } = recordedExport;
  const runs = recordedExport.records.runs.filter((run) => !runningExecution(run, running));
  const records = { ...recordedExport.records, runs };
  if (request.kind === 'purchases')
    throw new UsageError([`${request.name} is a query for purchases, so it has no days`]);
  const range = request.kind === 'list' ? snapshotRange(recordedExport) : recordedExport.range;
  const days = daysOf(range);
  const entries = await readTable(store, recordedExport, days);
  const since = request.kind === 'list' ? due : undefined;
  const damaged = entries?.damaged.map(({ key }) => key) ?? [];
  const judged = judgeStored(days, recordedExport, records, entries, since);
  const without_file = await findWithoutFile(store, recordedExport, judged);
  const { months = [] } = entries ?? {};
  return { ...range, days: judged, without_file, months, damaged };
}

/** Only the ledger tells that a day showed a report whose file was replaced. */
async function findWithoutFile(
  store: Pick<ReadableBucket, 'list' | 'readEnd' | 'toFile'>,
  recordedExport: RecordedExport,
  days: readonly StoredDay[],
): Promise<ReadonlySet<string>> {
  const behind = days.filter(({ state }) => state === 'behind');
  const removed = behind.filter(({ delivery }) => delivery?.removed).map(({ day }) => day);
  const isReport = recordedExport.table?.kind === 'report';
  if (behind.length === removed.length || !isReport) return new Set(removed);
  const { lost } = await readLedgerKnowledge(recordedExport, store, recordedExport.range);
  return new Set([...removed, ...behind.map(({ day }) => day).filter((day) => lost.has(day))]);
}

/** The day of the newest snapshot. */
function snapshotRange({ records: { deliveries }, range }: RecordedExport): DateRange {
  const newest = deliveries.toSorted(
    (first, second) => Date.parse(second.created_at) - Date.parse(first.created_at),
  )[0];
  if (newest) return { start_date: newest.start_date, end_date: newest.end_date };
  return range;
}

/** What a table shows of these days, if it shows anything. */
export function shownOf(days: readonly StoredDay[]): ShownDays {
  return Object.fromEntries(days.flatMap(({ day, shown }) => (shown ? [[day, shown] as const] : [])));
}

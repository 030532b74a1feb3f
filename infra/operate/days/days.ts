import { DAY_STATES, type DayState, type MissingReason } from '../../../functions/days/judge.ts';
import { type DayStore, judgeStored, readTable, type StoredDay } from '../../../functions/days/read-days.ts';
import { daysToRenew, isForgotten, type Run, runningExecution } from '../../../functions/days/runs.ts';
import type { MonthEntries } from '../../../functions/tables/month-entries.ts';
import { count } from '../../../functions/workflow/count.ts';
import {
  type DateRange,
  daysOf,
  describeDays,
  groupDays,
} from '../../../functions/workflow/request/dates.ts';
import type { ShownDays } from '../../../functions/workflow/shown-days.ts';
import type { Folder, ReadableBucket } from '../place/bucket.ts';
import { UsageError } from '../place/errors.ts';
import { commandFor } from './next-command.ts';
import type { RecordedExport } from './read-export.ts';
import { readLedgerKnowledge } from './rebuildable.ts';

export interface Days extends DateRange {
  readonly days: number;
}

/** Days in a row that have the same state for the same reason. */
export interface StateRange extends Days {
  readonly state: DayState;
  readonly reason?: MissingReason;
  /** What a failed run says, or why the table could not take the days. */
  readonly problem?: string;
  /** Of days that are behind: `rebuild` cannot add them, because their file was removed or replaced. */
  readonly file_gone?: true;
}

/** A run that did not finish, what is left of it, and the command that finishes it. */
export interface UnfinishedRun extends DateRange {
  readonly execution: string;
  /** The run of the config, such as `daily-campaigns#2`. */
  readonly run?: string;
  readonly began_at: string;
  /** Days that are missing. */
  readonly missing: number;
  /** Days that are there from reports that were created before the run began. */
  readonly not_renewed: number;
  readonly command: string;
}

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

/** The state of a day in words. */
export const STATE_WORDS: Readonly<Record<DayState, string>> = {
  missing: 'missing',
  behind: 'behind in the table',
  held: 'held',
  older: 'of an older request',
  there: 'there',
};

/** The reason why a day is missing, in words. */
const REASON_WORDS: Readonly<Record<MissingReason, string>> = {
  never: 'not delivered',
  failed: 'not delivered: a run of it failed',
  interrupted: 'not delivered: a run of it did not finish',
  partial: 'exported before the day was over',
};

/** What the state of a day means, unless something else explains it. */
const MEANINGS: Readonly<Partial<Record<DayState, string>>> = {
  behind: 'it does not show the newest report',
  held: 'the newest report has no rows, and the table keeps the rows that it had',
};

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

/**
 * Runs that did not finish, the oldest first, without the ones that Step Functions still runs. The command of
 * an account finishes all accounts of its run that are not done: an execution that was never started has none.
 */
export function findUnfinished(
  recordedExport: RecordedExport,
  running: readonly string[],
  folder: Folder,
  now: Date,
): UnfinishedRun[] {
  const { records } = recordedExport;
  return records.runs.flatMap((run) => {
    if (runningExecution(run, running) || isForgotten(run, now)) return [];
    const open = daysToRenew(run, records.deliveries);
    if (open.length === 0) return [];
    const judged = judgeStored(open, recordedExport, records, undefined);
    const missing = judged.filter(({ state }) => state === 'missing').length;
    return [
      {
        execution: run.execution,
        ...(run.run !== undefined && { run: run.run }),
        began_at: run.began_at,
        ...rangeOfRun(run),
        missing,
        not_renewed: open.length - missing,
        command: commandFor(['resume', run.parent ?? run.execution], {}, folder),
      },
    ];
  });
}

/** Such as `the run of 2025-01-01 to 2025-12-31 did not finish: 135 days are missing, 12 were not renewed`. */
export function describeUnfinished(run: UnfinishedRun): string {
  return `the run of ${describeDays(run)} did not finish: ${describeOpenDays(run)}`;
}

/** What is left of a run, such as `135 days are missing, 12 were not renewed`. */
export function describeOpenDays({ missing, not_renewed }: UnfinishedRun): string {
  const renewed = `${not_renewed === 1 ? 'was' : 'were'} not renewed`;
  if (missing === 0) return `${count(not_renewed, 'day')} ${renewed}`;
  const lacking = `${count(missing, 'day')} ${missing === 1 ? 'is' : 'are'} missing`;
  return not_renewed === 0 ? lacking : `${lacking}, ${not_renewed} ${renewed}`;
}

function rangeOfRun({ request: { start_date, end_date } }: Run): DateRange {
  return { start_date, end_date };
}

/** The document that `missing --json` prints. */
export type MissingDays = ReturnType<typeof describeDaysOf>;

export function describeDaysOf(
  { request: { account, name }, records }: RecordedExport,
  { start_date, end_date, days, without_file, damaged }: JudgedRange,
  runs: readonly UnfinishedRun[],
) {
  const countOf = (state: DayState) => days.filter((day) => day.state === state).length;
  const counts = Object.fromEntries(DAY_STATES.map((state) => [state, countOf(state)])) as Record<
    DayState,
    number
  >;
  return {
    outcome: 'ok' as const,
    account,
    name,
    start_date,
    end_date,
    days: days.length,
    /** Days. */
    counts,
    /** The days that are not there, in their order. */
    ranges: groupStates(
      days.filter(({ state }) => state !== 'there'),
      without_file,
    ),
    /** Runs that did not finish. */
    runs,
    /** The keys of manifests, failure reports, runs and the table's objects that cannot be read. */
    damaged: [...records.damaged, ...damaged] as readonly string[],
  };
}

function groupStates(days: readonly StoredDay[], withoutFile: ReadonlySet<string>): StateRange[] {
  const isGone = ({ day }: StoredDay) => withoutFile.has(day);
  const alike = Map.groupBy(days, (day) => JSON.stringify([day.state, day.reason, day.problem, isGone(day)]));
  const ranges = [...alike.values()].flatMap((group) =>
    groupDays(group.map(({ day }) => day)).map((range): StateRange => {
      const [first] = group;
      const { state = 'missing', reason, problem } = first ?? {};
      return {
        ...range,
        days: daysOf(range).length,
        state,
        ...(reason !== undefined && { reason }),
        ...(problem !== undefined && { problem }),
        ...(first && isGone(first) && { file_gone: true }),
      };
    }),
  );
  return ranges.toSorted((first, second) => first.start_date.localeCompare(second.start_date));
}

/** What the days of a range are, and why, in words. */
export function describeState({ state, reason, problem = MEANINGS[state] }: StateRange): string {
  const words = reason === undefined ? STATE_WORDS[state] : REASON_WORDS[reason];
  return problem === undefined ? words : `${words}: ${problem}`;
}

/** What a table shows of these days, if it shows anything. */
export function shownOf(days: readonly StoredDay[]): ShownDays {
  return Object.fromEntries(days.flatMap(({ day, shown }) => (shown ? [[day, shown] as const] : [])));
}

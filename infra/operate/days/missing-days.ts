import { DAY_STATES, type DayState, type MissingReason } from '../../../functions/days/judge.ts';
import type { StoredDay } from '../../../functions/days/read-days.ts';
import { type DateRange, daysOf, groupDays } from '../../../functions/workflow/request/dates.ts';
import type { JudgedRange } from './judge-export.ts';
import type { UnfinishedRun } from './open-runs.ts';
import type { RecordedExport } from './read-export.ts';

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

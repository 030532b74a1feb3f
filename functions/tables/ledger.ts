import type { DayValues } from '../workflow/day-metadata.ts';
import { daysOf } from '../workflow/request/dates.ts';
import type { Curated } from '../workflow/state-parts.ts';
import type { SavedWindow } from '../workflow/states.ts';
import type { PublishedDay } from './publish-days.ts';
import type { DayFacts, ReportFacts } from './report.ts';

export type TableSummary = NonNullable<Curated['table']>;

/** Sums up what became of the days. */
export function summarizeDays(name: string, days: readonly PublishedDay[]): TableSummary {
  const restated = days.filter(({ before }) => before !== undefined);
  const [first, last] = [restated[0]?.day, restated.at(-1)?.day];
  const kept = days.filter((day) => day.kept).length;
  return {
    name,
    days: days.length - kept,
    kept,
    restated: restated.length,
    ...(first !== undefined && { first_restated: first }),
    ...(last !== undefined && { last_restated: last }),
  };
}

/** The document `_ledger.json`: which days the report has, and what it changed in the table. */
interface Ledger {
  readonly version: '1';
  readonly account: string;
  readonly export: string;
  readonly start_date: string;
  readonly end_date: string;
  readonly report_id?: string;
  readonly execution: string;
  readonly rows: number;
  readonly sums: Readonly<Record<string, string>>;
  /** Absent if the table was not written. */
  readonly table?: TableSummary;
  /** With a table, every day of the window; otherwise the days that have rows. */
  readonly days: readonly (DayFacts & {
    /** The other values that the table showed before. */
    readonly before?: DayValues;
    /** The table keeps a newer report of this day. */
    readonly kept?: true;
    /** CurateReport stopped before this day, so the table shows what it showed before. */
    readonly written?: false;
  })[];
}

export function createLedger(
  {
    request,
    window,
    ready_id,
    execution,
  }: Pick<SavedWindow, 'request' | 'window' | 'ready_id' | 'execution'>,
  facts: ReportFacts,
  table: TableSummary | undefined,
  published: readonly PublishedDay[] | undefined,
): Ledger {
  const { rows, sums } = facts;
  return {
    version: '1',
    account: request.account,
    export: request.name,
    ...window,
    ...(ready_id !== undefined && { report_id: ready_id }),
    execution,
    rows,
    sums,
    ...(table && { table }),
    days: published ? daysOf(window).map((day) => describeDay(day, facts, published)) : facts.days,
  };
}

function describeDay(
  day: string,
  { days }: ReportFacts,
  published: readonly PublishedDay[],
): Ledger['days'][number] {
  const found = published.find((each) => each.day === day);
  if (!found) return { rows: 0, sums: {}, ...days.find((each) => each.day === day), day, written: false };
  const { kept, tookOver: _, ...values } = found;
  return { ...values, ...(kept && { kept: true }) };
}

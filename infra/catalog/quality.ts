import { parseCron } from '../../functions/workflow/cron.ts';
import type { ConfiguredExport } from '../config/exports.ts';
import { checkExpression } from '../config/schedule.ts';
import type { DocumentedTable } from './table-words.ts';

/** What the contract and the dbt project check of each report's table. */
export const ONE_REPORT = {
  name: 'one_report_per_day',
  meaning: 'All rows of an account and day are from one report',
  /** The days that break it, in SQL of DuckDB and Athena. @param table in SQL */
  breaches: (table: string) =>
    `SELECT "account", "date" FROM ${table} GROUP BY "account", "date" HAVING count(DISTINCT "report_id") > 1`,
} as const;

/** The column with the time of the newest report, snapshot or fact. */
export function loadedAt({ columns }: DocumentedTable): string {
  return columns.findLast(({ type }) => type === 'timestamp')?.name ?? '';
}

/** The age that the newest report of a table has at most if no run is late. */
export interface Freshness {
  readonly hours: number;
  /** Such as `09:00 in Europe/Berlin`. */
  readonly readyBy: string;
}

/**
 * The shortest age that a run with `ready_by` promises.
 *
 * @param exports of the config. Finds the exports that write the table among them
 */
export function freshness(
  { table }: DocumentedTable,
  exports: readonly ConfiguredExport[],
): Freshness | undefined {
  const runs = exports.filter(({ name }) => name === table).flatMap((each) => each.runs);
  const promised = runs.flatMap(({ schedule, ready_by }): Freshness[] => {
    if (!schedule?.enabled || ready_by === undefined) return [];
    const { expression, time_zone = 'UTC' } = schedule;
    return [{ hours: maxAge(expression, ready_by, time_zone), readyBy: `${ready_by} in ${time_zone}` }];
  });
  return promised.toSorted((one, other) => one.hours - other.hours)[0];
}

/** A fixed time, so that the same config always gives the same file. */
const SINCE = new Date('2026-01-01T00:00:00Z');

/** A month of daily runs, or more than two years of monthly ones. */
const CHECKED_RUNS = 32;

const HOUR = 60 * 60 * 1000;

/** From the start of a run to the time at which the next one must be there. */
function maxAge(expression: string, readyBy: string, timeZone: string): number {
  const checks = parseCron(checkExpression(expression, readyBy), timeZone).nextRuns(CHECKED_RUNS, SINCE);
  const starts = parseCron(expression, timeZone);
  const ages = checks.slice(1).map((check, at) => {
    const [start = check] = starts.previousRuns(1, checks[at] as Date);
    return (check.getTime() - start.getTime()) / HOUR;
  });
  // The day on which the clocks go back has an hour more.
  return Math.ceil(Math.max(...ages)) + 1;
}

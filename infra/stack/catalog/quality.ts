import { parseCron } from '../../../functions/decisions/cron.ts';
import type { ConfiguredExport } from '../config/exports.ts';
import { checkExpression } from '../config/schedule.ts';
import type { DocumentedTable } from './table-words.ts';

/** The rule that the contract and the dbt project check for each report's table. */
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

/** A fixed time, so that the same config always gives the same file. */
const SINCE = new Date('2026-01-01T00:00:00Z');

/** A month of daily runs, or more than two years of monthly ones. */
const CHECKED_RUNS = 32;

const HOUR = 60 * 60 * 1000;

/**
 * The shortest age, in hours, that a run with `ready_by` promises for the newest report of a table: from the
 * start of the run to the time by which the next one must be there.
 *
 * @param exports of the config. Finds the exports that write the table among them
 */
export function freshness({ table }: DocumentedTable, exports: readonly ConfiguredExport[]) {
  const runs = exports.filter(({ name }) => name === table).flatMap(({ runs }) => runs);
  const promised = runs.flatMap(({ schedule, ready_by }) => {
    if (!schedule?.enabled || ready_by === undefined) return [];
    const { expression, time_zone = 'UTC' } = schedule;
    const starts = parseCron(expression, time_zone);
    const checks = parseCron(checkExpression(expression, ready_by), time_zone);
    const times = checks.nextRuns(CHECKED_RUNS, SINCE);
    const ages = times.slice(1).map((time, at) => {
      const [start = time] = starts.previousRuns(1, times[at]);
      return (time.getTime() - start.getTime()) / HOUR;
    });
    // Of a schedule that ends before its second run, nobody expects another report.
    if (ages.length === 0) return [];
    // The day on which the clocks go back has an hour more.
    return [{ hours: Math.ceil(Math.max(...ages)) + 1, readyBy: `${ready_by} in ${time_zone}` }];
  });
  return promised.toSorted((first, second) => first.hours - second.hours)[0];
}

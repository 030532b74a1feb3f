import { parseCron } from '../../functions/workflow/cron.ts';
import type { ConfiguredExport } from '../config/exports.ts';
import { checkExpression } from '../config/schedule.ts';
import type { DocumentedTable } from './table-words.ts';

/** A statement about the rows of a table. */
export interface QualityRule {
  readonly name: string;
  readonly meaning: string;
  /** `warning`: the platform decides, and the table counts all rows. */
  readonly severity: 'error' | 'warning';
  /** The days or keys that break it, in SQL of DuckDB and Athena. @param table in SQL */
  readonly breaches: (table: string) => string;
}

/** The contract and the dbt project check the same rules. */
export function qualityRules({ kind, key }: DocumentedTable): QualityRule[] {
  if (kind !== 'report') return [];
  const select = (columns: readonly string[], having: string) => (table: string) => {
    const names = columns.map((name) => `"${name}"`).join(', ');
    return `SELECT ${names} FROM ${table} GROUP BY ${names} HAVING ${having}`;
  };
  return [
    {
      name: 'one_report_per_day',
      meaning: 'All rows of an account and day are from one report',
      severity: 'error',
      breaches: select(['account', 'date'], 'count(DISTINCT "report_id") > 1'),
    },
    {
      name: 'one_row_per_key',
      meaning: `No two rows have the same ${key.join(', ')}`,
      severity: 'warning',
      breaches: select(key, 'count(*) > 1'),
    },
  ];
}

/** The column with the time of the newest report, snapshot or fact. */
export function loadedAt({ columns }: DocumentedTable): string {
  return columns.findLast(({ type }) => type === 'timestamp')?.name ?? '';
}

/** A time of day by which a run must have filled the table. */
export interface ReadyTime {
  /** HH:MM, in `time_zone`. */
  readonly ready_by: string;
  readonly time_zone: string;
  /** The cron of its starts. */
  readonly expression: string;
  /** The age that the newest report has at most, in hours, if no run is late. */
  readonly max_age: number;
}

/** @param exports of the config; those that write the table are found among them */
export function readyTimes({ table }: DocumentedTable, exports: readonly ConfiguredExport[]): ReadyTime[] {
  const runs = exports.filter(({ name }) => name === table).flatMap((each) => each.runs);
  const times = runs.flatMap(({ schedule, ready_by }): ReadyTime[] => {
    if (!schedule?.enabled || ready_by === undefined) return [];
    const { expression, time_zone = 'UTC' } = schedule;
    return [{ ready_by, time_zone, expression, max_age: maxAge(expression, ready_by, time_zone) }];
  });
  // Accounts share their runs.
  return [...new Map(times.map((time) => [JSON.stringify(time), time])).values()];
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

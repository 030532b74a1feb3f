import { literal, type Row } from '../../functions/tables/database.ts';
import { addDays, daysBetween } from '../../functions/workflow/request/dates.ts';
import type { ShownDays } from '../../functions/workflow/shown-days.ts';
import { type SumOverTime, startOf, sumOf } from '../config/queries.ts';
import type { PagePoint, PageSums } from './contents.ts';

export type Query = (sql: string) => Promise<readonly Row[]>;

/** Of a chart. With more days, a point is a week or a month. */
const MAX_POINTS = 100;

/**
 * Sums up all accounts of a table in one query. Each account has points of its own.
 *
 * @param files of the table, as a list of SQL
 * @param shown by account
 */
export async function readSums(
  query: Query,
  files: string,
  wanted: SumOverTime['metrics'],
  shown: ReadonlyMap<string, ShownDays>,
): Promise<Map<string, PageSums>> {
  // An object that was written before a column was added has NULL there.
  const source = `read_parquet(${files}, union_by_name = true)`;
  const columns = new Set((await query(`DESCRIBE FROM ${source}`)).map(({ column_name }) => column_name));
  const metrics = wanted.filter(({ name }) => columns.has(name));
  const times = new Map([...shown].map(([account, days]) => [account, divide(Object.keys(days).sort())]));
  if (metrics.length === 0 || times.size === 0) return new Map();
  const units = [...times].map(([account, { unit }]) => `WHEN ${literal(account)} THEN ${literal(unit)}`);
  const start = startOf(`CASE account ${units.join(' ')} END`);
  const rows = await query(
    `SELECT account, CAST(${start} AS VARCHAR) AS start, ${metrics.map((metric, at) => `CAST(${sumOf(metric)} AS VARCHAR) AS m${at}`)}
     FROM ${source} GROUP BY GROUPING SETS ((account, ${start}), (account))`,
  );
  const sums = [...times].map(([account, time]) => {
    const own = new Map(rows.filter((row) => row.account === account).map((row) => [row.start, row]));
    const found = metrics.flatMap(({ name }, at) => {
      const { [`m${at}`]: total = null } = own.get(null) ?? {};
      // Another account's column.
      if (total === null) return [];
      const values = time.points.map(({ start, known }) => {
        const { [`m${at}`]: value = known > 0 ? '0' : null } = own.get(start) ?? {};
        return value === null ? null : String(value);
      });
      return [{ name, values, total: String(total) }];
    });
    return [account, { ...time, metrics: found }] as const;
  });
  return new Map(sums.filter(([, { metrics }]) => metrics.length > 0));
}

/** @param days ascending */
function divide(days: readonly string[]): Pick<PageSums, 'unit' | 'points'> {
  const [first = '', last = ''] = [days[0], days.at(-1)];
  const span = days.length === 0 ? 0 : daysBetween(first, last) + 1;
  const unit = span <= MAX_POINTS ? 'day' : span <= 7 * MAX_POINTS ? 'week' : 'month';
  const known = Map.groupBy(days, (day) => toStart(day, unit));
  const points: PagePoint[] = [];
  for (let start = toStart(first, unit), next = start; start <= last && span > 0; start = next) {
    next = toStart(addDays(start, DAYS[unit]), unit);
    points.push({ start, known: known.get(start)?.length ?? 0, all: daysBetween(start, next) });
  }
  return { unit, points };
}

/** From the first day of a unit, these lead into the next one. */
const DAYS = { day: 1, week: 7, month: 31 } as const;

/** See {@link startOf}. */
function toStart(date: string, unit: PageSums['unit']): string {
  if (unit === 'month') return `${date.slice(0, 'YYYY-MM'.length)}-01`;
  return unit === 'day' ? date : addDays(date, -((new Date(date).getUTCDay() + 6) % 7));
}

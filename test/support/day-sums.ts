import { globSync } from 'node:fs';
import { join } from 'node:path';
import { readShownDays, type ShownDays } from '../../functions/workflow/shown-days.ts';
import { withDuckDb } from './ledger-rows.ts';

/** A day's number of rows, and the exact sum of each metric in millionths. */
export interface DaySums {
  readonly rows: number;
  readonly sums: Readonly<Record<string, bigint>>;
}

/** Adds up the rows of a JSON report per day by other code than CurateReport's. A metric may be absent. */
export function sumDays(json: string, metrics: readonly string[]): Map<string, DaySums> {
  const rows = parseKeepingDigits(json) as Record<string, unknown>[];
  const byDay = Map.groupBy(rows, ({ date }) => String(date));
  const sumOf = (day: typeof rows, metric: string) =>
    day.reduce((sum, row) => sum + millionths(String(row[metric] ?? '0')), 0n);
  return new Map(
    [...byDay].map(([date, day]) => [
      date,
      { rows: day.length, sums: Object.fromEntries(metrics.map((metric) => [metric, sumOf(day, metric)])) },
    ]),
  );
}

/** @param number in decimal notation, with at most six decimals @throws RangeError */
export function millionths(number: string): bigint {
  const [, sign = '', whole = '', fraction = ''] = number.match(/^(-?)(\d+)(?:\.(\d{1,6}))?$/) ?? [];
  if (whole === '') throw new RangeError(`${number} is no decimal number`);
  return BigInt(`${sign}${whole}${fraction.padEnd(6, '0')}`);
}

/** Numbers become texts: 0.1 is no sum of powers of two. */
function parseKeepingDigits(json: string): unknown {
  const revive = (_: string, value: unknown, context?: { source?: string }) =>
    typeof value === 'number' ? context?.source : value;
  return JSON.parse(json, revive);
}

/** The days that the objects of a table list. @param folder such as `out/<bucket>/tables/daily` */
export async function shownDays(folder: string, account: string): Promise<ShownDays> {
  const files = monthsIn(folder, account);
  if (files.length === 0) return {};
  const rows = await query(
    `SELECT decode(value) FROM parquet_kv_metadata([${files}]) WHERE decode(key) = 'days'`,
  );
  return Object.assign({}, ...rows.map(([text]) => readShownDays(String(text))));
}

/**
 * Reads a table with DuckDB, as a person would: the rows and the sum of each metric per day. A day that the
 * table lists without rows has zeros.
 */
export async function queryDays(folder: string, account: string, metrics: readonly string[]) {
  const none = { rows: 0, sums: Object.fromEntries(metrics.map((metric) => [metric, 0n])) };
  const days = new Map<string, DaySums>(
    Object.keys(await shownDays(folder, account)).map((day) => [day, none]),
  );
  if (days.size === 0) return days;
  const sums = metrics.map((metric) => `coalesce(sum("${metric}"), 0)::DECIMAL(38, 6)::VARCHAR`);
  const rows = await query(
    `SELECT ${['date::VARCHAR', 'count(*)::VARCHAR', ...sums].join()}
     FROM read_parquet([${monthsIn(folder, account)}], union_by_name = true)
     WHERE account = '${account}' GROUP BY date`,
  );
  for (const [date = '', count, ...values] of rows) {
    const named = metrics.map((metric, index) => [metric, millionths(values[index] ?? '')]);
    days.set(date, { rows: Number(count), sums: Object.fromEntries(named) });
  }
  return days;
}

/** As literals of SQL. */
function monthsIn(folder: string, account: string): string[] {
  const names = globSync(`${account}.*parquet`, { cwd: folder });
  return names.sort().map((name) => `'${join(folder, name)}'`);
}

function query(sql: string): Promise<string[][]> {
  return withDuckDb(async (connection) =>
    (await connection.runAndReadAll(sql)).getRows().map((row) => row.map(String)),
  );
}

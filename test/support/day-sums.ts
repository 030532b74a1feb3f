import { globSync } from 'node:fs';
import { DuckDBInstance } from '@duckdb/node-api';

/** A day's number of rows, and the exact sum of each metric in millionths. */
export interface DaySums {
  readonly rows: number;
  readonly sums: Readonly<Record<string, bigint>>;
}

/** Adds up the rows of a JSON report per day, by other code than CurateReport's: JSON.parse and big integers. */
export function sumDays(json: string, metrics: readonly string[]): Map<string, DaySums> {
  const rows = parseKeepingDigits(json) as Record<string, unknown>[];
  const byDay = Map.groupBy(rows, ({ date }) => String(date));
  const sumOf = (day: typeof rows, metric: string) =>
    day.reduce((sum, row) => sum + millionths(String(row[metric])), 0n);
  return new Map(
    [...byDay].map(([date, day]) => [
      date,
      {
        rows: day.length,
        sums: Object.fromEntries(metrics.map((metric) => [metric, sumOf(day, metric)])),
      },
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

/**
 * Reads a table with DuckDB, as a person would: the rows and the sum of each metric per day. A day whose object has no rows
 * has zeros.
 *
 * @param folder of the table, such as `out/<bucket>/tables/daily`
 */
export async function queryDays(
  folder: string,
  account: string,
  metrics: readonly string[],
): Promise<Map<string, DaySums>> {
  const objects = globSync(`account=${account}/date=*/data.parquet`, { cwd: folder });
  const none = { rows: 0, sums: Object.fromEntries(metrics.map((metric) => [metric, 0n])) };
  const days = new Map<string, DaySums>(objects.sort().map((key) => [key.split(/date=|\//)[2] ?? '', none]));
  if (days.size === 0) return days;
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' });
  try {
    const connection = await instance.connect();
    const sums = metrics.map((metric) => `sum("${metric}")::DECIMAL(38, 6)::VARCHAR`);
    const result = await connection.runAndReadAll(
      `SELECT ${['date::VARCHAR', 'count(*)::VARCHAR', ...sums].join()}
       FROM read_parquet('${folder}/**/*.parquet', hive_partitioning = true, union_by_name = true,
                         hive_types = {date: DATE, account: VARCHAR})
       WHERE account = '${account}' GROUP BY date`,
    );
    for (const [date, rows, ...values] of result.getRows().map((row) => row.map(String))) {
      const named = metrics.map((metric, index) => [metric, millionths(values[index] ?? '')]);
      days.set(date ?? '', { rows: Number(rows), sums: Object.fromEntries(named) });
    }
    return days;
  } finally {
    instance.closeSync();
  }
}

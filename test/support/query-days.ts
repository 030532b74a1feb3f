import { globSync } from 'node:fs';
import { DuckDBInstance } from '@duckdb/node-api';
import { type DaySums, millionths } from './day-sums.ts';

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

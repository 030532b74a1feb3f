import { globSync, mkdtempDisposableSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { scaledClock } from '../../infra/local/clock.ts';
import { startSandbox } from '../../infra/sandbox/sandbox.ts';
import { formatTable, median, withRatio } from './figures.ts';
import { runLocally } from './local.ts';

/** Two years of three accounts: 17 windows of each. */
const YEARS = { start_date: '2024-01-01', end_date: '2026-01-01' };
const ACCOUNTS = ['one', 'two', 'three'];

/** A row per day and campaign. */
const REPORT = {
  metrics: ['spend', 'impressions', 'number_of_purchases'],
  dimensions: ['campaign_id', 'campaign_name'],
};

/** Nothing but waits is shorter. */
const SPEED = 200;

/** Queries of each checkout's table. The bench tells their median. */
const QUERIES = 7;

/**
 * Measures a backfill into the tables, and a query of them. Each checkout exports the same report for three accounts.
 *
 * @param checkouts their node_modules must be installed
 * @returns a table; the ratios are those to the last checkout
 */
export async function benchTables(checkouts: readonly string[]): Promise<string> {
  using folders = new DisposableStack();
  const rows = checkouts.map((checkout) => ({
    checkout,
    folder: folders.use(mkdtempDisposableSync(join(tmpdir(), 'bench-tables-'))).path,
    cpu: [] as number[],
    queries: [] as number[],
  }));
  for (const account of ACCOUNTS) {
    for (const { checkout, folder, cpu } of rows) {
      const clock = scaledClock(SPEED);
      await using sandbox = await startSandbox({ now: clock.now });
      const request = { account, ...YEARS, ...REPORT };
      cpu.push((await runLocally(checkout, sandbox, request, { folder, speed: SPEED })).cpu);
    }
  }
  for (let round = 0; round < QUERIES; round++) {
    for (const { folder, queries } of rows) queries.push(await timeQuery(join(folder, 'out')));
  }
  const figures = rows.map(({ checkout, folder, cpu, queries }) => ({
    checkout,
    objects: globSync('out/*/tables/bench/**/*.parquet', { cwd: folder }).length,
    cpu: median(cpu),
    milliseconds: median(queries),
  }));
  const base = figures.at(-1);
  const lines = figures.map(({ checkout, objects, cpu, milliseconds }) => [
    checkout,
    withRatio(objects, base?.objects, 0),
    withRatio(cpu, base?.cpu, 1, ' s'),
    withRatio(milliseconds, base?.milliseconds, 0, ' ms'),
  ]);
  const head = ['', 'objects', 'CPU of two years, one account', 'a sum per month over all'];
  return formatTable([head, ...lines], 1);
}

/** In ms, in a new database each time: DuckDB remembers footers. */
async function timeQuery(out: string): Promise<number> {
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' });
  const connection = await instance.connect();
  const started = performance.now();
  // An earlier checkout has a folder for each account and day.
  const files = `read_parquet('${out}/*/tables/bench/**/*.parquet', hive_partitioning = true)`;
  await connection.runAndReadAll(
    `SELECT account, date_trunc('month', CAST(date AS DATE)) AS month, sum(spend) FROM ${files} GROUP BY ALL`,
  );
  const milliseconds = performance.now() - started;
  connection.closeSync();
  instance.closeSync();
  return milliseconds;
}

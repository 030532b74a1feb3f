import { globSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runLocalQuery } from '../../infra/operate/cli/query/local.ts';
import { startDeployedTables } from '../infra/operate/cli/support.ts';
import { runCommand } from '../support/cli.ts';
import { startFastWorkflow } from '../support/run-export.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import type { Workflow } from '../support/workflow.ts';
import { installPython } from './python.ts';

const python = installPython();

const ended = new AsyncDisposableStack();
let workflow: Workflow;

beforeAll(async () => {
  workflow = ended.use(await startFastWorkflow({ sandbox: { report: { secondsToReady: 0 } } }));
  const fields = { name: 'daily-campaigns', metrics: ['spend', 'impressions', 'number_of_purchases'] };
  const window = { start_date: '2026-10-01', end_date: '2026-10-04' };
  const dimensions = ['campaign_id', 'campaign_name'];
  for (const request of [
    { ...fields, dimensions, ...window },
    { ...fields, ...window, name: 'totals' },
    { kind: 'list', name: 'campaigns', resource: 'campaigns' },
  ])
    expect(await workflow.run(workflow.request(request))).toMatchObject({ status: 'SUCCEEDED' });
});

afterAll(() => ended.disposeAsync());

const local = () => ['--local', '--out', workflow.out];

async function writeContract(options: readonly string[]): Promise<string> {
  const { status, stdout } = await runCommand(['contract', ...options]);
  expect(status).toBe(0);
  const file = join(temporaryDirectory(), 'ads.odcs.yaml');
  await writeFile(file, stdout);
  return file;
}

describe('the contract', () => {
  it('of the deployed tables is one of the standard', async () => {
    await startDeployedTables();
    await python(['check_contract.py', await writeContract([])]);
  });

  it('of local tables is one, and its checks hold for them', async () => {
    const file = await writeContract(local());
    const checks = JSON.parse(await python(['check_contract.py', file, '--test'])) as [string, string][];
    const passed = new Set(checks.flatMap(([kind, result]) => (result === 'passed' ? [kind] : [])));
    expect([...passed].sort()).toEqual([
      'field_is_present',
      'field_required',
      'model_quality_sql',
      'servicelevel_freshness',
    ]);
    // The CLI does not read the types of Parquet files yet.
    const others = checks.filter(([, result]) => result !== 'passed');
    expect(others.filter(([kind]) => kind !== 'field_type')).toEqual([]);
  });
});

describe('the dbt project', () => {
  async function writeProject(options: readonly string[]) {
    const cwd = join(temporaryDirectory(), 'ads');
    expect(await runCommand(['dbt', cwd, ...options])).toMatchObject({ status: 0 });
    const dbt = (...args: string[]) =>
      python(['-m', 'dbt.cli.main', '--no-use-colors', '--warn-error', ...args], { cwd });
    return { cwd, dbt };
  }

  it('builds on local tables, and its shared report counts each account once', async () => {
    const { cwd, dbt } = await writeProject(local());
    // Four models, a rule and three sums of each report, and four columns of a report and two of a list
    // without NULL.
    expect(await dbt('build')).toContain('PASS=22 WARN=0 ERROR=0 SKIP=0');
    expect(await dbt('source', 'freshness')).toMatch(/PASS freshness of exports\.daily_campaigns/);
    const report = 'ad_report_export__campaign_report';
    const program = `import duckdb; print(*duckdb.connect("warehouse.duckdb").sql(
      "SELECT sum(spend), sum(impressions)::BIGINT, sum(conversions)::BIGINT FROM ${report}").fetchone())`;
    const sql = 'SELECT sum(spend), sum(impressions), sum(number_of_purchases) FROM daily_campaigns';
    const { rows } = await runLocalQuery(sql, workflow.out);
    const [sums] = (await Array.fromAsync(rows)).flat();
    expect((await python(['-c', program], { cwd })).trim()).toBe(sums?.join(' '));
  });

  const TABLE = { table: 'daily_campaigns' };
  const OF_ACCOUNTS = { ...TABLE, account_column: 'account' };
  const TWICE = 'CROSS JOIN (VALUES (1), (2)) AS copies (number)';

  interface Mart {
    readonly title: string;
    /** A query of `staging`. */
    readonly sql: string;
    /** The column that is tested. Default: spend. */
    readonly column?: string;
    /** Arguments of the test. Default: the table. */
    readonly args?: Readonly<Record<string, unknown>>;
  }

  /** Writes marts beside the staging models, each with one test in its YAML. */
  async function writeMarts(marts: readonly Mart[]) {
    const { cwd, dbt } = await writeProject(local());
    await mkdir(join(cwd, 'models/marts'));
    for (const [at, { sql, column = 'spend', args = TABLE }] of marts.entries()) {
      const model = `WITH staging AS (SELECT * FROM {{ ref('stg_daily_campaigns') }}) ${sql}`;
      await writeFile(join(cwd, `models/marts/mart_${at}.sql`), model);
      const test = `agrees_with_ledger: {arguments: ${JSON.stringify(args)}}`;
      const yaml = `models:\n  - name: mart_${at}\n    columns: [{name: ${column}, data_tests: [{${test}}]}]\n`;
      await writeFile(join(cwd, `models/marts/mart_${at}.yml`), yaml);
    }
    return { cwd, dbt };
  }

  /** Builds marts. @returns how the test of each ended, by its title */
  async function testMarts(marts: readonly Mart[]): Promise<Readonly<Record<string, string>>> {
    const { cwd, dbt } = await writeMarts(marts);
    // A test that fails makes dbt fail.
    await dbt('build').catch(() => undefined);
    const { results } = JSON.parse(readFileSync(join(cwd, 'target/run_results.json'), 'utf8'));
    const tests = (results as { unique_id: string; status: string }[]).flatMap(({ unique_id, status }) => {
      const [, at] = /agrees_with_ledger_mart_(\d+)/.exec(unique_id) ?? [];
      return at === undefined ? [] : [[marts[Number(at)]?.title, status]];
    });
    return Object.fromEntries(tests);
  }

  it('tests a mart with the same sums as right', async () => {
    const marts: readonly Mart[] = [
      { title: 'per day', sql: 'SELECT date, sum(spend) AS spend FROM staging GROUP BY date' },
      {
        title: 'per account',
        sql: 'SELECT date, account, sum(spend) AS spend FROM staging GROUP BY ALL',
        args: OF_ACCOUNTS,
      },
      { title: 'rounded', sql: 'SELECT date, round(spend, 2) AS spend FROM staging' },
      { title: 'of doubles', sql: 'SELECT date, sum(spend::DOUBLE) AS spend FROM staging GROUP BY date' },
      {
        title: 'with rows without a value',
        sql: 'SELECT date, round(spend, 1) AS spend FROM staging UNION ALL SELECT date, NULL FROM staging',
      },
      {
        title: 'of other names',
        sql: 'SELECT date AS day, spend AS cost FROM staging',
        column: 'cost',
        args: { ...TABLE, metric: 'spend', date_column: 'day' },
      },
      {
        title: 'within the tolerance',
        sql: 'SELECT date, spend * 1.009 AS spend FROM staging',
        args: { ...TABLE, tolerance: 0.01 },
      },
      {
        title: 'of 32-bit integers whose sum needs more',
        sql: `SELECT date, (if(number = 1, 2000000000, -2000000000) + impressions)::INTEGER AS impressions
          FROM staging ${TWICE} UNION ALL SELECT date, (-impressions)::INTEGER FROM staging`,
        column: 'impressions',
      },
    ];
    const expected = marts.map(({ title }) => [title, 'pass']);
    expect(await testMarts(marts)).toEqual(Object.fromEntries(expected));
  });

  it('tests a mart with other sums as wrong', async () => {
    const marts: readonly Mart[] = [
      { title: 'doubled', sql: 'SELECT date, 2 * spend AS spend FROM staging' },
      {
        title: 'rounded to whole numbers',
        sql: 'SELECT date, sum(spend)::INTEGER AS spend FROM staging GROUP BY date',
      },
      { title: 'with a day missing', sql: "SELECT date, spend FROM staging WHERE date <> '2026-10-02'" },
      {
        title: 'with all decimals of the table, and little too much',
        sql: "SELECT date, spend FROM staging UNION ALL SELECT DATE '2026-10-01', 0.000003",
      },
      { title: 'without rows', sql: 'SELECT date, spend FROM staging WHERE false' },
      {
        title: 'with one value too many among many without one',
        sql: `SELECT date, round(spend, 1) AS spend FROM staging UNION ALL SELECT date, 5 FROM staging
          UNION ALL SELECT date, NULL FROM staging, range(1000)`,
      },
      {
        title: 'with an unknown account',
        sql: "SELECT date, account, spend FROM staging UNION ALL SELECT DATE '2026-10-01', 'initech', 1",
        args: OF_ACCOUNTS,
      },
      {
        title: 'of 32-bit integers whose sum is another',
        sql: `SELECT date, (impressions + 2000000000)::INTEGER AS impressions FROM staging ${TWICE}`,
        column: 'impressions',
      },
    ];
    const expected = marts.map(({ title }) => [title, 'fail']);
    expect(await testMarts(marts)).toEqual(Object.fromEntries(expected));
  });

  it.each([
    {
      what: 'table',
      args: { table: 'dayly_campaigns' },
      message: 'there is no table dayly_campaigns; the tables are: daily_campaigns, totals',
    },
    {
      what: 'metric',
      args: { ...TABLE, metric: 'spned' },
      message:
        'the table daily_campaigns has no metric spned; its metrics are: spend, impressions, number_of_purchases',
    },
    {
      what: 'tolerance',
      args: { ...TABLE, tolerance: 1 },
      message: 'tolerance is 1; it must be from 0 to below 1',
    },
  ])('does not compile a test with a wrong $what, and says what is right', async ({ args, message }) => {
    const { dbt } = await writeMarts([{ title: 'wrong', sql: 'SELECT * FROM staging', args }]);
    await expect(dbt('compile')).rejects.toThrow(`agrees_with_ledger: ${message}`);
  });

  it('compiles for Athena to SQL that parses as Athena and Trino', async () => {
    await startDeployedTables();
    const { cwd, dbt } = await writeProject([]);
    await dbt('compile', '--no-introspect', '--no-populate-cache');
    const files = globSync('target/compiled/**/*.sql', { cwd }).map((file) => join(cwd, file));
    expect(files.map((file) => basename(file))).toContain('ad_report_export__campaign_report.sql');
    const queries = files.map((file) => readFileSync(file, 'utf8'));
    await python(['parse_queries.py'], { stdin: JSON.stringify(queries) });
  });
});

import { globSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
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
    // Four models, a rule of each report, and four columns of a report and two of a list without NULL.
    expect(await dbt('build')).toContain('PASS=16 WARN=0 ERROR=0 SKIP=0');
    expect(await dbt('source', 'freshness')).toMatch(/PASS freshness of exports\.daily_campaigns/);
    const report = 'ad_report_export__campaign_report';
    const program = `import duckdb; print(*duckdb.connect("warehouse.duckdb").sql(
      "SELECT sum(spend), sum(impressions)::BIGINT, sum(conversions)::BIGINT FROM ${report}").fetchone())`;
    const sql = 'SELECT sum(spend), sum(impressions), sum(number_of_purchases) FROM daily_campaigns';
    const { rows } = await runLocalQuery(sql, workflow.out);
    const [sums] = (await Array.fromAsync(rows)).flat();
    expect((await python(['-c', program], { cwd })).trim()).toBe(sums?.join(' '));
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

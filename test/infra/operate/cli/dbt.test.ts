import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { runCommand } from '../../../support/cli.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { deliver, openFolder, rebuild } from '../days/deliveries.ts';
import { startDeployedTables } from './support.ts';

beforeEach(startDeployedTables);

async function writeProject(dir = join(temporaryDirectory(), 'ads')) {
  const end = await runCommand(['dbt', dir]);
  return { ...end, dir, read: (path: string) => readFileSync(join(dir, path), 'utf8') };
}

const SHARED = 'models/ad_report_export__campaign_report.sql';

describe('dbt', () => {
  it('writes a project for the tables of cdk.json in Athena', async () => {
    const { status, dir, read } = await writeProject();
    expect(status).toBe(0);
    expect(readdirSync(join(dir, 'models')).sort()).toEqual([
      'ad_report_export__campaign_report.sql',
      'models.yml',
      'sources.yml',
      'stg_daily_campaigns.sql',
      'stg_monthly_totals.sql',
    ]);
    expect(parse(read('profiles.yml')).ad_report_export.outputs.dev).toMatchObject({
      type: 'athena',
      region_name: 'eu-west-1',
      work_group: 'ads-group',
      schema: 'ads_dbt',
    });
    const [source] = parse(read('models/sources.yml')).sources;
    expect(source).toMatchObject({ database: 'awsdatacatalog', schema: 'ads' });
    expect(source.tables.map(({ name }: { name: string }) => name)).toEqual([
      'daily_campaigns',
      'monthly_totals',
      'ledger',
    ]);
    expect(source.tables[0].config).toEqual({
      loaded_at_field: 'report_created_at',
      freshness: { warn_after: { count: 28, period: 'hour' } },
    });
    expect(read('models/stg_daily_campaigns.sql')).toContain(
      "FROM {{ source('exports', 'daily_campaigns') }}",
    );
  });

  it('takes each account of the shared report from one table, and has NULL for what no column has', async () => {
    const { read } = await writeProject();
    const [daily = '', monthly = ''] = read(SHARED).split('UNION ALL');
    expect(daily).toContain('WHERE "account" IN (\'acme\')');
    expect(daily).toContain('CAST(sum("number_of_purchases") AS double) AS conversions');
    expect(daily).toContain('coalesce("advertiser_id", "account") AS account_id');
    expect(monthly).toContain('WHERE "account" IN (\'globex\')');
    expect(monthly).toContain('CAST(NULL AS varchar) AS campaign_id');
    expect(monthly).toContain('"account" AS account_id');
  });

  it('writes its own files again, removes those of a table that is gone, and leaves others', async () => {
    const { dir, read } = await writeProject();
    const before = read(SHARED);
    writeFileSync(join(dir, 'models/stg_gone.sql'), before);
    writeFileSync(join(dir, 'models/mine.sql'), 'SELECT 1');
    expect(await writeProject(dir)).toMatchObject({ status: 0 });
    expect(readdirSync(join(dir, 'models'))).toContain('mine.sql');
    expect(readdirSync(join(dir, 'models'))).not.toContain('stg_gone.sql');
    expect(read(SHARED)).toBe(before);
  });

  it('names the platform of the folder, with --local', async () => {
    const folder = await openFolder();
    await deliver(folder, { days: [1, 1], created: 1 });
    const [dir, place] = [join(temporaryDirectory(), 'ads'), ['--local', '--out', folder.out]];
    await rebuild(['daily', ...place]);
    await runCommand(['dbt', dir, ...place]);
    expect(readFileSync(join(dir, 'dbt_project.yml'), 'utf8')).toContain('platform: 127.0.0.1\n');
  });

  it('tests each sum of a report with the ledger, by a test that any model can have', async () => {
    const { read } = await writeProject();
    const [daily] = parse(read('models/models.yml')).models;
    const args = { table: 'daily_campaigns', account_column: 'account' };
    expect(daily.columns).toEqual(
      ['spend', 'impressions', 'number_of_purchases'].map((name) => ({
        name,
        data_tests: [{ agrees_with_ledger: { arguments: args } }],
      })),
    );
    const macro = read('macros/agrees_with_ledger.sql');
    expect(macro).toContain("FROM {{ source('exports', 'ledger') }}");
    expect(macro).not.toContain('FROM "ledger"');
  });

  it('refuses a folder with files that is no dbt project, such as this repository', async () => {
    const dir = temporaryDirectory();
    mkdirSync(join(dir, '.git'));
    expect(await writeProject(dir)).toMatchObject({ status: 0 });
    const sources = temporaryDirectory();
    writeFileSync(join(sources, 'package.json'), '{}');
    const { status, stderr } = await runCommand(['dbt', '.'], '', sources);
    expect({ status, stderr }).toEqual({
      status: 2,
      stderr:
        'error: . has files, and no dbt_project.yml: name a new folder, or one that this command wrote\n',
    });
    expect(readdirSync(sources)).toEqual(['package.json']);
  });

  it('leaves out a ledger that the folder does not have, with --local', async () => {
    const folder = await openFolder();
    await deliver(folder, { days: [1, 1], created: 1 });
    const [dir, place] = [join(temporaryDirectory(), 'ads'), ['--local', '--out', folder.out]];
    await rebuild(['daily', ...place]);
    rmSync(join(folder.out, 'bucket/tables/ledger'), { recursive: true });
    expect(await runCommand(['dbt', dir, ...place])).toMatchObject({ status: 0 });
    const [source] = parse(readFileSync(join(dir, 'models/sources.yml'), 'utf8')).sources;
    expect(source.tables.map(({ name }: { name: string }) => name)).toEqual(['daily']);
    expect(existsSync(join(dir, 'macros'))).toBe(false);
    expect(parse(readFileSync(join(dir, 'models/models.yml'), 'utf8')).models[0].columns).toBeUndefined();
    expect(source.tables[0].config.external_location).toMatch(/^read_parquet\('.*', union_by_name = true\)$/);
  });

  it('names a folder that cannot be written', async () => {
    const file = join(temporaryDirectory(), 'file');
    writeFileSync(file, '');
    expect(await runCommand(['dbt', file])).toMatchObject({
      status: 2,
      stderr: `error: ${file} cannot be written (EEXIST)\n`,
    });
  });

  it('writes nothing if a file of its name is not its own', async () => {
    const dir = temporaryDirectory();
    mkdirSync(join(dir, 'models'));
    mkdirSync(join(dir, 'dbt_project.yml'));
    writeFileSync(join(dir, 'models/models.yml'), 'models: []\n');
    const { status, stderr, read } = await writeProject(dir);
    expect({ status, files: readdirSync(dir) }).toEqual({ status: 2, files: ['dbt_project.yml', 'models'] });
    expect(stderr).toMatch(/dbt_project\.yml is of another project: name another folder$/m);
    expect(stderr).toMatch(/models\/models\.yml is not this command's: remove it, or name another folder$/m);
    expect(read('models/models.yml')).toBe('models: []\n');
  });
});

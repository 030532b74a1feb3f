import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runCommand } from '../../../../support/cli.ts';
import { writeParquet } from '../../../../support/ledger-rows.ts';
import { temporaryDirectory } from '../../../../support/temporary-directory.ts';
import { BUCKET, deliver, openFolder, rebuild } from '../../days/deliveries.ts';

const SQL = 'SELECT date, sum(spend) AS spend FROM daily GROUP BY date';

/** A table of two days of one account, with 10 a day. */
async function openTable() {
  const folder = await openFolder();
  const place = ['daily', '--local', '--out', folder.out];
  await deliver(folder, { days: [1, 2], created: 10 });
  await rebuild(place);
  const check = async (...options: readonly string[]) => {
    const { status, stdout, stderr } = await runCommand(['check', ...place, ...options, '--json']);
    return { status, stderr, ...JSON.parse(stdout) };
  };
  const text = (...options: readonly string[]) => runCommand(['check', ...place, ...options]);
  return { ...folder, place, check, text };
}

describe('check --sql', () => {
  it('says in words that all days agree', async () => {
    const { text } = await openTable();
    const { status, stdout } = await text('--sql', SQL);
    expect({ status, stdout }).toEqual({
      status: 0,
      stdout: 'daily  2026-10-01 to 2026-10-02  spend: 2 days agree, 0 differ\n',
    });
  });

  it('says in words what differs, with both values and the kind', async () => {
    const { text } = await openTable();
    const { status, stdout } = await text(
      '--sql',
      `SELECT date, 2 * spend AS spend FROM daily WHERE day(date) = 2`,
    );
    expect({ status, lines: stdout.trimEnd().split('\n') }).toEqual({
      status: 1,
      lines: [
        'daily  2026-10-02  spend: 0 days agree, 1 differs',
        '  2026-10-02  spend: mart 20, table 10, difference 10',
        '    2 times the table: a join may meet each row 2 times',
      ],
    });
  });

  it('ends with 1 if the mart has an account that does not have the export', async () => {
    const { check } = await openTable();
    const withInitech = `SELECT date, account, spend FROM daily UNION ALL SELECT date, 'initech', 1 FROM daily`;
    expect(await check('--sql', withInitech)).toMatchObject({
      status: 1,
      outcome: 'differs',
      different: [],
      unknown_accounts: ['initech'],
    });
  });

  it('ends with 1 if an object of the ledger is damaged', async () => {
    const { check, out } = await openTable();
    const key = 'tables/ledger/acme.daily.2026-10.parquet';
    await writeParquet(join(out, BUCKET, key), 'SELECT 1 AS other');
    expect(await check('--sql', SQL)).toMatchObject({
      status: 1,
      outcome: 'differs',
      different: [],
      damaged: [key],
    });
  });

  it('names a column that is no metric of the table, such as a misspelt one', async () => {
    const { check, text } = await openTable();
    const misspelt = `SELECT date, spend, 1 AS spned FROM daily`;
    expect(await check('--sql', misspelt)).toMatchObject({ status: 0, left_out: ['spned'] });
    const { stdout } = await text('--sql', misspelt);
    expect(stdout).toContain('left out, because they are no metrics that add up: spned\n');
  });

  it('refuses a mart whose only metric is misspelt, with the metrics of the table', async () => {
    const { check } = await openTable();
    expect(await check('--sql', 'SELECT date, spend AS spned FROM daily')).toMatchObject({
      status: 2,
      faults: [expect.stringContaining('it has spned, and the metrics are spend')],
    });
  });

  it('refuses a mart that adds amounts of several currencies up', async () => {
    const { check, ...folder } = await openTable();
    await deliver(folder, { account: 'globex', days: [1, 2], created: 10 });
    const config = join(temporaryDirectory(), 'config.json');
    const accounts = { acme: { currency: 'EUR' }, globex: { currency: 'USD' } };
    writeFileSync(
      config,
      JSON.stringify({ base_url: 'https://api.platform.example/v1', revision: '2026-09-01', accounts }),
    );
    expect(await check('--sql', SQL, '--config', config)).toMatchObject({
      status: 2,
      faults: [
        expect.stringMatching(/^the mart adds amounts of several currencies up \(EUR, USD\) in spend:/),
      ],
    });
  });

  it('names a delivered day that the table does not show yet, and compares the others', async () => {
    const { check, ...folder } = await openTable();
    await deliver(folder, { days: [3, 3], created: 11 });
    expect(await check('--sql', SQL)).toMatchObject({
      status: 0,
      end_date: '2026-10-03',
      agree: 2,
      not_compared: [{ account: 'acme', state: 'behind', start_date: '2026-10-03', end_date: '2026-10-04' }],
    });
  });

  it('without accounts, names a day that one account lacks, and compares the others', async () => {
    const { check, place, ...folder } = await openTable();
    await deliver(folder, { account: 'globex', days: [1, 1], created: 5 });
    await rebuild(place);
    expect(await check('--sql', SQL)).toMatchObject({
      status: 0,
      agree: 1,
      not_compared: [{ account: 'globex', state: 'missing', start_date: '2026-10-02' }],
    });
  });

  it('without accounts, compares a day before an account began', async () => {
    const { check, place, ...folder } = await openTable();
    await deliver(folder, { account: 'globex', days: [2, 2], created: 5 });
    await rebuild(place);
    expect(await check('--sql', SQL)).toMatchObject({ status: 0, agree: 2, not_compared: [] });
  });

  it('says that nothing was compared if the table has none of the days, and ends with 1', async () => {
    const { check } = await openTable();
    const later = "SELECT DATE '2026-10-09' AS date, 1 AS spend";
    expect(await check('--sql', later)).toMatchObject({
      status: 1,
      outcome: 'nothing_compared',
      not_compared: [{ start_date: '2026-10-09', state: 'missing' }],
    });
  });

  it('refuses a mart without rows, unless --from says where to begin', async () => {
    const { check } = await openTable();
    const empty = 'SELECT date, spend FROM daily WHERE false';
    expect(await check('--sql', empty)).toMatchObject({
      status: 2,
      faults: [expect.stringContaining('give --from')],
    });
    expect(await check('--sql', empty, '--from', '2026-10-01')).toMatchObject({
      status: 1,
      different: [{ date: '2026-10-01' }, { date: '2026-10-02' }],
    });
  });
});

describe('check --sql runs nothing but a query', () => {
  const target = () => join(temporaryDirectory(), 'written');
  it('refuses a statement that begins with WITH and writes, in the words for any other', async () => {
    const { check } = await openTable();
    const statement = 'WITH a AS (SELECT 1 AS spend) INSERT INTO daily SELECT * FROM a';
    expect(await check('--sql', statement)).toMatchObject({
      status: 2,
      faults: ['give one query, which begins with SELECT or WITH: other statements are not run'],
    });
  });

  it.each([
    ['COPY', (file: string) => `COPY (SELECT 1 AS one) TO '${file}'`],
    ['ATTACH', (file: string) => `ATTACH '${file}'`],
    ['EXPORT', (file: string) => `EXPORT DATABASE '${file}'`],
    ['several statements', (file: string) => `SELECT 1; COPY (SELECT 1 AS one) TO '${file}'`],
  ])('and refuses %s before it runs', async (_, statementOf) => {
    const { check } = await openTable();
    const file = target();
    expect(await check('--sql', statementOf(file))).toMatchObject({ status: 2, outcome: 'failed' });
    expect(existsSync(file)).toBe(false);
  });

  it.each([
    'CREATE TABLE t AS SELECT 1',
    'SET threads = 1',
    'PRAGMA database_list',
    'EXPLAIN SELECT 1',
    'LOAD json',
  ])('and refuses %s', async (statement) => {
    const { check } = await openTable();
    expect(await check('--sql', statement)).toMatchObject({ status: 2, outcome: 'failed' });
  });
});

describe('the options about a mart', () => {
  it('have every fault named at once, before anything is read', async () => {
    const options = ['--file', 'gone.csv', '--database', 'gone.duckdb', '--tolerance', '1'];
    const dates = ['--from', '2026-10-02', '--to', '2026-10-01'];
    const { status, stderr } = await runCommand([
      'check',
      'daily',
      '--local',
      '--out',
      'gone',
      ...options,
      ...dates,
    ]);
    expect({ status, lines: stderr.trimEnd().split('\n') }).toEqual({
      status: 2,
      lines: [
        'error: --database needs --sql, which runs on it',
        'error: --file gone.csv is no file',
        'error: --database gone.duckdb is no file',
        'error: --tolerance 1 is no share: it must be from 0 to below 1, such as 0.01',
        'error: --to 2026-10-01 is not after --from 2026-10-02',
      ],
    });
  });

  it('take one mart', async () => {
    const file = join(temporaryDirectory(), 'mart.csv');
    writeFileSync(file, 'date,spend\n');
    const { stderr } = await runCommand(['check', 'daily', '--local', '--sql', SQL, '--file', file]);
    expect(stderr).toBe('error: give --sql or --file, not both\n');
  });

  it.each(['-0.1', '1', 'x', '', 'NaN'])('take no tolerance %j', async (tolerance) => {
    const { status, stderr } = await runCommand([
      'check',
      'daily',
      '--local',
      '--sql',
      SQL,
      `--tolerance=${tolerance}`,
    ]);
    expect({ status, stderr }).toMatchObject({ status: 2, stderr: expect.stringContaining('is no share') });
  });

  it('need a mart', async () => {
    const { stderr } = await runCommand(['check', 'daily', '--local', '--tolerance', '0.1']);
    expect(stderr).toBe('error: give the mart: --sql or --file\n');
  });

  it('name a file that DuckDB cannot read', async () => {
    const { check } = await openTable();
    const file = join(temporaryDirectory(), 'no.duckdb');
    writeFileSync(file, 'x'.repeat(10_000));
    expect(await check('--sql', SQL, '--database', file)).toMatchObject({
      status: 1,
      error: 'CommandFailed',
      happened: expect.stringContaining(`DuckDB cannot read ${file}`),
    });
  });

  it.each([
    ['date,spend\n2026-10-01,1\n2026-10-02\n', 'row 2 has 1 fields, and the header 2'],
    ['date,spend\n"2026-10-01,1\n', 'is no CSV file'],
  ])('name the row in which a file is no CSV: %j', async (content, message) => {
    const { check } = await openTable();
    const file = join(temporaryDirectory(), 'mart.csv');
    writeFileSync(file, content);
    expect(await check('--file', file)).toMatchObject({
      status: 2,
      faults: [expect.stringContaining(message)],
    });
  });
});

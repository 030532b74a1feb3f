import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBTimestampTZValue } from '@duckdb/node-api';
import { describe, expect, it, onTestFinished } from 'vitest';
import { runLocalQuery } from '../../../../../infra/operate/cli/query/local.ts';
import { runCommand } from '../../../../support/cli.ts';
import { ledgerRows, shownDay, writeParquet } from '../../../../support/ledger-rows.ts';
import { temporaryDirectory } from '../../../../support/temporary-directory.ts';

const MONTHS = {
  '2026-09': {
    days: ['2026-09-29', '2026-09-30'],
    columns: "'Ümlaut ✓' AS campaign_name, 1.5::DECIMAL(18,6) AS spend",
  },
  '2026-10': {
    days: ['2026-10-01', '2026-10-04'],
    columns: "'b' AS campaign_name, 2.25::DECIMAL(18,6) AS spend, 9007199254740993::BIGINT AS clicks",
  },
};

/** The Parquet metadata of an object that shows these days. */
function metadataOf(days: readonly string[]): Record<string, string> {
  const shown = shownDay();
  return { days: JSON.stringify(Object.fromEntries(days.map((day) => [day, shown]))) };
}

const R1 = { report_id: 'r-1', at: '2026-10-09 06:00:00' };
const R2 = { report_id: 'r-2', at: '2026-10-10 06:00:00' };

/**
 * A folder of a local run with the table `daily-campaigns` of account 007, the list `campaigns`, and the
 * ledger.
 */
async function writeTables(out = temporaryDirectory()): Promise<string> {
  const tables = join(out, 'bucket', 'tables');
  for (const [month, { days, columns }] of Object.entries(MONTHS))
    await writeParquet(
      join(tables, `daily-campaigns/007.${month}.parquet`),
      `SELECT '007' AS account, DATE '${days[0]}' AS date, ${columns}, 'r-1' AS report_id, TIMESTAMP '2026-10-09 06:00:00' AS report_created_at`,
      metadataOf(days),
    );
  await writeParquet(
    join(tables, 'campaigns/007.parquet'),
    `SELECT '007' AS account, 'c-1' AS id, '{"id":1}' AS item`,
  );
  const ledger = ledgerRows('007', 'daily-campaigns', 'daily', [
    { ...R1, date: '2026-10-01', values: { rows: 1, spend: 2, clicks: 1 } },
    { ...R2, date: '2026-10-01', values: { rows: 1, spend: 2.25, clicks: 1 } },
  ]);
  await writeParquet(join(tables, 'ledger/007.daily.2026-10.parquet'), ledger);
  return out;
}

/** Runs a query. @returns each row by the names of its columns */
async function ask(sql: string, out: string) {
  const { columns, rows, notes } = await runLocalQuery(sql, out);
  const all = (await Array.fromAsync(rows)).flat();
  const named = all.map((row) => Object.fromEntries(row.map((value, at) => [columns[at]?.name, value])));
  return { columns, notes, rows: named };
}

describe('a local query', () => {
  it('reads every month, and NULL where a column was added later', async () => {
    const { rows } = await ask('SELECT * FROM daily_campaigns ORDER BY date', await writeTables());
    const report = { account: '007', report_id: 'r-1', report_created_at: '2026-10-09 06:00:00' };
    expect(rows).toEqual([
      { ...report, date: '2026-09-29', campaign_name: 'Ümlaut ✓', spend: '1.500000', clicks: null },
      { ...report, date: '2026-10-01', campaign_name: 'b', spend: '2.250000', clicks: '9007199254740993' },
    ]);
  });

  it('lists the tables and the views over the ledger, and describes one', async () => {
    const out = await writeTables();
    const names = (await ask('SHOW TABLES', out)).rows.map(({ name }) => name);
    expect(names).toEqual([
      ...['campaigns', 'daily_campaigns', 'daily_campaigns_days', 'daily_campaigns_restatements', 'ledger'],
    ]);
    const described = await ask('DESCRIBE daily_campaigns_days', out);
    expect(described.rows.map(({ column_name, column_type }) => `${column_name} ${column_type}`)).toEqual([
      ...[
        'account VARCHAR',
        'date DATE',
        'state VARCHAR',
        'finality VARCHAR',
        'rows BIGINT',
        'spend DECIMAL(38,6)',
        'clicks BIGINT',
      ],
      ...['report_id VARCHAR', 'report_created_at TIMESTAMP', 'changed_at TIMESTAMP'],
    ]);
  });

  it('writes times with a zone in UTC, whatever the zone of this machine is', async () => {
    const { timezoneOffsetInMinutes } = DuckDBTimestampTZValue;
    onTestFinished(() => {
      DuckDBTimestampTZValue.timezoneOffsetInMinutes = timezoneOffsetInMinutes;
    });
    DuckDBTimestampTZValue.timezoneOffsetInMinutes = -480;
    const sql =
      "SELECT TIMESTAMPTZ '2026-07-15 03:00:00+02' AS at, [TIMESTAMPTZ '2026-01-15 03:00:00Z'] AS list";
    const [row] = (await ask(sql, await writeTables())).rows;
    expect(row).toEqual({ at: '2026-07-15 01:00:00+00', list: ['2026-01-15 03:00:00+00'] });
  });

  it('fails also if only the last of many rows fails', async () => {
    const sql = "SELECT CASE WHEN range < 500000 THEN 1 ELSE CAST('x' AS INT) END FROM range(500001)";
    await expect(ask(sql, await writeTables())).rejects.toMatchObject({ name: 'CommandFailed' });
  });

  it('works in a folder whose name has quotes and wildcards', async () => {
    const out = await writeTables(join(temporaryDirectory(), "it's [1] *?"));
    expect((await ask('SELECT spend FROM daily_campaigns', out)).rows).toHaveLength(2);
  });

  it('runs no SQL that is in the name of a folder or a column', async () => {
    const out = await writeTables();
    const folder = join(out, "bucket/tables/x'; COPY (SELECT 1) TO 'written");
    await writeParquet(join(folder, '007.2026-10.parquet'), 'SELECT 1 AS spend');
    const file = join(out, 'written');
    const column = `x"" FROM ledger GROUP BY ALL; COPY (SELECT 1) TO '${file}'; SELECT account, date, 1 AS ""y`;
    await writeParquet(
      join(out, 'bucket/tables/hostile/007.2026-10.parquet'),
      `SELECT '007' AS account, DATE '2026-10-01' AS date, 1 AS "${column}", 'r-1' AS report_id, TIMESTAMP '2026-10-09' AS report_created_at`,
    );
    const { rows } = await ask('SHOW TABLES', out);
    expect(rows.map(({ name }) => name)).toContain('hostile_days');
    expect(rows.filter(({ name }) => /COPY/.test(String(name)))).toEqual([]);
    expect(existsSync(file)).toBe(false);
  });

  it('refuses a folder in which two stacks left the same table, because each day would count twice', async () => {
    const out = await writeTables();
    await writeParquet(join(out, 'other/tables/daily_campaigns/a.2026-10.parquet'), 'SELECT 1 AS x');
    await expect(runLocalQuery('SELECT 1', out)).rejects.toMatchObject({ name: 'UsageError' });
  });

  it.each([
    ['two statements', 'SELECT 1; SELECT 2', 'give one SQL statement'],
    ['no statement', '-- nothing', 'give one SQL statement'],
    ['an unknown column', 'SELECT spent FROM daily_campaigns', '"spend"'],
    ['an unknown table', 'SELECT 1 FROM daily', 'The tables are: campaigns, daily_campaigns, ledger.'],
    ['a file of the internet', "SELECT * FROM 'https://x.example/y.parquet'", 'httpfs'],
  ])('with %s fails with a message that helps', async (_, sql, expected) => {
    await expect(runLocalQuery(sql, await writeTables())).rejects.toThrow(expected);
  });
});

const BACKWARDS = ['--from', '2026-10-02', '--to', '2026-10-01'];

describe('--saved', () => {
  const saved = async (out: string, ...args: string[]) => {
    const place = ['query', '--local', '--out', out, '--json', '--saved'];
    const { stdout } = await runCommand([...place, ...args]);
    return JSON.parse(stdout);
  };

  it('lists the queries of the stack, and runs one', async () => {
    const out = await writeTables();
    // A list whose name is a word of SQL.
    await writeParquet(join(out, 'bucket/tables/select/007.parquet'), "SELECT '007' AS account");
    const { queries } = await saved(out);
    const names = [
      'per-day-and-campaign',
      'days',
      'restatements',
      'curve',
      'as-of',
      'finality',
      'since-close',
      'reconciliation',
      'freshness',
      'daily_campaigns_days',
    ];
    expect(Object.keys(queries)).toEqual(names);
    expect((await runCommand(['query', '--saved'])).stdout).toMatch(/^per-day-and-campaign {2}The sums/);
    const asOf = async (at: string) =>
      (await saved(out, 'as-of', '--month', '2026-10', '--at', at)).rows.map(
        ({ report_id }: { report_id: string }) => report_id,
      );
    expect([...new Set([...(await asOf('2026-10-09')), ...(await asOf('2026-10-10'))])]).toEqual([
      'r-1',
      'r-2',
    ]);
  });

  it('shows each day of a range at an earlier date', async () => {
    const out = await writeTables();
    const range = ['--from', '2026-10-01', '--to', '2026-10-02', '--at', '2026-10-09'];
    expect((await saved(out, 'as-of', ...range)).rows).toHaveLength(3);
    const later = ['--from', '2026-10-02', '--to', '2026-10-05', '--at', '2026-10-09'];
    expect((await saved(out, 'as-of', ...later)).rows).toEqual([]);
  });

  it('says that a folder with runs has no tables', async () => {
    const out = temporaryDirectory();
    mkdirSync(join(out, 'bucket/exports'), { recursive: true });
    const { faults } = await saved(out, 'days');
    expect(faults).toEqual([expect.stringContaining('nothing has written a table yet')]);
  });

  it('says how a folder with runs gets tables', async () => {
    const out = temporaryDirectory();
    mkdirSync(join(out, 'bucket/exports'), { recursive: true });
    const { status, stderr } = await runCommand(['query', '--local', '--out', out, 'SELECT 1 FROM t']);
    expect({ status, stderr }).toMatchObject({
      status: 1,
      stderr: expect.stringContaining("has no tables. Run 'npm run export -- start"),
    });
  });

  it.each([
    ['an unknown name', ['mine'], 'there is no saved query mine (there are per-day-and-campaign, '],
    [
      'as-of without its dates',
      ['as-of', '--at', '2026-10-09'],
      '--saved as-of needs --at, and --month or --from and --to',
    ],
    [
      'a range that ends before it begins',
      ['as-of', ...BACKWARDS, '--at', '2026-10-09'],
      'is not after --from',
    ],
    ['dates for another one', ['days', '--month', '2026-10'], 'no other query takes them'],
  ])('refuses %s', async (_, args, fault) => {
    const { faults } = await saved(await writeTables(), ...args);
    expect(faults).toEqual([expect.stringContaining(fault)]);
  });
});

describe('the command', () => {
  it('prints more rows than a call of a function may have arguments', async () => {
    const out = await writeTables();
    const { status, stdout } = await runCommand([
      ...['query', '--local', '--out', out],
      'SELECT range FROM range(130000)',
    ]);
    expect({ status, lines: stdout.split('\n').length }).toEqual({ status: 0, lines: 130_002 });
  });

  it('prints only the result on stdout, and reads the query from standard input', async () => {
    const out = await writeTables();
    const { status, stdout, stderr } = await runCommand(
      ['query', '--local', '--json', '--out', out, '-'],
      'SELECT sum(clicks) AS clicks FROM daily_campaigns',
    );
    expect({ status, stderr }).toEqual({ status: 0, stderr: '1 row\n' });
    expect(JSON.parse(stdout)).toEqual({
      columns: [{ name: 'clicks', type: 'HUGEINT' }],
      rows: [{ clicks: '9007199254740993' }],
    });
  });

  it.each(['--json', '--csv'])('with %s lets no text move the cursor', async (format) => {
    const { isTTY } = process.stdout;
    onTestFinished(() => void Object.assign(process.stdout, { isTTY }));
    process.stdout.isTTY = true;
    const sql = "SELECT '[' || chr(27) || chr(155) || chr(8238) || ']' AS text";
    const { stdout } = await runCommand(['query', '--local', '--out', await writeTables(), format, sql]);
    expect(stdout).not.toMatch(/[^\P{Cc}\n\r]|\p{Bidi_Control}/u);
    const printed = format === '--json' ? JSON.parse(stdout).rows[0].text : stdout;
    expect(printed).toContain(format === '--json' ? '[\u001b\u009b\u202e]' : '[ ]');
  });

  it.each([
    ['an empty query', ['--local', ' '], 2, 'the query is empty'],
    ['no query', ['--local'], 2, 'give one SQL statement, or --saved NAME'],
    ['a month beside a query', ['--local', '--month', '2026-11', 'SELECT 1'], 2, 'no other query takes them'],
    ['two formats', ['--json', '--csv', 'SELECT 1'], 2, 'cannot be used with'],
  ])('with %s says what to do', async (_, args, expected, message) => {
    const { status, stderr } = await runCommand(['query', ...args]);
    expect(status).toBe(expected);
    expect(stderr).toContain(message);
  });
});

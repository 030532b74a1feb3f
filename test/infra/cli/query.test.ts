import { mkdirSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { describe, expect, it } from 'vitest';
import { runLocalQuery } from '../../../infra/cli/query/local.ts';
import type { QueryResult } from '../../../infra/cli/query/result.ts';
import { formatCsv, formatJson, formatTable } from '../../../infra/cli/query/result.ts';
import { runCommand } from '../../support/cli.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const DAYS = {
  '2026-10-01': "'Ümlaut ✓' AS campaign_name, 1.5::DECIMAL(18,6) AS spend",
  '2026-10-02': "'b' AS campaign_name, 2.25::DECIMAL(18,6) AS spend, 9007199254740993::BIGINT AS clicks",
  '2026-10-03': "'c' AS campaign_name, 0::DECIMAL(18,6) AS spend WHERE false",
};

/** Writes one Parquet file, as CurateReport does. @param select without SELECT */
async function writeParquet(file: string, select: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  const database = await DuckDBInstance.create();
  const connection = await database.connect();
  await connection.run(`COPY (SELECT ${select}) TO '${file.replaceAll("'", "''")}' (FORMAT parquet)`);
  connection.closeSync();
  database.closeSync();
}

/** A folder of a local run with the table `daily-campaigns` of account 007, and the list `campaigns`. */
async function writeTables(out = temporaryDirectory()): Promise<string> {
  const tables = join(out, 'bucket', 'tables');
  for (const [day, select] of Object.entries(DAYS))
    await writeParquet(join(tables, `daily-campaigns/account=007/date=${day}/data.parquet`), select);
  await writeParquet(join(tables, 'campaigns/account=007/data.parquet'), `'c-1' AS id, '{"id":1}' AS item`);
  return out;
}

/** A folder of a local run whose report did not fit its table. */
function writeDelivered(): string {
  const out = temporaryDirectory();
  const window = join(
    out,
    'bucket/exports/account=007/export=daily/start_date=2026-10-01/end_date=2026-10-08',
  );
  mkdirSync(window, { recursive: true });
  writeFileSync(join(window, '_manifest.json'), '{}');
  return out;
}

function valuesOf({ columns, rows }: QueryResult): Record<string, unknown>[] {
  return rows.map((row) => Object.fromEntries(row.map((value, at) => [columns[at]?.name, value])));
}

describe('a local query', () => {
  it('reads each day with its date and account, and NULL where a column was added later', async () => {
    const result = await runLocalQuery('SELECT * FROM daily_campaigns ORDER BY date', await writeTables());
    expect(valuesOf(result)).toEqual([
      { campaign_name: 'Ümlaut ✓', spend: '1.500000', clicks: null, account: '007', date: '2026-10-01' },
      {
        campaign_name: 'b',
        spend: '2.250000',
        clicks: '9007199254740993',
        account: '007',
        date: '2026-10-02',
      },
    ]);
    expect(result.columns.at(-1)).toEqual({ name: 'date', type: 'DATE' });
  });

  it('lists the tables, and describes one', async () => {
    const out = await writeTables();
    const tables = await runLocalQuery('SHOW TABLES', out);
    expect(tables.rows).toEqual([['campaigns'], ['daily_campaigns']]);
    const described = await runLocalQuery('DESCRIBE campaigns', out);
    expect(described.rows.map(([name]) => name)).toEqual(['id', 'item', 'account']);
  });

  it('works in a folder whose name has quotes and wildcards', async () => {
    const out = await writeTables(join(temporaryDirectory(), "it's [1] *?"));
    expect((await runLocalQuery('SELECT spend FROM daily_campaigns', out)).rows).toHaveLength(2);
  });

  it('refuses a folder in which two stacks left the same table, because each day would count twice', async () => {
    const out = await writeTables();
    await writeParquet(
      join(out, 'other/tables/daily_campaigns/account=a/date=2026-10-01/data.parquet'),
      '1 AS x',
    );
    await expect(runLocalQuery('SELECT 1', out)).rejects.toMatchObject({ name: 'UsageError' });
  });

  it.each([
    ['two statements', 'SELECT 1; SELECT 2', 'give one SQL statement'],
    ['no statement', '-- nothing', 'give one SQL statement'],
    ['an unknown column', 'SELECT spent FROM daily_campaigns', '"spend"'],
    ['a file of the internet', "SELECT * FROM 'https://x.example/y.parquet'", 'httpfs'],
  ])('with %s fails with a message that helps', async (_, sql, expected) => {
    await expect(runLocalQuery(sql, await writeTables())).rejects.toThrow(expected);
  });
});

describe('the formats', () => {
  const RESULT: QueryResult = {
    columns: [
      { name: 'name', type: 'VARCHAR' },
      { name: 'spend', type: 'DECIMAL(18,6)' },
      { name: 'spend', type: 'double' },
    ],
    rows: [
      ['a,"b"\nc', '12.500000', 1],
      ['', null, null],
    ],
  };

  it('align numbers to the right in a table, and let no text move the cursor', () => {
    expect(formatTable(RESULT)).toBe(
      ['name         spend  spend', 'a,"b" c  12.500000      1', '              NULL   NULL', ''].join('\n'),
    );
  });

  it('keep every column in JSON, also if two have the same name', () => {
    expect(JSON.parse(formatJson(RESULT))).toEqual({
      columns: [
        { name: 'name', type: 'VARCHAR' },
        { name: 'spend', type: 'DECIMAL(18,6)' },
        { name: 'spend_2', type: 'double' },
      ],
      rows: [
        { name: 'a,"b"\nc', spend: '12.500000', spend_2: 1 },
        { name: '', spend: null, spend_2: null },
      ],
    });
  });

  it('tell NULL from an empty text in CSV', () => {
    expect(formatCsv(RESULT)).toBe('name,spend,spend\r\n"a,""b""\nc",12.500000,1\r\n"",,\r\n');
  });
});

describe('the command', () => {
  it('prints only the result on stdout, and reads the query from standard input', async () => {
    const out = await writeTables();
    const { status, stdout, stderr } = await runCommand(
      ['query', '--json', '--out', out, '-'],
      'SELECT sum(clicks) AS clicks FROM daily_campaigns',
    );
    expect([status, stderr]).toEqual([0, '1 row\n']);
    expect(JSON.parse(stdout)).toEqual({
      columns: [{ name: 'clicks', type: 'HUGEINT' }],
      rows: [{ clicks: '9007199254740993' }],
    });
  });

  it("exits 1 with the engine's message and no stack trace for wrong SQL", async () => {
    const { status, stdout, stderr } = await runCommand([
      ...['query', '--json', '--out', await writeTables()],
      'SELECT spent FROM daily_campaigns',
    ]);
    expect(status).toBe(1);
    expect(stderr).not.toContain('    at ');
    expect(JSON.parse(stdout)).toMatchObject({
      outcome: 'failed',
      happened: expect.stringContaining('"spent" not found'),
      todo: expect.stringContaining('The tables are: campaigns, daily_campaigns.'),
    });
  });

  it.each([
    ['no tables', ['--out', '/no/such/folder', 'SELECT 1'], 1, "Run 'npm start'"],
    ['files, but no tables', ['--out', writeDelivered, 'SELECT 1'], 1, "'npm run export -- curate NAME"],
    ['an empty query', [' '], 2, 'the query is empty'],
    ['two places', ['--deployed', '--out', 'out', 'SELECT 1'], 2, 'cannot be used with'],
    ['two formats', ['--json', '--csv', 'SELECT 1'], 2, 'cannot be used with'],
  ])('with %s says what to do', async (_, args, expected, message) => {
    const { status, stderr } = await runCommand([
      'query',
      ...args.map((arg) => (typeof arg === 'string' ? arg : arg())),
    ]);
    expect(status).toBe(expected);
    expect(stderr).toContain(message);
  });
});

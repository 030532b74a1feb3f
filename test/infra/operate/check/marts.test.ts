import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { beforeAll, describe, expect, it } from 'vitest';
import { expectToMatchSchema } from '../../../support/schemas.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { checkMart, createMartFolder, type MartFolder, writeCsv } from './mart-folder.ts';

let folder: MartFolder;

beforeAll(async () => {
  await using ended = new AsyncDisposableStack();
  folder = await createMartFolder((close) => void ended.defer(close));
  const open = ended.move();
  return () => open.disposeAsync();
});

const SUMS = 'sum(spend) AS spend, sum(impressions) AS impressions, sum(conversions) AS conversions';
const PER_DAY = `SELECT date, ${SUMS} FROM daily GROUP BY date`;
const PER_ACCOUNT = `SELECT date, account, ${SUMS} FROM daily GROUP BY date, account`;
/** What the table showed before acme was restated. */
const BEFORE = `SELECT date, account, max(value) FILTER (metric = 'spend') AS spend,
    max(value) FILTER (metric = 'impressions') AS impressions
  FROM ledger WHERE report_id = 'r-1' GROUP BY date, account`;
const AFTER =
  'SELECT date, account, sum(spend) AS spend, sum(impressions) AS impressions FROM daily GROUP BY ALL';

interface Mart {
  readonly title: string;
  readonly sql: string;
  /** Other options of the command. */
  readonly options?: readonly string[];
  readonly hasCurrencies?: true;
}

interface WrongMart extends Mart {
  readonly kind?: string;
  /** Days that differ, of each account. */
  readonly days: number;
  /** Days after the newest one of the table, of each account. */
  readonly newer?: number;
}

/** Each has one error. Of those without a kind, the numbers do not say what is wrong. */
const WRONG: readonly WrongMart[] = [
  {
    title: 'a join that doubles',
    sql: `SELECT date, ${SUMS} FROM daily, range(2) GROUP BY date`,
    kind: 'factor',
    days: 20,
  },
  {
    title: 'a join that triples each account',
    sql: `SELECT date, account, ${SUMS} FROM daily, range(3) GROUP BY ALL`,
    kind: 'factor',
    days: 40,
  },
  {
    title: 'a day that was loaded twice',
    sql: `SELECT date, ${SUMS} FROM (FROM daily UNION ALL FROM daily WHERE date = '2026-10-07') GROUP BY date`,
    kind: 'factor',
    days: 1,
  },
  {
    title: 'a metric that is doubled alone',
    sql: `SELECT date, 2 * spend AS spend, impressions FROM (${PER_DAY})`,
    kind: 'factor',
    days: 20,
  },
  {
    title: 'days that are a day late',
    sql: `SELECT date + 1 AS date, spend, impressions FROM (${PER_DAY})`,
    kind: 'shifted_day',
    days: 19,
    newer: 2,
  },
  {
    title: 'days that are a day early, of each account',
    sql: `SELECT date - 1 AS date, account, spend FROM (${PER_ACCOUNT})`,
    options: ['--from', '2026-10-01', '--to', '2026-10-20'],
    kind: 'shifted_day',
    days: 38,
  },
  {
    title: 'a filter that drops an account',
    sql: `SELECT date, ${SUMS} FROM daily WHERE account <> 'globex' GROUP BY date`,
    kind: 'missing_account',
    days: 20,
  },
  {
    title: 'an account that is missing from a day on',
    sql: `SELECT date, ${SUMS} FROM daily WHERE account = 'acme' OR date < '2026-10-11' GROUP BY date`,
    kind: 'missing_account',
    days: 10,
  },
  {
    title: 'a join that drops an account',
    sql: `SELECT * FROM (${PER_ACCOUNT}) JOIN (VALUES ('acme')) AS owners (account) USING (account)`,
    kind: 'missing_account',
    days: 20,
  },
  {
    title: 'a mart that was not loaded again after a restatement',
    sql: `SELECT date, sum(spend) AS spend, sum(impressions) AS impressions FROM (${BEFORE}) GROUP BY date`,
    kind: 'earlier_report',
    days: 6,
  },
  { title: 'accounts that were not loaded again', sql: BEFORE, kind: 'earlier_report', days: 6 },
  {
    title: 'one day that was not loaded again',
    sql: `FROM (${BEFORE}) WHERE date = '2026-10-17' UNION ALL FROM (${AFTER}) WHERE date <> '2026-10-17'`,
    kind: 'earlier_report',
    days: 1,
  },
  {
    title: 'amounts of two currencies under one account',
    sql: `SELECT date, 'acme' AS account, ${SUMS} FROM daily GROUP BY date UNION ALL SELECT * FROM (${PER_ACCOUNT}) WHERE account = 'globex'`,
    hasCurrencies: true,
    kind: 'several_currencies',
    days: 20,
  },
  {
    title: 'amounts of two currencies as those of one account',
    sql: PER_DAY,
    options: ['--account', 'acme'],
    hasCurrencies: true,
    kind: 'several_currencies',
    days: 20,
  },
  {
    title: 'a day that is missing',
    sql: `FROM (${PER_DAY}) WHERE date <> '2026-10-09'`,
    kind: 'missing_day',
    days: 1,
  },
  {
    title: 'a mart that ends early',
    sql: `FROM (${PER_DAY}) WHERE date < '2026-10-18'`,
    kind: 'missing_day',
    days: 3,
  },
  {
    title: 'amounts with a discount',
    sql: `SELECT date, 0.9 * spend AS spend FROM (${PER_DAY})`,
    days: 20,
  },
  {
    title: 'amounts rounded to whole numbers',
    sql: `SELECT date, round(spend)::BIGINT AS spend FROM (${PER_DAY})`,
    // On one day, they add up to a whole number.
    days: 19,
  },
  {
    title: 'a campaign that is missing',
    sql: `SELECT date, ${SUMS} FROM daily WHERE campaign_id <> 'acme-2' GROUP BY date`,
    days: 20,
  },
  {
    title: 'a count that is one too high on one day',
    sql: `SELECT date, impressions + if(date = '2026-10-05', 1, 0) AS impressions FROM (${PER_DAY})`,
    days: 1,
  },
];

function optionsOf({ sql, options = [], hasCurrencies }: Mart): readonly string[] {
  return ['--sql', sql, ...options, ...(hasCurrencies ? ['--config', folder.currencies] : [])];
}

describe('a mart with one error', () => {
  it('is one of twenty, of which the numbers tell the kind of at least fifteen', () => {
    expect(WRONG).toHaveLength(20);
    expect(WRONG.filter(({ kind }) => kind !== undefined).length).toBeGreaterThanOrEqual(15);
  });

  it.each(WRONG)('is found and named: $title', async (mart) => {
    const { status, stderr, ...result } = await checkMart(folder, ...optionsOf(mart));
    const guesses = result.different.map(({ guess }) => guess?.kind);
    const facts = { days: guesses.length, kinds: [...new Set(guesses)], newer: result.not_compared.length };
    expect({ status, outcome: result.outcome, ...facts }).toEqual({
      status: 1,
      outcome: 'differs',
      days: mart.days,
      kinds: [mart.kind],
      newer: mart.newer ?? 0,
    });
    expectToMatchSchema('mart-check', result);
  });
});

const DATES = {
  'a date': 'date',
  'a timestamp': 'date::TIMESTAMP',
  'a text': "strftime(date, '%Y-%m-%d')",
  'a time with a zone': 'date::TIMESTAMPTZ',
};
const AMOUNTS = {
  exact: `${SUMS}`,
  'of doubles':
    'sum(spend)::DOUBLE AS spend, sum(impressions)::DOUBLE AS impressions, sum(conversions) AS conversions',
  'rounded to cents': 'round(sum(spend), 2) AS spend, sum(impressions)::INTEGER AS impressions',
  'of rounded doubles': 'round(sum(spend::DOUBLE), 1) AS spend, round(sum(conversions), 3) AS conversions',
  'beside other columns': `${SUMS}, sum(reach) AS reach, count(*) AS n`,
};

/** Forty forms of the same mart, as queries, then others. */
const RIGHT: readonly Mart[] = [
  ...Object.entries(DATES).flatMap(([form, date]) =>
    Object.entries(AMOUNTS).flatMap(([kind, sums]) => [
      {
        title: `${form}, amounts ${kind}`,
        sql: `SELECT ${date} AS date, ${sums} FROM daily AS d GROUP BY d.date`,
      },
      {
        title: `${form}, of accounts, amounts ${kind}`,
        sql: `SELECT ${date} AS date, account, ${sums} FROM daily AS d GROUP BY d.date, account`,
      },
    ]),
  ),
  { title: 'rows of each campaign', sql: 'SELECT date, account, campaign_id, spend FROM daily' },
  { title: 'rounded rows of each campaign', sql: 'SELECT date, round(spend, 2) AS spend FROM daily' },
  { title: 'rows of each campaign as doubles', sql: 'SELECT date, spend::DOUBLE AS spend FROM daily' },
  { title: 'rows of each campaign as floats', sql: 'SELECT date, account, spend::FLOAT AS spend FROM daily' },
  {
    title: 'NULL in some rows',
    sql: `FROM daily UNION ALL BY NAME SELECT DATE '2026-10-03' AS date, 'acme' AS account`,
  },
  { title: 'a later beginning', sql: `FROM (${PER_DAY}) WHERE date >= '2026-10-08'` },
  {
    title: 'some days that are asked for',
    sql: PER_DAY,
    options: ['--from', '2026-10-03', '--to', '2026-10-05'],
  },
  {
    title: 'one account',
    sql: `FROM (${PER_ACCOUNT}) WHERE account = 'acme'`,
    options: ['--account', 'acme'],
  },
  { title: 'accounts of two currencies', sql: PER_ACCOUNT, hasCurrencies: true },
  {
    title: 'amounts within the tolerance',
    sql: `SELECT date, spend * 1.009 AS spend FROM (${PER_DAY})`,
    options: ['--tolerance', '0.01'],
  },
];

describe('a mart without an error', () => {
  it('is one of fifty', () => expect(RIGHT).toHaveLength(50));

  it.each(RIGHT)('raises no alarm: $title', async (mart) => {
    const { status, outcome, different, agree } = await checkMart(folder, ...optionsOf(mart));
    expect({ status, outcome, different }).toEqual({ status: 0, outcome: 'ok', different: [] });
    expect(agree).toBeGreaterThan(0);
  });
});

describe('a mart from elsewhere', () => {
  it('is read from a CSV file', async () => {
    const file = await writeCsv(folder, PER_ACCOUNT);
    expect(await checkMart(folder, '--file', file)).toMatchObject({ status: 0, outcome: 'ok', agree: 40 });
  });

  it('is found wrong in a CSV file', async () => {
    const file = await writeCsv(folder, `SELECT date, 2 * spend AS spend FROM (${PER_DAY})`);
    expect(await checkMart(folder, '--file', file)).toMatchObject({
      status: 1,
      different: Array(20).fill({ guess: { kind: 'factor', factor: 2 } }),
    });
  });

  it.each([
    'memory.duckdb',
    "it's a mart.duckdb",
    'temp.duckdb',
    'dev.db',
  ])('is in the DuckDB file %s, also as a view that names its database', async (name) => {
    const file = join(temporaryDirectory(), name);
    await writeDatabase(file);
    const options = ['--database', file, '--sql', 'SELECT * FROM mart_view'];
    expect(await checkMart(folder, ...options)).toMatchObject({ status: 0, agree: 20 });
  });

  it('is in a DuckDB file, and nothing of it can be removed', async () => {
    const file = join(temporaryDirectory(), 'dev.duckdb');
    await writeDatabase(file);
    const drop = await checkMart(folder, '--database', file, '--sql', 'DROP TABLE mart');
    expect(drop).toMatchObject({ status: 2, outcome: 'failed' });
    const after = await checkMart(folder, '--database', file, '--sql', 'SELECT * FROM mart');
    expect(after).toMatchObject({ status: 0 });
  });

  it('is in a DuckDB file, whose tables come before those of the folder', async () => {
    const file = join(temporaryDirectory(), 'dev.duckdb');
    await writeDatabase(file, 'CREATE TABLE daily AS SELECT date, 2 * spend AS spend FROM mart');
    const result = await checkMart(folder, '--database', file, '--sql', 'SELECT * FROM daily');
    expect(result).toMatchObject({ status: 1, different: Array(20).fill({ guess: { kind: 'factor' } }) });
  });
});

/** Writes the file of a warehouse, as dbt-duckdb does: the views name the database. */
async function writeDatabase(file: string, more?: string): Promise<void> {
  const database = await DuckDBInstance.create(file);
  const connection = await database.connect();
  try {
    const rows = `FROM read_parquet('${folder.out}/bucket/tables/daily/*.parquet')`;
    await connection.run(`CREATE TABLE mart AS SELECT date, sum(spend) AS spend ${rows} GROUP BY date`);
    const [[name] = []] = (await connection.runAndReadAll('SELECT current_database()')).getRows();
    await connection.run(`CREATE VIEW mart_view AS SELECT * FROM "${name}".main.mart`);
    if (more !== undefined) await connection.run(more);
  } finally {
    connection.closeSync();
    database.closeSync();
  }
}

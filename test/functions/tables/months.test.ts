import { randomUUID } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { catalogTable, readSchema } from '../../../functions/aws/catalog-table.ts';
import type { Curation } from '../../../functions/tables/curate-file.ts';
import { addDays } from '../../../functions/workflow/request/dates.ts';
import { Curated } from '../../../functions/workflow/state-parts.ts';
import { LEDGER, type TableSchema } from '../../../functions/workflow/table.ts';
import { daysView } from '../../../infra/stack/catalog/queries.ts';
import { documentTable, tableWords } from '../../../infra/stack/catalog/table-words.ts';
import { tablesOf } from '../../../infra/stack/config/exports.ts';
import { BUCKET } from '../../support/s3.ts';
import { type Report, startTables, TABLE } from './curations.ts';
import { query } from './reports.ts';

const tables = await startTables();
afterAll(() => tables.close());

/** Delivers reports, and reads what their table shows then. */
async function deliver(...reports: readonly Partial<Report>[]) {
  const { account, last } = await tables.deliver(...reports);
  const rows = await tables.rowsOf('SELECT date, spend, report_id', `daily/${account}.*.parquet`);
  const shown = rows.map(({ date, spend, report_id }) => `${date} ${spend} ${report_id}`);
  return { account, last, shown, days: await tables.shownDays('daily', account) };
}

const OCTOBER = { '2026-10-30': [1, 2], '2026-10-31': [3] };
const NOVEMBER = { '2026-11-01': [4] };
const BOTH = { ...OCTOBER, ...NOVEMBER };
const NONE = { days: 0, kept: 0, restated: 0, held: 0 };

function withoutColumn(name: string): TableSchema {
  return { ...TABLE, columns: TABLE.columns.filter((column) => column.name !== name) };
}

const OF_OCTOBER = { start_date: '2026-10-30', length: 2 };

describe('P7: a table', () => {
  it('has one object per month, with its columns, and lists days without rows too', async () => {
    const { account, last, days } = await deliver({ spends: BOTH, start_date: '2026-10-29', length: 4 });
    const row = (date: string, campaign_id: string, spend: string) => {
      const report_created_at = '2026-11-01 00:00:00';
      return { account, date, campaign_id, spend, report_id: 'r1', report_created_at };
    };
    expect(await tables.rowsOf('SELECT *', `daily/${account}.2026-10.parquet`)).toEqual([
      row('2026-10-30', 'c0', '1'),
      row('2026-10-30', 'c1', '2'),
      row('2026-10-31', 'c0', '3'),
    ]);
    expect(await tables.rowsOf('SELECT *', `daily/${account}.2026-11.parquet`)).toEqual([
      row('2026-11-01', 'c0', '4'),
    ]);
    expect(days).toMatchObject({ '2026-10-29': { rows: 0 }, '2026-10-30': { rows: 2 } });
    const table = { name: 'daily', ...NONE, days: 4 };
    expect(last).toMatchObject({ rows: 4, curated: { sums: { spend: '10' }, table }, warnings: [] });
  });

  it("takes names of Object's prototype for its account, dimensions and metrics, up to a query", async () => {
    const account = 'constructor';
    const asked = { dimensions: ['constructor'], metrics: ['__proto__', 'valueOf'] };
    const exports = [
      { ...asked, name: 'daily', account, advertiser_ids: [randomUUID()], period: 'yesterday' },
    ];
    const target = { platform: 'api.platform.example', revision: '2026-09-01' };
    const [table] = tablesOf(exports, target, { accounts: {} });
    const written = table && catalogTable(table, 'bucket', tableWords(documentTable(table, exports)));
    expect(JSON.stringify(written)).not.toContain('native code');
    const schema = written && readSchema(written);
    const row = (value: number) => `{"date":"2026-11-01","constructor":"a","__proto__":${value},"valueOf":2}`;
    const results = [];
    for (const day of [2, 3]) {
      const created_at = `2026-11-0${day}T00:00:00.000Z`;
      const report = { id: `r${day}`, created_at, start_date: '2026-11-01', length: 1, spends: {} };
      const body = `[${row(day)}]`;
      results.push(await tables.curate({ ...report, account, schema, body, request: asked }));
    }
    const [, { curated }] = results as [Curation, Curation];
    expect(curated).toMatchObject({ table: { days: 1, restated: 1 } });
    expect(Object.entries(Curated.parse(curated).sums ?? {})).toEqual([
      ['__proto__', '3'],
      ['valueof', '2'],
    ]);
    const read = `SELECT "constructor" AS dimension, "__proto__" AS metric, "valueof" AS other`;
    const shown = { dimension: 'a', metric: 3, other: 2 };
    expect(await tables.rowsOf(read, 'daily/constructor.2026-11.parquet')).toEqual([shown]);
    const ledger = join(tables.s3.directory, BUCKET, 'tables', LEDGER, `${account}.*.parquet`);
    const rows = join(tables.s3.directory, BUCKET, 'tables/daily', `${account}.*.parquet`);
    const view = daysView(table as TableSchema)
      .replaceAll(`FROM "${LEDGER}"`, `FROM '${ledger}'`)
      .replaceAll('FROM "daily"', `FROM '${rows}'`);
    const first = `SELECT "__proto__" AS metric FROM (${view}) ORDER BY date LIMIT 1`;
    expect(await query(first)).toEqual([{ metric: 3 }]);
  });

  it('does not mix its halves, so that a reader can skip a part of a large month', async () => {
    const days = Array.from({ length: 30 }, (_, at) => addDays('2026-10-01', at));
    const rows = Array.from({ length: 240_000 }, (_, at) => ({
      date: days[at % 30],
      campaign_id: at,
      spend: at % 7,
    }));
    const report = { spends: Object.fromEntries(days.map((day) => [day, []])), body: JSON.stringify(rows) };
    const { account } = await deliver(report, { spends: { '2026-10-15': [7, 8] } });
    const object = join(tables.s3.directory, BUCKET, `tables/daily/${account}.2026-10.parquet`);
    const groups = await query(
      `SELECT stats_min_value < '2026-10-04' AND stats_max_value > '2026-10-03' AS has_day, row_group_num_rows AS rows
         FROM parquet_metadata('${object}') WHERE path_in_schema = 'date'`,
    );
    expect(groups.reduce((sum, { rows }) => sum + Number(rows), 0)).toBe(240_000 - 8_000 + 2);
    expect(groups).toHaveLength(5);
    expect(groups.filter(({ has_day }) => has_day)).toHaveLength(3);
  });

  it('writes nothing if it shows the report already, or a newer one', async () => {
    const { account } = await deliver({ spends: BOTH });
    const puts = () =>
      tables.s3.journal.filter(({ method, key }) => method === 'PUT' && key.includes(`/${account}.`));
    const before = puts().length;
    const again = { id: 'r1', created_at: '2026-11-01T00:00:00.000Z', spends: BOTH, account };
    expect((await tables.curate(again)).curated.table).toMatchObject({ ...NONE, days: 3 });
    expect(puts()).toHaveLength(before);
    const older = { ...again, id: 'r0', created_at: '2026-10-31T00:00:00.000Z' };
    expect((await tables.curate(older)).curated.table).toMatchObject({ ...NONE, kept: 3 });
    // The ledger has a report that is not shown too.
    expect(
      puts()
        .slice(before)
        .map(({ key }) => key.split('/')[1]),
    ).toEqual(['ledger', 'ledger']);
  });

  it('has the id of a report, whatever its characters', async () => {
    const id = `'"${'春'.repeat(254)}`;
    const { shown, days } = await deliver({ id, spends: { '2026-10-30': [1] } });
    expect(shown).toEqual([`2026-10-30 1 ${id}`]);
    expect(days['2026-10-30']).toMatchObject({ report_id: id });
  });

  it('counts days that show other rows or other sums as restated, also in a retry', async () => {
    const restating = { '2026-10-30': [1, 3], '2026-10-31': [1, 2], '2026-11-01': [4] };
    const { account, last, shown } = await deliver({ spends: BOTH }, { spends: restating });
    const dates = { first_restated: '2026-10-30', last_restated: '2026-10-31' };
    const table = { ...NONE, days: 3, restated: 2, ...dates };
    expect(last?.curated.table).toEqual({ name: 'daily', ...table });
    expect(shown).toHaveLength(5);
    const retry = { id: 'r2', created_at: '2026-11-02T00:00:00.000Z', spends: restating, account };
    expect((await tables.curate(retry)).curated.table).toEqual({ name: 'daily', ...table });
  });

  it('does not restate a day whose sum of doubles differs in its last digits', async () => {
    const schema = withType('double');
    const report = (values: readonly number[]) => ({
      schema,
      spends: { '2026-10-30': [] },
      body: JSON.stringify(values.map((spend, at) => ({ date: '2026-10-30', campaign_id: at, spend }))),
    });
    const { last } = await deliver(report([0.1, 0.2, 0.3]), report([0.6000000000000001, 0, 0]));
    expect(last?.curated.table).toMatchObject({ days: 1, restated: 0 });
  });

  it('has the currency of its account, in all rows of a month that is written', async () => {
    const of = (currency: string) => ({ ...TABLE, currencies: { euros: currency } });
    const report = { spends: OCTOBER, account: 'euros', schema: of('EUR') };
    await deliver(report, { ...report, spends: { '2026-10-30': [5] }, schema: of('USD') });
    const select = 'SELECT DISTINCT currency, report_id';
    expect(await tables.rowsOf(select, 'daily/euros.*.parquet')).toEqual(
      expect.arrayContaining([
        { currency: 'USD', report_id: 'r1' },
        { currency: 'USD', report_id: 'r2' },
      ]),
    );
    const inDollars = await deliver({ spends: OCTOBER, schema: of('EUR') });
    const none = [{ currency: null, report_id: 'r1' }];
    expect(await tables.rowsOf(select, `daily/${inDollars.account}.*.parquet`)).toEqual(none);
  });
});

function withType(type: 'double' | 'bigint'): TableSchema {
  const [campaign, spend] = TABLE.columns;
  return campaign && spend ? { ...TABLE, columns: [campaign, { ...spend, type }] } : TABLE;
}

describe('47: a report without rows', () => {
  it('holds the days that have rows, and a retry says the same', async () => {
    const { account, last, shown, days } = await deliver({ spends: OCTOBER }, { spends: {}, ...OF_OCTOBER });
    const table = { name: 'daily', ...NONE, held: 2, first_held: '2026-10-30', last_held: '2026-10-31' };
    expect(last?.curated.table).toEqual(table);
    expect(last?.warnings).toEqual([
      'days that have no rows any more: 2; the table keeps the rows that it shows; see DaysHeld in infra/RUNBOOK.md',
    ]);
    expect(shown).toHaveLength(3);
    expect(days['2026-10-31']).toMatchObject({ report_id: 'r1', held: { report_id: 'r2' } });
    const retry = { id: 'r2', created_at: '2026-11-02T00:00:00.000Z', spends: {}, ...OF_OCTOBER, account };
    expect((await tables.curate(retry)).curated.table).toEqual(table);
  });
});

describe('warn_below', () => {
  const request = { warn_below: 0.5 };
  const shown = { '2026-10-29': [100], '2026-10-30': [50, 50], '2026-10-31': [100, 100, 100] };
  const starts = 'days that fall below warn_below of what they showed: ';

  it.each<[string, Partial<Report>, string | undefined]>([
    ['no fall at the share itself', { spends: { '2026-10-30': [50], '2026-10-29': [50] } }, undefined],
    [
      'the worst of several days',
      { spends: { '2026-10-29': [49], '2026-10-30': [60, 40], '2026-10-31': [300] } },
      '2, from 2026-10-29 on; most of all rows of 2026-10-31: 1 instead of 3',
    ],
    [
      'a day that is let empty',
      { spends: {}, start_date: '2026-10-29', length: 1, accept_empty: true },
      '1, from 2026-10-29 on; most of all spend of 2026-10-29: 0 instead of 100',
    ],
    ['no held day', { spends: {}, start_date: '2026-10-29', length: 1 }, undefined],
    ['no day of another request', { spends: { '2026-10-29': [1] }, hash: 'other' }, undefined],
    ['nothing unless it is asked for', { spends: { '2026-10-29': [1] }, request: {} }, undefined],
  ])('names %s, in a retry too', async (_, newer, told) => {
    const last = { id: 'r2', created_at: '2026-11-02T00:00:00.000Z', spends: {}, request, ...newer };
    const { account, last: first } = await deliver({ spends: shown }, last);
    const retry = await tables.curate({ ...last, account });
    for (const { warnings } of [first, retry] as [Curation, Curation])
      expect(warnings.filter((text) => text.startsWith(starts))).toEqual(told ? [starts + told] : []);
  });
});

describe('the columns of a table', () => {
  it('55: that were added are NULL, and those that the config dropped stay, once a month is written', async () => {
    const columns = [...TABLE.columns.slice(1), { name: 'clicks', type: 'bigint' as const, from: 'clicks' }];
    const body = JSON.stringify([{ date: '2026-10-31', spend: 7, clicks: 1 }]);
    const request = { metrics: ['spend', 'clicks'] };
    const newer = { spends: { '2026-10-31': [7] }, body, request, schema: { ...TABLE, columns } };
    const { account, last } = await deliver({ spends: OCTOBER }, newer);
    expect(last?.warnings).toEqual([]);
    expect(
      await tables.rowsOf('SELECT * EXCLUDE (account, report_created_at)', `daily/${account}.*.parquet`),
    ).toEqual([
      { date: '2026-10-30', spend: '1', clicks: null, report_id: 'r1', campaign_id: 'c0' },
      { date: '2026-10-30', spend: '2', clicks: null, report_id: 'r1', campaign_id: 'c1' },
      { date: '2026-10-31', spend: '7', clicks: '1', report_id: 'r2', campaign_id: null },
    ]);
  });

  it.each([
    [
      'a metric',
      'spend',
      { schema: withoutColumn('spend'), request: { dimensions: ['campaign_id'], metrics: [] } },
    ],
    ['a dimension', 'campaign_id', { schema: withoutColumn('campaign_id'), request: { metrics: ['spend'] } }],
  ])('71: keep their values while the config does without them, and show them when it asks again: %s', async (_, name, dropped) => {
    const { account } = await deliver(
      { spends: { '2026-10-01': [1, 2] } },
      { spends: { '2026-10-02': [3] }, ...dropped },
      { spends: { '2026-10-03': [4] } },
    );
    const rows = await tables.rowsOf(`SELECT day(date) AS day, ${name}`, `daily/${account}.*.parquet`);
    const values = { spend: ['1', '2', null, '4'], campaign_id: ['c0', 'c1', null, 'c0'] }[name];
    expect(rows.map((row) => row[name])).toEqual(values);
  });

  it('71: that a day lacked when it was written get their values when the same report is read again', async () => {
    const report = { id: 'r1', created_at: '2026-11-01T00:00:00.000Z', spends: OCTOBER };
    const asked = { request: { dimensions: ['campaign_id'], metrics: ['spend'] } };
    const { account } = await tables.deliver({ ...report, ...asked, schema: withoutColumn('spend') });
    const days = await tables.shownDays('daily', account);
    expect(days['2026-10-30']).toMatchObject({ report_id: 'r1', lacks: ['advertiser_id', 'spend'] });
    const again = () => tables.curate({ ...report, ...asked, account });
    const { curated } = await again();
    expect(curated.table).toMatchObject({ days: 2, restated: 0 });
    const spends = async () =>
      (await tables.rowsOf('SELECT spend', `daily/${account}.*.parquet`)).map(({ spend }) => spend);
    expect(await spends()).toEqual(['1', '2', '3']);
    const logged = await tables.rowsOf('SELECT metric, value', `ledger/${account}.*.parquet`);
    const ofSpend = logged.filter(({ metric }) => metric === 'spend').map(({ value }) => Number(value));
    expect(ofSpend).toEqual([3, 3]);
  });

  it('42: that have another type than those of a month refuse its days, and write the months before', async () => {
    const columns = withType('double');
    const { account, last, shown } = await deliver({ spends: NOVEMBER }, { spends: BOTH, schema: columns });
    expect(last?.curated).toMatchObject({
      table: { ...NONE, days: 2 },
      table_problem: expect.stringMatching(
        /^table daily is not written from 2026-11-01 on \(1 of 3 days\): column spend is double now, but was written as bigint; .*; see TableProblems/,
      ),
    });
    expect(shown).toEqual(['2026-10-30 1 r2', '2026-10-30 2 r2', '2026-10-31 3 r2', '2026-11-01 4 r1']);
    const all = await tables.rowsOf('SELECT date, report_id, metric, kind', `ledger/${account}.*.parquet`);
    const ofNewer = all.filter(({ report_id, metric }) => report_id === 'r2' && metric === 'rows');
    // A day that the table did not take is no fact yet: rebuild adds it.
    expect(ofNewer.map(({ date, kind }) => `${date} ${kind}`)).toEqual([
      '2026-10-30 report',
      '2026-10-31 report',
    ]);
  });
});

const others = async () => {
  const path = join(tables.s3.directory, 'other.parquet');
  await query(`COPY (SELECT 1 AS one) TO '${path}' (FORMAT parquet)`);
  return readFile(path);
};
const footerOf = (object: Buffer) => object.length - 8 - object.readUInt32LE(object.length - 8);
it.each<[string, string, (object: Buffer) => Buffer | Promise<Buffer>]>([
  ['a month of another program', 'daily/ACCOUNT.2026-10', others],
  ['damaged rows', 'daily/ACCOUNT.2026-10', (object) => object.fill(0xff, 4, footerOf(object))],
  ['a month that was cut', 'daily/ACCOUNT.2026-10', (object) => object.subarray(0, -20)],
  ['a ledger of another program', 'ledger/ACCOUNT.daily.2026-10', others],
])('an object that this stack did not write, or that is damaged, stays, and the problem names it: %s', async (_, name, damage) => {
  const { account } = await deliver({ spends: OCTOBER });
  const key = `tables/${name.replace('ACCOUNT', account)}.parquet`;
  const path = join(tables.s3.directory, 'damaged.parquet');
  const before = await tables.store.getFile(key, path, new AbortController().signal);
  await writeFile(path, await damage(await readFile(path)));
  await tables.store.putFile(key, path, before?.etag);
  const newer = { id: 'r2', created_at: '2026-11-02T00:00:00.000Z', spends: OCTOBER, account };
  const { curated, warnings } = await tables.curate(newer);
  expect(warnings).toEqual([
    expect.stringContaining(
      `is not written: ${key} is damaged or was not written by this stack; restore an earlier version`,
    ),
  ]);
  expect(curated.table_problem).toBe(name.startsWith('daily') ? warnings[0] : undefined);
  expect(await readFile(join(tables.s3.directory, BUCKET, key))).toEqual(await readFile(path));
});

describe('a metric that no row of a JSON file has', () => {
  const schema: TableSchema = {
    ...TABLE,
    columns: [...TABLE.columns, { name: 'clicks', type: 'bigint', from: 'clicks' }],
  };
  const request = { metrics: ['spend', 'clicks'] };
  /** A report of one row a day, with these clicks, or without the field. */
  const report = (days: Readonly<Record<string, number | undefined>>, more: Partial<Report> = {}) => {
    const body = Object.entries(days).map(([date, clicks]) => ({ date, campaign_id: 'c', spend: 1, clicks }));
    const spends = Object.fromEntries(Object.keys(days).map((day) => [day, [1]]));
    return { schema, request, spends, body: JSON.stringify(body), ...more };
  };
  const clicksOf = (account: string) =>
    tables.rowsOf('SELECT date, clicks, report_id', `daily/${account}.*.parquet`);
  const ABSENT = expect.stringMatching(/^no row has "clicks", so the values are NULL/);

  it('is NULL, with a warning, if the table shows 0 or nothing of it', async () => {
    const none = { '2026-10-31': undefined, '2026-11-01': undefined };
    const { account, last } = await tables.deliver(report({ '2026-10-31': 0 }), report(none));
    expect(last).toMatchObject({ curated: { table: { days: 2 } }, warnings: [ABSENT] });
    expect(await clicksOf(account)).toEqual([
      { date: '2026-10-31', clicks: null, report_id: 'r2' },
      { date: '2026-11-01', clicks: null, report_id: 'r2' },
    ]);
    const sums = { spend: '1', clicks: null };
    expect(await tables.shownDays('daily', account)).toMatchObject({ '2026-11-01': { ledger: { sums } } });
  });

  it('is a table problem if the table shows another value, and no month is written', async () => {
    const shown = { '2026-10-31': 0, '2026-11-01': 5 };
    const none = { '2026-10-31': undefined, '2026-11-01': undefined };
    const { account, last } = await tables.deliver(report(shown), report(none));
    expect(last?.curated.table_problem).toContain(
      'no row has "clicks", of which the table shows values other than 0, such as on 2026-11-01',
    );
    expect(last?.warnings).toHaveLength(1);
    expect((await clicksOf(account)).map(({ report_id }) => report_id)).toEqual(['r1', 'r1']);
  });

  it('is no problem for days that the report does not change', async () => {
    const { last } = await tables.deliver(
      report({ '2026-10-30': 5, '2026-10-31': 0 }),
      // Without rows for the first day, which is held.
      report({ '2026-10-31': undefined }, { start_date: '2026-10-30', length: 2 }),
      // Older than the shown report.
      report({ '2026-10-30': undefined }, { created_at: '2026-10-31T00:00:00.000Z' }),
    );
    expect(last).toMatchObject({ curated: { table: { kept: 1 } }, warnings: [ABSENT] });
  });
});

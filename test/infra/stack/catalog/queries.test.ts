import { expect, it } from 'vitest';
import { type Column, LEDGER } from '../../../../functions/workflow/table.ts';
import { daysView, restatementsView, savedQueries } from '../../../../infra/stack/catalog/queries.ts';
import { type DayFacts, ledgerRows, withDuckDb } from '../../../support/ledger-rows.ts';

const COLUMNS: Column[] = [
  { name: 'campaign_id', type: 'string', from: 'campaign_id' },
  { name: 'spend', type: 'decimal(18,6)', from: 'spend' },
  { name: 'clicks', type: 'bigint', from: 'clicks' },
];
const DAILY = { table: 'daily-campaigns', kind: 'report', columns: COLUMNS } as const;

const FIRST = { report_id: 'r-1', at: '2026-11-04 06:00:00' };
const SECOND = { report_id: 'r-2', at: '2026-11-08 06:00:00' };
const THIRD = { report_id: 'r-3', at: '2026-11-12 06:00:00' };

/** Two days, and what five reports said about them. */
const FACTS: DayFacts[] = [
  { ...FIRST, date: '2026-11-02', values: { rows: 2, spend: 7, clicks: 1 } },
  { ...FIRST, date: '2026-11-03', values: { rows: 2, spend: 10, clicks: 1 } },
  { ...SECOND, date: '2026-11-02', values: { rows: 2, spend: 7, clicks: 1 } },
  { ...SECOND, date: '2026-11-03', values: { rows: 2, spend: 12.5, clicks: 1 } },
  { ...THIRD, date: '2026-11-03', values: { rows: 3, spend: 15, clicks: 4 } },
  // Older than the first one, and delivered after the second.
  {
    report_id: 'r-0',
    at: '2026-11-03 06:00:00',
    copied_at: '2026-11-09 06:00:00',
    date: '2026-11-03',
    values: { rows: 1, spend: 1, clicks: 0 },
  },
  {
    report_id: 'r-4',
    at: '2026-11-14 06:00:00',
    date: '2026-11-02',
    values: { rows: 0, spend: 0, clicks: 0 },
  },
];

const OTHER: DayFacts[] = [
  { ...FIRST, date: '2026-11-03', values: { rows: 1, spend: 1 } },
  { ...SECOND, date: '2026-11-04', values: { rows: 0, spend: null } },
];

/** Runs a query on 15 November, over the ledger and the rows of a table. */
function ask(sql: string, ...parameters: string[]) {
  return askOf(FACTS, ['2026-11-02 r-2', ...Array(3).fill('2026-11-03 r-3')], sql, ...parameters);
}

/** @param shown the day and the report of each row of the table */
function askOf(facts: readonly DayFacts[], shown: readonly string[], sql: string, ...parameters: string[]) {
  return withDuckDb(async (connection) => {
    const rows = [
      ledgerRows('acme', 'daily-campaigns', 'daily', facts),
      ledgerRows('007', 'other', 'other', OTHER),
    ];
    await connection.run(`CREATE TABLE "${LEDGER}" AS ${rows.join(' UNION ALL ')}`);
    const cells = shown.map((row) => {
      const [date, report_id] = row.split(' ');
      const at = facts.find((fact) => fact.report_id === report_id)?.at;
      return `('acme', DATE '${date}', 'c-1', 1.5, 2, '${report_id}', TIMESTAMP '${at}')`;
    });
    const names = 'account, date, campaign_id, spend, clicks, report_id, report_created_at';
    await connection.run(`CREATE TABLE daily_campaigns AS FROM (VALUES ${cells}) AS shown(${names})`);
    const reader = await connection.runAndReadAll(sql.replaceAll('current_date', "DATE '2026-11-15'"));
    const at = parameters.map((name) => reader.columnNames().indexOf(name));
    return reader.getRowsJson().map((row) => (at.length > 0 ? at.map((index) => row[index]) : row));
  });
}

const QUERIES = savedQueries([DAILY, { ...DAILY, table: 'other' }], {
  from: '2026-11-03',
  to: '2026-11-04',
  at: '2026-11-10',
});

it.each([
  ['10', 'r-2', '12.5000000000', '1.0000000000'],
  ['12', 'r-3', '15.0000000000', '4.0000000000'],
  ['03', undefined, undefined, undefined],
])('as-of says what 3 November showed on 2026-11-%s', async (day, report, spend, clicks) => {
  const sql = QUERIES['as-of']?.sql.replace("'2026-11-10'", `'2026-11-${day}'`) ?? '';
  const rows = await ask(`SELECT * FROM (${sql}) WHERE account = 'acme'`, 'metric', 'report_id', 'value');
  const expected = [
    ['clicks', report, clicks],
    ['rows', report, expect.anything()],
    ['spend', report, spend],
  ];
  expect(rows).toEqual(report === undefined ? [] : expected);
});

it('restatements has each value that changed, but no report that was never shown', async () => {
  const columns = ['account', 'date', 'metric', 'before', 'after', 'changed_at', 'report_id'];
  const rows = [
    ['spend', '10.0000000000', '12.5000000000', '2026-11-08 06:00:00', 'r-2'],
    ['clicks', '1.0000000000', '4.0000000000', '2026-11-12 06:00:00', 'r-3'],
    ['rows', '2.0000000000', '3.0000000000', '2026-11-12 06:00:00', 'r-3'],
    ['spend', '12.5000000000', '15.0000000000', '2026-11-12 06:00:00', 'r-3'],
  ].map((row) => ['acme', '2026-11-03', ...row]);
  expect(await ask(QUERIES.restatements?.sql ?? '', ...columns)).toEqual(rows);
  expect(await ask(`${restatementsView(DAILY)} ORDER BY changed_at, metric`)).toEqual(rows);
});

it('days has what each day shows, when it changed, and whether a newer report is held', async () => {
  const names = ['table_name', 'date', 'metric', 'value', 'changed_at', 'held'] as const;
  const long = await ask(QUERIES.days?.sql ?? '', ...names);
  expect(long).toHaveLength(2 * 3 + 2 * 2);
  expect(long).toContainEqual(['daily-campaigns', '2026-11-02', 'spend', '7.0000000000', FIRST.at, true]);
  expect(long).toContainEqual(['daily-campaigns', '2026-11-03', 'spend', '15.0000000000', THIRD.at, false]);
});

it('the view of the days has each day to yesterday, also absent ones, with its state', async () => {
  const values = { rows: 1, spend: 7, clicks: 1 };
  const empty = { rows: 0, spend: 0, clicks: 0 };
  const facts: DayFacts[] = [
    { ...SECOND, date: '2026-11-05', values },
    { ...SECOND, date: '2026-11-06', values, request_hash: 'earlier' },
    { ...THIRD, date: '2026-11-07', values: empty },
    { ...FIRST, date: '2026-11-08', values },
    { ...SECOND, date: '2026-11-08', values: empty },
    { ...FIRST, date: '2026-11-09', values },
    { ...SECOND, date: '2026-11-09', values: empty },
    { ...SECOND, date: '2026-11-09', kind: 'accepted', values: { rows: 0 } },
    { ...SECOND, date: '2026-11-10', values },
    { ...SECOND, date: '2026-11-11', values },
    { ...SECOND, date: '2026-11-12', values, day_over: false },
  ];
  // The table does not show the newest report of 10 November, and nothing of the 11th.
  const shown = ['05 r-2', '06 r-2', '08 r-1', '10 r-1', '12 r-2'].map((row) => `2026-11-${row}`);
  const sql = daysView({ ...DAILY, requests: { acme: 'h' } });
  const rows = await askOf(facts, shown, sql, 'date', 'state', 'finality', 'rows', 'report_id');
  expect(rows.toSorted()).toEqual([
    ['2026-11-05', 'there', 'unverified', '1', 'r-2'],
    ['2026-11-06', 'older', 'unverified', '1', 'r-2'],
    ['2026-11-07', 'there', 'changing', '0', 'r-3'],
    ['2026-11-08', 'held', 'unverified', '1', 'r-1'],
    ['2026-11-09', 'there', 'changing', '0', 'r-2'],
    ['2026-11-10', 'behind', 'changing', null, 'r-1'],
    ['2026-11-11', 'behind', 'changing', null, null],
    ['2026-11-12', 'missing', 'changing', '1', 'r-2'],
    ['2026-11-13', 'missing', null, null, null],
    ['2026-11-14', 'missing', null, null, null],
  ]);
  expect(savedQueries([DAILY]).daily_campaigns_days?.sql).toContain(daysView(DAILY));
});

it('a day that was accepted as empty still shows on earlier dates what it showed then', async () => {
  const facts: DayFacts[] = [
    { ...FIRST, date: '2026-10-09', values: { rows: 1, spend: 1903.43 } },
    { ...SECOND, date: '2026-10-09', values: { rows: 0, spend: 0 } },
    { ...SECOND, date: '2026-10-09', kind: 'accepted', copied_at: THIRD.at, values: { rows: 0 } },
  ];
  const spendAt = async (at: string) => {
    const { sql = '' } = savedQueries([DAILY], { at })['as-of'] ?? {};
    const rows = await askOf(
      facts,
      ['2026-10-09 r-2'],
      `SELECT * FROM (${sql}) WHERE metric = 'spend'`,
      'value',
      'report_id',
    );
    return rows[0];
  };
  expect(await spendAt('2026-11-11')).toEqual(['1903.4300000000', 'r-1']);
  expect(await spendAt('2026-11-12')).toEqual(['0.0000000000', 'r-2']);
});

it('freshness has the newest day with rows of each table and account', async () => {
  expect(await ask(QUERIES.freshness?.sql ?? '')).toEqual([
    ['daily-campaigns', 'acme', '2026-11-03', '12'],
    ['other', '007', '2026-11-03', '12'],
  ]);
});

it('per-day-and-campaign adds up the metrics, in each currency', async () => {
  expect(await ask(QUERIES['per-day-and-campaign']?.sql ?? '')).toEqual([
    ['2026-11-02', 'acme', 'c-1', '1.5', '2'],
    ['2026-11-03', 'acme', 'c-1', '4.5', '6'],
  ]);
  const inEuros = savedQueries([{ ...DAILY, currencies: { acme: 'EUR' } }]);
  expect(inEuros['per-day-and-campaign']?.sql).toContain(
    'GROUP BY "date", "account", "campaign_id", "currency"',
  );
});

it('there are no queries without a table of a report', () => {
  expect(savedQueries([{ ...DAILY, kind: 'list' }])).toEqual({});
});

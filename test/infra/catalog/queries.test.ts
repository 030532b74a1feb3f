import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { type Column, LEDGER } from '../../../functions/workflow/table.ts';
import { daysView, restatementsView, savedQueries } from '../../../infra/catalog/queries.ts';
import { type DayFacts, ledgerRows, withDuckDb } from '../../support/ledger-rows.ts';

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
    outcome: 'kept',
    values: { rows: 1, spend: 1, clicks: 0 },
  },
  {
    report_id: 'r-4',
    at: '2026-11-14 06:00:00',
    date: '2026-11-02',
    outcome: 'held',
    values: { rows: 0, spend: 0, clicks: 0 },
  },
];

const OTHER: DayFacts[] = [
  { ...FIRST, date: '2026-11-03', values: { rows: 1, spend: 1 } },
  { ...SECOND, date: '2026-11-04', values: { rows: 0, spend: null } },
];

/** Runs a query over the ledger on 15 November. */
function ask(sql: string, ...parameters: string[]) {
  return withDuckDb(async (connection) => {
    const rows = [
      ledgerRows('acme', 'daily-campaigns', 'daily', FACTS),
      ledgerRows('007', 'other', 'other', OTHER),
    ];
    await connection.run(`CREATE TABLE "${LEDGER}" AS ${rows.join(' UNION ALL ')}`);
    await connection.run(
      `CREATE TABLE daily_campaigns AS SELECT 'acme' AS account, DATE '2026-11-03' AS date, 'c-1' AS campaign_id,
       1.5 AS spend, 2 AS clicks FROM range(3)`,
    );
    const reader = await connection.runAndReadAll(sql.replaceAll('current_date', "DATE '2026-11-15'"));
    const names = parameters.map((name) => reader.columnNames().indexOf(name));
    return reader.getRowsJson().map((row) => (names.length > 0 ? names.map((at) => row[at]) : row));
  });
}

const QUERIES = savedQueries([DAILY, { ...DAILY, table: 'other' }]);

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

it('the reference has as-of as it is', () => {
  const reference = readFileSync(new URL('../../../functions/TABLES.md', import.meta.url), 'utf8');
  expect(reference).toContain(`\n${QUERIES['as-of']?.sql}\n`);
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

it('days has what each day shows, when it changed, and what became of its newest report', async () => {
  expect(await ask(`${daysView(DAILY)} ORDER BY date`)).toEqual([
    ['acme', '2026-11-02', '2', '7.000000', '1', 'r-2', SECOND.at, FIRST.at, 'held', 'unverified'],
    ['acme', '2026-11-03', '3', '15.000000', '4', 'r-3', THIRD.at, THIRD.at, 'shown', 'changing'],
  ]);
  const long = await ask(QUERIES.days?.sql ?? '', 'table_name', 'date', 'metric', 'value', 'changed_at');
  expect(long).toHaveLength(2 * 3 + 2 * 2);
  expect(long).toContainEqual(['daily-campaigns', '2026-11-03', 'spend', '15.0000000000', THIRD.at]);
});

it('freshness has the newest day with rows of each table and account', async () => {
  expect(await ask(QUERIES.freshness?.sql ?? '')).toEqual([
    ['daily-campaigns', 'acme', '2026-11-03', '12'],
    ['other', '007', '2026-11-03', '12'],
  ]);
});

it('per-day-and-campaign adds up the metrics, in each currency', async () => {
  expect(await ask(QUERIES['per-day-and-campaign']?.sql ?? '')).toEqual([
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

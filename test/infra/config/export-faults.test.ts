import { describe, expect, it } from 'vitest';
import { InvalidConfig, parseConfig } from '../../../infra/config/config.ts';
import type { ConfiguredEntry } from '../../../infra/config/exports.ts';
import { CONTEXT } from '../../support/stack.ts';

type Changes = Readonly<Record<string, unknown>>;

const DAILY: ConfiguredEntry = { ...CONTEXT.exports[0] };

function faultsOf(exports: readonly unknown[], changes: Changes = {}): readonly string[] {
  try {
    parseConfig({ ...CONTEXT, ...changes, exports });
  } catch (error) {
    if (error instanceof InvalidConfig) return error.faults;
    throw error;
  }
  return [];
}

/** The first export is `daily` of acme, which has the metric spend. */
function second(changes: Changes): readonly string[] {
  return faultsOf([DAILY, { ...DAILY, account: 'globex', ...changes }]);
}

describe('columns', () => {
  it.each([
    'bigint',
    'double',
    'string',
    'decimal(38,0)',
    'decimal(18,18)',
    { type: 'bigint' },
    { from: 'Spend (USD)' },
    { type: 'bigint', from: 'x'.repeat(100) },
  ])('accept %j', (column) => {
    expect(faultsOf([{ ...DAILY, columns: { spend: column } }])).toEqual([]);
  });

  it.each(['int', 'decimal', 'decimal(39,0)', 'decimal(0,0)', 'decimal(10,11)', 7])('refuse %j', (column) => {
    expect(faultsOf([{ ...DAILY, columns: { spend: column } }])).toEqual([
      expect.stringMatching(
        /^exports\[0\]\.columns\.spend: must be "bigint", "double", "string" or "decimal\(.*, or have/,
      ),
    ]);
  });

  it.each<[object, string]>([
    [{ type: 'bigint', round: true }, 'round: is not a setting'],
    [
      { type: 'int' },
      'type: must be "bigint", "double", "string" or "decimal(digits,decimals)" with at most 38 digits',
    ],
    [{ from: '' }, 'from: must not be empty'],
    [{ from: 'x'.repeat(101) }, 'from: must not have more than 100 characters'],
    [{ from: 'Spend\n(USD)' }, 'from: must not have control characters'],
  ])('refuse %j', (column, fault) => {
    expect(faultsOf([{ ...DAILY, columns: { spend: column } }])).toEqual([
      `exports[0].columns.spend.${fault}`,
    ]);
  });

  it('may name any metric, any dimension and the advertiser, in any case of letters', () => {
    const columns = { Spend: 'bigint', CAMPAIGN_ID: 'bigint', advertiser_id: 'string' };
    expect(faultsOf([{ ...DAILY, dimensions: ['campaign_id'], columns }])).toEqual([]);
  });

  it('may name neither anything else nor the date', () => {
    const columns = { clicks: 'bigint', spend: { from: 'Day' }, day: 'string' };
    expect(faultsOf([{ ...DAILY, columns, date_column: 'Day' }])).toEqual([
      'exports[0].columns.clicks: is neither a metric nor a dimension of the report',
      'exports[0].columns.spend: is the date, which date_column names',
      'exports[0].columns.day: is the date, which date_column names',
    ]);
  });

  it.each([
    ['without a table', { ...DAILY, table: false }],
    ['by the hour', { ...DAILY, granularity: 'HOUR' }],
    ['that is a list', { name: 'campaigns', account: 'acme', kind: 'list', resource: 'campaigns' }],
  ])('need a report with a table, not an export %s', (_, entry) => {
    expect(faultsOf([{ ...entry, columns: {}, date_column: 'day' }])).toEqual([
      'exports[0].columns: needs a report that has a table',
      'exports[0].date_column: needs a report that has a table',
    ]);
  });
});

describe('a table', () => {
  it.each([
    [{ dimensions: ['Spend'] }, 'metrics: Spend and spend would both be the column spend'],
    [
      { dimensions: ['date'], metrics: ['spend', 'date'] },
      'metrics: date and date would both be the column date',
    ],
    [{ metrics: ['a.b', 'a_b'] }, 'metrics: a.b and a_b would both be the column a_b'],
    [{ dimensions: ['x:y', 'X-Y'] }, 'dimensions: x:y and X-Y would both be the column x_y'],
    [
      { dimensions: ['country'], metrics: ['advertiser.id'] },
      'metrics: advertiser_id and advertiser.id would both be the column advertiser_id',
    ],
  ])('cannot hold two names that become one column: %j', (changes, fault) => {
    expect(faultsOf([{ ...DAILY, ...changes }])).toEqual([`exports[0].${fault}`]);
    expect(faultsOf([{ ...DAILY, ...changes, table: false }])).toEqual([]);
  });

  it.each([
    ['dimensions', 'account', {}],
    ['dimensions', 'Date', { date_column: 'day' }],
    ['dimensions', 'currency', {}],
    ['metrics', 'report.id', {}],
    ['metrics', 'report_created_at', {}],
    ['metrics', 'Rows', {}],
    ['metrics', 'changed.at', {}],
    ['metrics', 'outcome', {}],
  ])('has columns of its own, so %s cannot have %s', (field, name, changes) => {
    expect(faultsOf([{ ...DAILY, [field]: [name], ...changes }])).toEqual([
      `exports[0].${field}: ${name} is a column that tables or their views have already; set table to false`,
    ]);
  });

  it('cannot have the name of the ledger', () => {
    const exports = [
      { ...DAILY, name: 'ledger' },
      { ...DAILY, table: 'ledger' },
    ];
    expect(faultsOf(exports)).toEqual([
      'exports[0].name: must not be ledger, which is a table of its own',
      'exports[1].table: must not be ledger, which is a table of its own',
    ]);
  });

  it('has the currency of all accounts or of none', () => {
    const globex = { ...DAILY, account: 'globex' };
    const list = { name: 'campaigns', account: 'globex', kind: 'list', resource: 'campaigns' };
    expect(faultsOf([DAILY, globex], { currency: { acme: 'EUR' } })).toEqual([
      'currency.globex: is missing; other accounts of the table daily have one',
    ]);
    expect(faultsOf([DAILY, globex], { currency: { acme: 'EUR', globex: 'USD' } })).toEqual([]);
    expect(faultsOf([DAILY, { ...globex, table: 'other' }, list], { currency: { acme: 'EUR' } })).toEqual([]);
  });

  it('may have its date among the dimensions', () => {
    expect(faultsOf([{ ...DAILY, dimensions: ['date'] }])).toEqual([]);
  });

  it('may be shared by accounts with other advertisers, but the same columns in any order', () => {
    const metrics = ['clicks', 'spend'];
    const advertiser_ids = ['0b9d4c2a-86f1-4e57-a3c8-1d2e5f7a9b02'];
    const globex = { ...DAILY, account: 'globex', advertiser_ids, metrics: metrics.toReversed() };
    expect(faultsOf([{ ...DAILY, metrics }, globex])).toEqual([]);
  });

  it('may be shared by exports of one account that differ only in their dates', () => {
    const monthly = { ...DAILY, name: 'monthly', period: 'previous_month', table: 'daily' };
    expect(faultsOf([DAILY, monthly])).toEqual([]);
  });

  it('is filled by one request per account', () => {
    const advertiser_ids = ['0b9d4c2a-86f1-4e57-a3c8-1d2e5f7a9b02'];
    const other = { ...DAILY, name: 'other', advertiser_ids, table: 'daily' };
    expect(faultsOf([DAILY, other])).toEqual([
      'exports[1].table: another request of the account fills daily (exports[0])',
    ]);
  });

  it.each([
    ['another column', { metrics: ['spend', 'clicks'] }, 'only exports[1] has clicks bigint'],
    [
      'another type',
      { columns: { spend: 'bigint' } },
      'only exports[1] has spend bigint, only exports[0] has spend decimal(18,6)',
    ],
    [
      'another field of the file',
      { columns: { spend: { from: 'Spend (USD)' } } },
      'only exports[1] has spend decimal(18,6) from Spend (USD), only exports[0] has spend decimal(18,6)',
    ],
    [
      'another date column',
      { date_column: 'day' },
      'only exports[1] has the date column day, only exports[0] has the date column date',
    ],
  ])('cannot be shared by exports with %s', (_, changes, differences) => {
    expect(second(changes)).toEqual([
      `exports[1].table: exports that share daily need the same columns, but ${differences}`,
    ]);
  });

  it('has a name of its own in the catalog, where a hyphen is an underscore', () => {
    const alike = { ...DAILY, name: 'a', table: 'by-day_1' };
    expect(faultsOf([alike, { ...DAILY, name: 'by_day-1' }])).toEqual([
      'exports[1].table: by_day-1 would have the name of by-day_1 (exports[0]) in the catalog, by_day_1',
    ]);
  });

  it('is left out of a stack without tables, so nothing is wrong with it', () => {
    const other = { ...DAILY, account: 'globex', metrics: ['clicks'] };
    expect(faultsOf([DAILY, other], { tables: false })).toEqual([]);
  });
});

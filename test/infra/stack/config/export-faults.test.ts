import { describe, expect, it } from 'vitest';
import { CONTEXT, configFaults } from '../../../support/stack.ts';

type Changes = Readonly<Record<string, unknown>>;

const [DAILY] = CONTEXT.exports;

function faultsOf(exports: readonly unknown[], changes: Changes = {}): readonly string[] {
  return configFaults({ ...CONTEXT, ...changes, exports });
}

/** The first export is `daily` of acme, which has the metric spend. */
function second(changes: Changes): readonly string[] {
  return faultsOf([DAILY, { ...DAILY, accounts: ['globex'], ...changes }]);
}

describe('columns', () => {
  it.each([
    'string',
    'decimal(18,18)',
    { type: 'bigint' },
    { type: 'bigint', from: 'x'.repeat(100) },
  ])('accept %j', (column) => expect(faultsOf([{ ...DAILY, columns: { spend: column } }])).toEqual([]));

  it.each<[unknown, RegExp]>([
    ['int', /^spend\.type: must be "bigint", "double", "string" or "decimal\(.* with at most 38 digits$/],
    ['decimal(39,0)', /^spend\.type: must be "bigint"/],
    ['decimal(10,11)', /^spend\.type: must be "bigint"/],
    [7, /^spend: must be of type object$/],
    [{ type: 'bigint', round: true }, /^spend\.round: is not a setting$/],
    [{ from: 'x'.repeat(101) }, /^spend\.from: must not have more than 100 characters$/],
    [{ from: 'Spend\n(USD)' }, /^spend\.from: must not have control characters$/],
  ])('refuse %j', (column, fault) => {
    const [named = '', ...others] = faultsOf([{ ...DAILY, columns: { spend: column } }]);
    expect(named.replace('exports[0].columns.', '')).toMatch(fault);
    expect(others).toEqual([]);
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
});

it('an export that reconciles, or warns of a drop, needs tables', () => {
  const exports = [{ ...DAILY, dimensions: ['campaign_id'], reconcile: true, warn_below: 0.5 }];
  expect(faultsOf(exports)).toEqual([]);
  expect(faultsOf(exports, { tables: false })).toEqual([
    'exports[0].reconcile: needs tables',
    'exports[0].warn_below: needs tables',
  ]);
});

describe('a table', () => {
  it('needs a format that can be read', () => {
    const exports = [{ ...DAILY, format: 'XLSX' }];
    expect(faultsOf(exports)).toEqual([
      'exports[0].format: the rows of XLSX cannot be read into a table; ask for JSON or CSV, or set table to false',
    ]);
    expect(faultsOf([{ ...exports[0], table: false }])).toEqual([]);
    expect(faultsOf(exports, { tables: false })).toEqual([]);
  });

  it.each([
    [{ dimensions: ['Spend'] }, 'metrics: Spend and spend would both be the column spend'],
    [{ dimensions: ['date'], metrics: ['date'] }, 'metrics: date and date would both be the column date'],
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
    ['metrics', 'Rows', {}],
  ])('has columns of its own, so %s cannot have %s', (field, name, changes) => {
    expect(faultsOf([{ ...DAILY, [field]: [name], ...changes }])).toEqual([
      `exports[0].${field}: ${name} is a column that tables or their views have already; set table to false`,
    ]);
  });

  it('may have its date among the dimensions', () => {
    expect(faultsOf([{ ...DAILY, dimensions: ['date'] }])).toEqual([]);
  });

  it('is of the name, also for accounts with other advertisers and runs, and columns in any order', () => {
    const metrics = ['clicks', 'spend'];
    const advertiser_ids = ['0b9d4c2a-86f1-4e57-a3c8-1d2e5f7a9b02'];
    const reordered = {
      ...DAILY,
      accounts: ['globex'],
      advertiser_ids,
      metrics: metrics.toReversed(),
      runs: [],
    };
    const dated = { ...reordered, period: 'previous_month' };
    expect(faultsOf([{ ...DAILY, metrics }, dated])).toEqual([]);
  });

  it.each([
    ['another column', { metrics: ['spend', 'clicks'] }],
    ['another type', { columns: { spend: 'bigint' } }],
    ['another field of the file', { columns: { spend: { from: 'Spend (USD)' } } }],
    ['another date column', { date_column: 'day' }],
  ])('has the same columns for all accounts, and not %s', (_, changes) => {
    expect(second(changes)).toEqual([
      'exports[1]: has other columns than exports[0], which has the same name and so the same table',
    ]);
    expect(second({ ...changes, table: false })).toEqual([]);
  });

  it('has a name of its own in the catalog, where a hyphen is an underscore', () => {
    const alike = { ...DAILY, name: 'by-day_1' };
    expect(faultsOf([alike, { ...DAILY, name: 'by_day-1' }])).toEqual([
      'exports[1].name: the table of by-day_1 (exports[0]) would have the same name, by_day_1',
    ]);
  });

  it('is left out of a stack without tables, so nothing is wrong with it', () => {
    const withClicks = { ...DAILY, accounts: ['globex'], metrics: ['clicks'] };
    expect(faultsOf([DAILY, withClicks], { tables: false })).toEqual([]);
  });
});

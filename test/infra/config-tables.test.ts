import { describe, expect, it } from 'vitest';
import { InvalidConfig, parseConfig } from '../../infra/config.ts';
import { CONTEXT } from '../support/stack.ts';

type Changes = Readonly<Record<string, unknown>>;

const [DAILY] = CONTEXT.exports;

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
    { type: 'decimal(10,2)' },
    { type: 'bigint', round: true },
    { type: 'double', round: false },
  ])('accept the type %j', (type) => {
    expect(faultsOf([{ ...DAILY, columns: { spend: type } }])).toEqual([]);
  });

  it.each([
    'int',
    'date',
    'Bigint',
    'decimal',
    'decimal(39,0)',
    'decimal(0,0)',
    'decimal(10,11)',
    'decimal(18, 6)',
    7,
    null,
    {},
    { type: 'double', round: true },
    { type: 'string', round: true },
  ])('refuse the type %j', (type) => {
    expect(faultsOf([{ ...DAILY, columns: { spend: type } }])).toEqual([
      expect.stringMatching(
        /^exports\[0\]\.columns\.spend: must be "bigint", "double", "string", "decimal\(/,
      ),
    ]);
  });

  it('refuse a type with another field', () => {
    expect(faultsOf([{ ...DAILY, columns: { spend: { type: 'bigint', rounds: true } } }])).toEqual([
      'exports[0].columns.spend.rounds: is not a setting',
    ]);
  });

  it('are read in both forms', () => {
    const columns = {
      spend: 'bigint',
      clicks: { type: 'decimal(9,2)', round: true },
      reach: { type: 'double' },
    };
    const metrics = Object.keys(columns);
    const { exports } = parseConfig({ ...CONTEXT, exports: [{ ...DAILY, metrics, columns }] });
    expect(exports[0]?.columns).toEqual({
      spend: { type: 'bigint' },
      clicks: { type: 'decimal(9,2)', round: true },
      reach: { type: 'double' },
    });
  });

  it('may name any metric, any dimension and the advertiser, in any case of letters', () => {
    const columns = { Spend: 'bigint', CAMPAIGN_ID: 'bigint', advertiser_id: 'string' };
    expect(faultsOf([{ ...DAILY, dimensions: ['campaign_id'], columns }])).toEqual([]);
  });

  it('may not name anything else, and name each column once', () => {
    const columns = { clicks: 'bigint', spend: 'bigint', SPEND: 'bigint', day: 'string' };
    expect(faultsOf([{ ...DAILY, columns, date_column: 'Day' }])).toEqual([
      'exports[0].columns.clicks: is neither a metric nor a dimension of the report',
      'exports[0].columns.spend: is repeated in another case of letters',
      'exports[0].columns.SPEND: is repeated in another case of letters',
      'exports[0].columns.day: is the date, which needs no type',
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
  it('cannot hold a metric and a dimension of one name, in any case of letters', () => {
    expect(faultsOf([{ ...DAILY, dimensions: ['Spend'] }])).toEqual([
      'exports[0].metrics: spend is also a dimension',
    ]);
  });

  it.each([
    ['account', {}],
    ['date', { date_column: 'day' }],
  ])('cannot have a column %s, which is a partition', (name, changes) => {
    expect(faultsOf([{ ...DAILY, dimensions: [name], ...changes }])).toEqual([
      `exports[0].table: has a partition named ${name}, like the column; set it to false`,
    ]);
  });

  it('may have its date among the dimensions', () => {
    expect(faultsOf([{ ...DAILY, dimensions: ['date'] }])).toEqual([]);
  });

  it('may be shared by accounts with other advertisers, metrics and dimensions', () => {
    expect(second({ metrics: ['spend', 'clicks'], dimensions: ['campaign_id'] })).toEqual([]);
  });

  it('may be shared by exports of one account that differ only in their dates', () => {
    const monthly = { ...DAILY, name: 'monthly', period: 'previous_month', table: 'daily' };
    expect(faultsOf([DAILY, monthly])).toEqual([]);
  });

  it('is filled by one request per account', () => {
    const other = { ...DAILY, name: 'other', metrics: ['spend', 'clicks'], table: 'daily' };
    expect(faultsOf([DAILY, other])).toEqual([
      'exports[1].table: another request of the account fills daily (exports[0])',
    ]);
  });

  it.each([
    [{ columns: { spend: 'bigint' } }, 'bigint', 'decimal(18,6)'],
    [
      { columns: { spend: { type: 'decimal(18,6)', round: true } } },
      'rounded decimal(18,6)',
      'decimal(18,6)',
    ],
  ])('has one type per column: not with %j', (changes, here, there) => {
    expect(second(changes)).toEqual([
      `exports[1].columns.spend: is ${here} here and ${there} in exports[0], which has the same table, daily`,
    ]);
  });

  it('has one date column', () => {
    expect(second({ date_column: 'day' })).toEqual([
      'exports[1].date_column: the table daily has the date column date (exports[0])',
    ]);
  });

  it('is of a report or of a list', () => {
    const list = { name: 'daily', account: 'globex', kind: 'list', resource: 'campaigns' };
    expect(faultsOf([DAILY, list])).toEqual([
      'exports[1].table: daily is the table of a report (exports[0])',
    ]);
  });

  it('has a name of its own in the catalog, where a hyphen is an underscore', () => {
    const alike = { ...DAILY, name: 'a', table: 'by-day_1' };
    expect(faultsOf([alike, { ...DAILY, name: 'by_day-1' }])).toEqual([
      'exports[1].table: by_day-1 would have the name of by-day_1 (exports[0]) in the catalog, by_day_1',
    ]);
  });

  it('is left out of a stack without tables, so nothing is wrong with it', () => {
    const other = { ...DAILY, name: 'other', metrics: ['clicks'], table: 'daily' };
    expect(faultsOf([DAILY, other], { tables: false })).toEqual([]);
  });
});

it('every fault is named, also beside those of other fields', () => {
  const wrong = { ...DAILY, name: 'b-c', columns: { clicks: 'bigint' }, schedule: { expression: 'daily' } };
  const faults = faultsOf([
    wrong,
    { ...DAILY, name: 'b_c', date_column: '' },
    { ...DAILY, name: 'b_c', account: 'x' },
  ]);
  expect(faults.map((fault) => fault.replace(/: .*/, '')).sort()).toEqual([
    'exports[0].columns.clicks',
    'exports[0].schedule.expression',
    'exports[1].date_column',
    'exports[2].account',
    'exports[2].table',
  ]);
});

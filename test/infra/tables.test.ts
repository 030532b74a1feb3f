import { describe, expect, it } from 'vitest';
import { type ConfiguredEntry, tablesOf } from '../../infra/tables.ts';

const TARGET = { platform: 'api.platform.example/v1', revision: '2026-09-01' };

const DAILY = {
  name: 'daily',
  account: 'acme',
  period: 'yesterday',
  advertiser_ids: ['5f0c1b9e-3a74-4d1b-9c52-7e8d2f6a1b01'],
  metrics: ['spend'],
  schedule: { expression: 'rate(1 day)', expect_every_hours: 24 },
};

const LIST = { name: 'campaigns', account: 'acme', kind: 'list', resource: 'campaigns' };

function tables(...exports: readonly ConfiguredEntry[]) {
  return tablesOf(exports, TARGET);
}

/** `name type` per column of the only table. */
function columns(...exports: readonly ConfiguredEntry[]): string[] {
  const [table, ...others] = tables(...exports);
  expect(others).toEqual([]);
  return (table?.columns ?? []).map(({ name, type, round }) => `${name} ${type}${round ? ' rounded' : ''}`);
}

describe('tables', () => {
  it('are one for each export that has a table', () => {
    const exports = [
      DAILY,
      { ...DAILY, name: 'hourly', granularity: 'HOUR' },
      { ...DAILY, name: 'raw', table: false },
      { ...DAILY, name: 'renamed', table: 'daily-2' },
      {
        name: 'sales',
        account: 'acme',
        kind: 'purchases',
        period: 'yesterday',
        advertiser_id: DAILY.advertiser_ids[0],
      },
      LIST,
    ] as const;
    expect(tables(...exports).map(({ table, kind }) => [table, kind])).toEqual([
      ['daily', 'report'],
      ['daily-2', 'report'],
      ['campaigns', 'list'],
    ]);
  });

  it('have dimensions and the advertiser as texts, and metrics by their names', () => {
    const metrics = ['spend', 'impressions', 'purchase_value', 'Reach'];
    expect(columns({ ...DAILY, metrics })).toEqual([
      'spend decimal(18,6)',
      'impressions bigint',
      'purchase_value decimal(18,6)',
      'reach double',
    ]);
    expect(columns({ ...DAILY, dimensions: ['campaign_id'] })).toEqual([
      'campaign_id string',
      'advertiser_id string',
      'spend decimal(18,6)',
    ]);
  });

  it('take types from columns, in any case of letters', () => {
    const declared = { Spend: { type: 'decimal(20,2)', round: true } } as const;
    expect(columns({ ...DAILY, columns: declared })).toEqual(['spend decimal(20,2) rounded']);
  });

  it('do not repeat the date, which is the partition', () => {
    const dimensions = ['Day'];
    const [table] = tables({ ...DAILY, dimensions, date_column: 'Day' });
    expect(table?.date_column).toBe('Day');
    expect(table?.columns.map(({ name }) => name)).toEqual(['advertiser_id', 'spend']);
  });

  it('are shared by accounts: the columns of all, and a request of each', () => {
    const other = { ...DAILY, account: 'globex', metrics: ['clicks', 'spend'] };
    expect(columns(DAILY, other)).toEqual(['spend decimal(18,6)', 'clicks bigint']);
    const [shared] = tables(DAILY, other);
    expect(shared?.requests).toEqual({
      acme: tables(DAILY)[0]?.requests.acme,
      globex: tables(other)[0]?.requests.globex,
    });
    expect(shared?.requests.acme).not.toBe(shared?.requests.globex);
  });
});

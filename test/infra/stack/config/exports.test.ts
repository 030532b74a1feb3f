import { describe, expect, it } from 'vitest';
import { parseConfig } from '../../../../infra/stack/config/config.ts';
import { type ConfiguredEntry, tablesOf } from '../../../../infra/stack/config/exports.ts';
import { LIST } from '../../../support/requests.ts';
import { CONTEXT } from '../../../support/stack.ts';

const DAILY: ConfiguredEntry = { ...parseConfig(CONTEXT).exports[0] };
const TARGET = { platform: 'api.platform.example/v1', revision: '2026-09-01' };

function tables(...exports: readonly ConfiguredEntry[]) {
  return tablesOf(exports, TARGET, {
    accounts: { globex: { currency: 'USD' }, initech: { currency: 'JPY' } },
  });
}

/** `name type` per column of the only table. */
function columns(...exports: readonly ConfiguredEntry[]): string[] {
  const [table, ...others] = tables(...exports);
  expect(others).toEqual([]);
  return (table?.columns ?? []).map(
    ({ name, type, from }) => `${name} ${type}${from === name ? '' : ` from ${from}`}`,
  );
}

describe('tables', () => {
  it('are one for each export that has a table', () => {
    const exports = [
      DAILY,
      { ...DAILY, name: 'hourly', granularity: 'HOUR' },
      { ...DAILY, name: 'raw', table: false },
      { ...DAILY, name: 'daily-2', table: true },
      {
        name: 'sales',
        account: 'acme',
        kind: 'purchases',
        period: 'yesterday',
        advertiser_id: '5f0c1b9e-3a74-4d1b-9c52-7e8d2f6a1b01',
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
    const metrics = ['spend', 'Impressions', 'cart_value', 'number_of_likes', 'ctr', 'joy.7d'];
    expect(columns({ ...DAILY, metrics })).toEqual([
      'spend decimal(18,6)',
      'impressions bigint from Impressions',
      'cart_value decimal(18,6)',
      'number_of_likes bigint',
      'ctr double',
      'joy_7d double from joy.7d',
    ]);
    expect(columns({ ...DAILY, dimensions: ['campaign_id'] })).toEqual([
      'campaign_id string',
      'advertiser_id string',
      'spend decimal(18,6)',
    ]);
  });

  it('take types and fields from columns, in any case of letters', () => {
    const declared = { Spend: { type: 'decimal(20,2)' }, CLICKS: { from: 'Clicks (all)' } } as const;
    expect(columns({ ...DAILY, metrics: ['spend', 'clicks'], columns: declared })).toEqual([
      'spend decimal(20,2)',
      'clicks bigint from Clicks (all)',
    ]);
  });

  it('do not repeat the date', () => {
    const dimensions = ['Day'];
    const [table] = tables({ ...DAILY, dimensions, date_column: 'Day' });
    expect(table?.date_column).toBe('Day');
    expect(table?.columns.map(({ name }) => name)).toEqual(['advertiser_id', 'spend']);
  });

  it('are one for all accounts, with a request of each', () => {
    const ofGlobex = {
      ...DAILY,
      account: 'globex',
      advertiser_ids: ['0b9d4c2a-86f1-4e57-a3c8-1d2e5f7a9b02'],
    };
    const [shared, ...others] = tables(DAILY, ofGlobex);
    expect(others).toEqual([]);
    expect(shared?.requests).toEqual({
      acme: tables(DAILY)[0]?.requests.acme,
      globex: tables(ofGlobex)[0]?.requests.globex,
    });
    expect(shared?.requests.acme).not.toBe(shared?.requests.globex);
  });

  it('have the currencies of their accounts, unless they are lists', () => {
    const globex = { ...DAILY, account: 'globex', name: 'globex' };
    const list = { ...LIST, account: 'globex' };
    expect(tables(DAILY, globex, list).map(({ currencies }) => currencies)).toEqual([
      {},
      { globex: 'USD' },
      {},
    ]);
  });
});

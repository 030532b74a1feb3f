import { describe, expect, it } from 'vitest';
import { requestHash } from '../../../functions/decisions/request-hash.ts';
import { parseRequest } from '../../../functions/workflow/request/request.ts';

const NOW = new Date('2026-11-21T06:00:00Z');
const ADVERTISERS = ['5f0c1b9e-3a74-4d1b-9c52-7e8d2f6a1b01', '0b9d4c2a-86f1-4e57-a3c8-1d2e5f7a9b02'];
const TARGET = { platform: 'api.platform.example/v1', revision: '2026-09-01' };

const REPORT = {
  name: 'daily',
  account: 'acme',
  period: 'yesterday',
  advertiser_ids: ADVERTISERS,
  metrics: ['spend', 'impressions'],
  dimensions: ['campaign_id', 'campaign_name'],
  options: { filter: { country: 'DE', ids: ['b', 'a'] } },
};
const LIST = {
  name: 'campaigns',
  account: 'acme',
  kind: 'list',
  resource: 'campaigns',
  filters: { state: 'on' },
};

function hashOf(input: object, target = TARGET): string {
  const { request } = parseRequest(input, NOW);
  return requestHash(request, target);
}

describe('the hash of a request', () => {
  it.each([
    ['dates', { period: undefined, start_date: '2025-01-01', end_date: '2025-03-01' }],
    ['the time zone', { time_zone: 'Asia/Tokyo' }],
    ['the format', { format: 'CSV' }],
    ['parallelism', { max_parallel: 1 }],
    ['what an empty day does', { accept_empty: true }],
    ['only_missing', { only_missing: true }],
    ['the name, the account and the table', { name: 'other', account: 'globex', table: 'shared' }],
    ['the order of advertisers', { advertiser_ids: ADVERTISERS.toReversed() }],
    ['the case of advertisers', { advertiser_ids: ADVERTISERS.map((id) => id.toUpperCase()) }],
    [
      'the order of metrics and dimensions',
      {
        metrics: ['impressions', 'spend'],
        dimensions: ['campaign_name', 'campaign_id'],
      },
    ],
    ['the revision of the config, written out', { revision: '2026-09-01' }],
    ['the granularity that is the default', { granularity: 'day' }],
    ['the order of keys in options', { options: { filter: { ids: ['b', 'a'], country: 'DE' } } }],
  ])('does not depend on %s', (_, changes) => {
    expect(hashOf({ ...REPORT, ...changes })).toBe(hashOf(REPORT));
  });

  it.each([
    ['an advertiser', { advertiser_ids: ADVERTISERS.slice(1) }],
    ['the place of the rows', { rows: 'data.items' }],
    ['a metric', { metrics: ['spend'] }],
    ['a dimension', { dimensions: ['campaign_id'] }],
    ['all dimensions', { dimensions: undefined }],
    ['the granularity', { granularity: 'HOUR' }],
    ['the revision', { revision: '2026-10-01' }],
    ['an option', { options: { filter: { country: 'FR', ids: ['b', 'a'] } } }],
    ['the order of a list in an option', { options: { filter: { country: 'DE', ids: ['a', 'b'] } } }],
  ])('changes with %s', (_, changes) => {
    expect(hashOf({ ...REPORT, ...changes })).not.toBe(hashOf(REPORT));
  });

  it('changes with the platform and with the revision of the config', () => {
    const targets = [
      TARGET,
      { ...TARGET, platform: 'api.other.example' },
      { ...TARGET, revision: '2026-10-01' },
    ];
    expect(new Set(targets.map((target) => hashOf(REPORT, target))).size).toBe(3);
  });

  it.each([
    ['a page', { limit: 10 }, true],
    ['a snapshot', { snapshot_date: '2026-01-01' }, true],
    ['the resource', { resource: 'audiences' }, false],
    ['a filter', { filters: { state: 'off' } }, false],
  ])('of a list: %s', (_, changes, isSame) => {
    expect(hashOf({ ...LIST, ...changes }) === hashOf(LIST)).toBe(isSame);
  });

  it.each([
    ['the dates', { start_date: '2026-09-01' }, true],
    ['the advertiser', { advertiser_id: ADVERTISERS[1] }, false],
    ['an option', { options: { currency: 'USD' } }, false],
  ])('of purchases: %s', (_, changes, isSame) => {
    const dates = { start_date: '2026-10-01', end_date: '2026-11-01' };
    const purchases = {
      name: 'orders',
      account: 'acme',
      kind: 'purchases',
      ...dates,
      advertiser_id: ADVERTISERS[0],
    };
    expect(hashOf({ ...purchases, ...changes }) === hashOf(purchases)).toBe(isSame);
  });
});

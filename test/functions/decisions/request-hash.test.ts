import { expect, it } from 'vitest';
import { platformName, requestHash, targetOf } from '../../../functions/decisions/request-hash.ts';
import { PURCHASES, parsed } from '../../support/requests.ts';

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
const LIST = { name: 'all', account: 'acme', kind: 'list', resource: 'campaigns', filters: { state: 'on' } };

function hashOf(input: object, target = TARGET): string {
  return requestHash(parsed(input).request, target);
}

it('the platform is the setting of its name, or else the host and path of its address', () => {
  const settings = { PLATFORM_BASE_URL: 'https://api.platform.example/v1', PLATFORM_REVISION: '2026-09-01' };
  expect(targetOf(settings)).toEqual(TARGET);
  const target = { platform: 'sandbox', revision: '2026-09-01' };
  expect(targetOf({ ...settings, PLATFORM_NAME: 'sandbox' })).toEqual(target);
});

it('the hash of a request stays what it was when its days were delivered', () => {
  const minimal = { name: 'daily', account: 'acme', period: 'yesterday', advertiser_ids: [ADVERTISERS[0]] };
  const hashes = {
    report: hashOf({ ...minimal, metrics: ['spend'] }),
    list: hashOf({ ...LIST, filters: {} }),
  };
  expect(hashes).toEqual({
    report: '8dba100c4f145ce579d8814214c24f5a1cb971135ef619902f34bcbc06c775a0',
    list: '30e8bafda14fd6c6178ebe9f1406573817e1647e315c9d50198dd0e1473c0de2',
  });
});

it.each<[string, object, object]>([
  ['dates', REPORT, { period: undefined, start_date: '2025-01-01', end_date: '2025-03-01' }],
  ['the time zone', REPORT, { time_zone: 'Asia/Tokyo' }],
  ['the format and parallelism', REPORT, { format: 'CSV', max_parallel: 1 }],
  ['what an empty day does, and only_missing', REPORT, { accept_empty: true, only_missing: true }],
  ['what is compared', REPORT, { reconcile: true, reconcile_tolerance: { spend: 0.1 }, warn_below: 0.5 }],
  ['the name, the account and the table', REPORT, { name: 'other', account: 'globex', table: false }],
  ['the order of advertisers', REPORT, { advertiser_ids: ADVERTISERS.toReversed() }],
  ['the case of advertisers', REPORT, { advertiser_ids: ADVERTISERS.map((id) => id.toUpperCase()) }],
  ['the order of metrics', REPORT, { metrics: REPORT.metrics.toReversed() }],
  ['the order of dimensions', REPORT, { dimensions: REPORT.dimensions.toReversed() }],
  ['the revision of the config, written out', REPORT, { revision: '2026-09-01' }],
  ['the granularity that is the default', REPORT, { granularity: 'day' }],
  ['the order of keys in options', REPORT, { options: { filter: { ids: ['b', 'a'], country: 'DE' } } }],
  ['the page and the day of a list', LIST, { limit: 10, snapshot_date: '2026-01-01' }],
  ['the dates of purchases', PURCHASES, { start_date: '2026-09-01' }],
])('the hash does not depend on %s', (_, request, changes) => {
  expect(hashOf({ ...request, ...changes })).toBe(hashOf(request));
});

it.each<[string, object, object]>([
  ['an advertiser', REPORT, { advertiser_ids: ADVERTISERS.slice(1) }],
  ['the place of the rows', REPORT, { rows: 'data.items' }],
  ['a metric', REPORT, { metrics: ['spend'] }],
  ['a dimension', REPORT, { dimensions: ['campaign_id'] }],
  ['the granularity', REPORT, { granularity: 'HOUR' }],
  ['the revision', REPORT, { revision: '2026-10-01' }],
  ['an option', REPORT, { options: { filter: { country: 'FR', ids: ['b', 'a'] } } }],
  ['the order of a list in an option', REPORT, { options: { filter: { country: 'DE', ids: ['a', 'b'] } } }],
  ['the resource of a list', LIST, { resource: 'audiences' }],
  ['a filter of a list', LIST, { filters: { state: 'off' } }],
  ['the advertiser of purchases', PURCHASES, { advertiser_id: ADVERTISERS[1] }],
  ['an option of purchases', PURCHASES, { options: { currency: 'USD' } }],
])('the hash changes with %s', (_, request, changes) => {
  expect(hashOf({ ...request, ...changes })).not.toBe(hashOf(request));
});

it('the hash changes with the platform and with the revision of the config', () => {
  expect(hashOf(REPORT, { ...TARGET, platform: 'api.other.example' })).not.toBe(hashOf(REPORT));
  expect(hashOf(REPORT, { ...TARGET, revision: '2026-10-01' })).not.toBe(hashOf(REPORT));
});

it('a platform is named without its port', () => {
  const urls = ['https://api.platform.example/v1', 'https://api.platform.example/', 'http://127.0.0.1:40123'];
  expect(urls.map(platformName)).toEqual(['api.platform.example/v1', 'api.platform.example', '127.0.0.1']);
});

import { describe, expect, it } from 'vitest';
import { platformName, platformRequest } from '../../../functions/decisions/platform-request.ts';
import type { ListRequest, PurchasesRequest } from '../../../functions/workflow/request/request.ts';
import { windowOf } from '../../support/steps.ts';

const ADVERTISER = '7d2f8a54-5f0e-4a3c-9f5e-0f4b8a1c2d3e';
const range = { start_date: '2026-01-01', end_date: '2026-10-01' };
const window = { start_date: '2026-03-01', end_date: '2026-04-01' };
const common = { name: 'daily', account: 'acme', max_parallel: 1, revision: '2026-05-01', ...range };
const report = { ...windowOf([ADVERTISER]).request, ...range };
const purchases: PurchasesRequest = {
  ...common,
  kind: 'purchases',
  advertiser_id: ADVERTISER,
  options: { currency: 'USD' },
};
const list: ListRequest = {
  ...common,
  kind: 'list',
  resource: 'campaigns',
  limit: 20,
  filters: { status: 'active' },
};
const body = {
  ...window,
  advertiser_ids: [ADVERTISER],
  metrics: ['spend'],
  granularity: 'DAY',
  format: 'JSON',
};

describe('platformRequest', () => {
  it('sends the window’s dates and the platform’s fields for a report (contract 2.2)', () => {
    expect(platformRequest(report, window)).toStrictEqual(body);
    const dimensions = ['campaign_id'];
    expect(platformRequest({ ...report, dimensions }, window)).toStrictEqual({ ...body, dimensions });
  });

  it('does not send fields that only the table reads', () => {
    const ours = { table: 'shared', rows: 'data.items', accept_empty: true };
    expect(platformRequest({ ...report, ...ours }, window)).toStrictEqual(body);
  });

  it('adds the options, which cannot replace a field of the request', () => {
    const options = { attribution_window: { days: 7 }, format: 'CSV', start_date: '1999-01-01' };
    expect(platformRequest({ ...report, options }, window)).toStrictEqual({
      ...body,
      attribution_window: { days: 7 },
    });
    expect(platformRequest({ ...purchases, options: { start_date: '1999-01-01' } }, window)).toMatchObject(
      range,
    );
  });

  it('queries purchases for the whole range (contract 2.4)', () => {
    const query = { currency: 'USD', advertiser_id: ADVERTISER, ...range };
    expect(platformRequest(purchases, window)).toStrictEqual(query);
  });

  it.each([
    {},
    { items: 'data.items' },
  ])('lists with the filters of the request and %j (contract 8)', (items) => {
    const query = { resource: 'campaigns', limit: 20, filters: { status: 'active' }, ...items };
    expect(platformRequest({ ...list, ...items }, window)).toStrictEqual(query);
  });
});

describe('platformName', () => {
  it.each([
    ['https://api.platform.example/v1', 'api.platform.example/v1'],
    ['https://api.platform.example/', 'api.platform.example'],
    ['http://127.0.0.1:40123', '127.0.0.1'],
  ])('of %s is %s', (baseUrl, name) => {
    expect(platformName(baseUrl)).toBe(name);
  });
});

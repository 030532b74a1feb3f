import { describe, expect, it } from 'vitest';
import {
  listQuery,
  platformName,
  platformRequest,
  purchaseQuery,
  reportBody,
} from '../../../functions/decisions/platform-request.ts';
import type { ListRequest, PurchasesRequest } from '../../../functions/workflow/request/request.ts';
import { windowOf } from '../../support/steps.ts';

const ADVERTISER = '7d2f8a54-5f0e-4a3c-9f5e-0f4b8a1c2d3e';
const { request: report } = windowOf([ADVERTISER]);
const common = { name: 'daily', account: 'acme', max_parallel: 1, revision: '2026-05-01' };
const range = { start_date: '2026-01-01', end_date: '2026-10-01' };
const window = { start_date: '2026-03-01', end_date: '2026-04-01' };
const purchases: PurchasesRequest = {
  ...{ ...common, ...range, kind: 'purchases', advertiser_id: ADVERTISER },
  options: { currency: 'USD' },
};
const list: ListRequest = {
  ...{ ...common, ...range, kind: 'list', resource: 'campaigns', limit: 20 },
  filters: { status: 'active' },
};

describe('what is asked of the platform', () => {
  it('for a window of a report is its body: the window’s dates, and nothing of ours (contract 2.2)', () => {
    const body = {
      ...window,
      advertiser_ids: [ADVERTISER],
      ...{ metrics: ['spend'], granularity: 'DAY', format: 'JSON' },
    };
    expect(platformRequest({ ...report, ...range }, window)).toStrictEqual(body);
    const dimensions = ['campaign_id'];
    expect(platformRequest({ ...report, dimensions }, window)).toStrictEqual({ ...body, dimensions });
  });

  it('has the options beside what the request names itself, which they cannot replace', () => {
    const options = { attribution_window: { days: 7 }, format: 'CSV', start_date: '1999-01-01' };
    expect(reportBody({ ...report, options }, window)).toMatchObject({
      ...{ ...window, format: 'JSON' },
      attribution_window: { days: 7 },
    });
    expect(purchaseQuery({ ...purchases, options: { start_date: '1999-01-01' } })).toMatchObject(range);
  });

  it('for purchases is the query of the whole range (contract 2.4)', () => {
    const query = { currency: 'USD', advertiser_id: ADVERTISER, ...range };
    expect(platformRequest(purchases, window)).toStrictEqual(query);
  });

  it('for a list is its pages, with the path of the items where one is named (contract 8)', () => {
    const pages = { resource: 'campaigns', limit: 20, filters: { status: 'active' } };
    expect(platformRequest(list, window)).toStrictEqual(pages);
    expect(listQuery({ ...list, items: 'data.items' })).toStrictEqual({ ...pages, items: 'data.items' });
  });
});

describe('the platform that is asked', () => {
  it.each([
    ['https://api.platform.example/v1', 'api.platform.example/v1'],
    ['https://api.platform.example/', 'api.platform.example'],
    ['http://127.0.0.1:40123', '127.0.0.1'],
  ])('%s is %s, whatever its port', (baseUrl, name) => {
    expect(platformName(baseUrl)).toBe(name);
  });
});

import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { send, startClient } from './client.ts';

const LISTS = ['advertisers', 'campaigns', 'audiences', 'creatives', 'impression_tracking'];

test('every list serves a page of items with id and created_at (contract 4.6)', async () => {
  const { call } = await startClient();
  for (const list of LISTS) {
    const { status, json } = await call('GET', `/${list}`);
    expect([list, status]).toEqual([list, 200]);
    expect(json.data?.[0]).toMatchObject({ id: expect.any(String), created_at: expect.any(String) });
  }
});

test('every list needs its own scope (contract 5.3)', async () => {
  const { call } = await startClient({ credentials: [{ scopes: ['reporting:read'] }] });
  for (const list of LISTS) {
    const { status, envelope } = await call('GET', `/${list}`);
    expect(status).toBe(403);
    expect(envelope.message).toContain(`${list}:read`);
  }
});

test('limit is the length of a page: default 20, maximum 5000 (contract 8)', async () => {
  const { call } = await startClient({ lists: { campaigns: { count: 6000 } } });
  const lengthOf = async (query: string) => (await call('GET', `/campaigns${query}`)).json.data?.length;
  expect(await lengthOf('')).toBe(20);
  expect(await lengthOf('?limit=7')).toBe(7);
  expect(await lengthOf('?limit=5000')).toBe(5000);
});

test('an invalid limit, offset or bound is 422 (contract 8)', async () => {
  const { call } = await startClient();
  const limits = ['limit=5001', 'limit=0', 'limit=-1', 'limit=many'];
  for (const query of [...limits, 'offset=-1', 'offset=1.5', 'created_at_lte=soon']) {
    expect([query, (await call('GET', `/campaigns?${query}`)).status]).toEqual([query, 422]);
  }
});

test('the pages together hold every item once (contract 8)', async () => {
  const { call } = await startClient({ lists: { campaigns: { count: 1234 } } });
  const ids: string[] = [];
  for (let offset = 0; offset < 1500; offset += 500) {
    const { json } = await call('GET', `/campaigns?limit=500&offset=${offset}`);
    ids.push(...(json.data ?? []).map(({ id }) => id));
  }
  expect(ids).toHaveLength(1234);
  expect(new Set(ids).size).toBe(1234);
});

test('items created between two pages repeat others, unless created_at has a bound (contract 8)', async () => {
  const { call, now } = await startClient({ lists: { campaigns: { count: 40, growPerPage: 3 } } });
  const before = new Date(now() - 1).toISOString();
  const readTwoPages = async (filter: string) => {
    const ids: string[] = [];
    for (const offset of [0, 20]) {
      const { json } = await call('GET', `/campaigns?limit=20&offset=${offset}${filter}`);
      ids.push(...(json.data ?? []).map(({ id }) => id));
    }
    return { read: ids.length, different: new Set(ids).size };
  };
  expect(await readTwoPages('')).toEqual({ read: 40, different: 37 });
  expect(await readTwoPages(`&created_at_lte=${before}`)).toEqual({ read: 40, different: 40 });
});

test('options put the oldest item first and rename the bound (contract 8)', async () => {
  const { call, now } = await startClient({
    lists: { campaigns: { count: 3, order: 'oldest' } },
    createdAtParameter: 'created_before',
  });
  const bound = new Date(now() - 120_000).toISOString();
  const { data = [] } = (await call('GET', `/campaigns?created_before=${bound}`)).json;
  expect(data.map(({ created_at }) => now() - Date.parse(created_at))).toEqual([180_000, 120_000]);
});

test('the campaigns of a report are in the list, with the same names', async () => {
  const { call, ready } = await startClient();
  const { url } = await ready({ start_date: '2026-10-31', dimensions: ['campaign_id', 'campaign_name'] });
  const rows: Record<string, string>[] = JSON.parse((await send('GET', url)).text);
  const { data = [] } = (await call('GET', '/campaigns?limit=100')).json;
  const names = new Map(data.map(({ id, name }) => [id, name]));
  expect(rows.length).toBeGreaterThan(10);
  for (const { campaign_id = '', campaign_name } of rows) expect(names.get(campaign_id)).toBe(campaign_name);
});

test.each([
  [null, (json: unknown) => json],
  ['campaigns', (json: unknown) => Object(json).campaigns],
])('listWrapper %s changes the wrapper of a page (contract 4.6)', async (listWrapper, itemsOf) => {
  const { call } = await startClient({ listWrapper });
  expect(itemsOf((await call('GET', '/campaigns')).json)).toHaveLength(20);
});

test('GET /advertisers lists only granted advertisers (contract 5.5)', async () => {
  const [granted, other] = [randomUUID(), randomUUID()];
  const { call } = await startClient({
    advertiserIds: [granted, other],
    credentials: [{ advertisers: { kind: 'specific', ids: [granted] } }],
  });
  expect((await call('GET', '/advertisers')).json.data?.map(({ id }) => id)).toEqual([granted]);
});

import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { visit } from './visitor.ts';

const LISTS = ['advertisers', 'campaigns', 'audiences', 'creatives', 'impression_tracking'];

test.each(LISTS)('4.6: GET /%s answers a page of items with id and created_at', async (resource) => {
  const { call } = await visit();
  const { status, json } = await call('GET', `/${resource}`);
  expect(status).toBe(200);
  expect(json.data?.[0]).toMatchObject({ id: expect.any(String), created_at: expect.any(String) });
});

test.each(LISTS)('5.3: GET /%s needs its own scope', async (resource) => {
  const { call } = await visit({ credentials: [{ scopes: ['reporting:read'] }] });
  const { status, envelope } = await call('GET', `/${resource}`);
  expect(status).toBe(403);
  expect(envelope.message).toContain(`${resource}:read`);
});

test('8: a page has 20 items unless limit says otherwise, and at most 5000', async () => {
  const { call } = await visit({ lists: { campaigns: { count: 6000 } } });
  const lengthOf = async (query: string) => (await call('GET', `/campaigns${query}`)).json.data?.length;
  expect(await lengthOf('')).toBe(20);
  expect(await lengthOf('?limit=7')).toBe(7);
  expect(await lengthOf('?limit=5000')).toBe(5000);
});

test.each([
  'limit=5001',
  'limit=0',
  'limit=-1',
  'limit=many',
  'offset=-1',
  'offset=1.5',
  'created_at_lte=soon',
])('8: %s is 422', async (query) => {
  const { call } = await visit();
  expect((await call('GET', `/campaigns?${query}`)).status).toBe(422);
});

test('8: pages by offset hold every item once', async () => {
  const { call } = await visit({ lists: { campaigns: { count: 1234 } } });
  const ids: string[] = [];
  for (let offset = 0; offset < 1500; offset += 500) {
    const { json } = await call('GET', `/campaigns?limit=500&offset=${offset}`);
    ids.push(...(json.data ?? []).map(({ id }) => id));
  }
  expect(ids).toHaveLength(1234);
  expect(new Set(ids).size).toBe(1234);
});

test('8: what is created between pages moves the rest; a bound on created_at keeps it in place', async () => {
  const { call, now } = await visit({ lists: { campaigns: { count: 40, growPerPage: 3 } } });
  const before = new Date(now() - 1).toISOString();
  const read = async (filter: string) => {
    const ids: string[] = [];
    for (const offset of [0, 20]) {
      const { json } = await call('GET', `/campaigns?limit=20&offset=${offset}${filter}`);
      ids.push(...(json.data ?? []).map(({ id }) => id));
    }
    return { read: ids.length, different: new Set(ids).size };
  };
  expect(await read('')).toEqual({ read: 40, different: 37 });
  expect(await read(`&created_at_lte=${before}`)).toEqual({ read: 40, different: 40 });
});

test('8: the oldest can come first, and the bound can have another name', async () => {
  const { call, now } = await visit({
    lists: { campaigns: { count: 3, order: 'oldest' } },
    createdAtParameter: 'created_before',
  });
  const bound = new Date(now() - 120_000).toISOString();
  const names = (await call('GET', `/campaigns?created_before=${bound}`)).json.data?.map(({ name }) => name);
  expect(names).toEqual(['campaigns 1', 'campaigns 2']);
});

test.each([
  [null, (json: unknown) => json],
  ['campaigns', (json: unknown) => Object(json).campaigns],
])('4.6: the wrapper %s is as the options say', async (listWrapper, itemsOf) => {
  const { call } = await visit({ listWrapper });
  expect(itemsOf((await call('GET', '/campaigns')).json)).toHaveLength(20);
});

test('5.5: GET /advertisers lists those within the advertiser scope', async () => {
  const [mine, other] = [randomUUID(), randomUUID()];
  const { call } = await visit({
    advertiserIds: [mine, other],
    credentials: [{ advertisers: { kind: 'specific', ids: [mine] } }],
  });
  expect((await call('GET', '/advertisers')).json.data?.map(({ id }) => id)).toEqual([mine]);
});

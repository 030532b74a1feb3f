import { expect, test } from 'vitest';
import { listPages } from '../../../functions/platform/lists.ts';
import { AnswerUnreadable, ExportError } from '../../../functions/workflow/errors.ts';
import type { ListRequest } from '../../../functions/workflow/request/request.ts';
import { json, listen, type Seen } from '../../support/listen.ts';
import { bearer, errorOf, platformAt } from '../../support/platform.ts';

/** All items of the list at this URL. */
async function collect(url: string, asked: Partial<ListRequest> = {}, warnings: string[] = []) {
  const items: unknown[] = [];
  const list = { resource: 'campaigns', limit: 5_000, filters: {}, ...asked };
  const pages = listPages(platformAt(url), bearer, list, (warning) => warnings.push(warning));
  for await (const page of pages) items.push(...page);
  return items;
}

function queryOf(seen: Seen | undefined): Record<string, string> {
  return Object.fromEntries(new URL(seen?.path ?? '', 'http://x').searchParams);
}

/** A server of `total` campaigns, each answer shaped by `wrap`. */
function campaigns(total: number, wrap: (items: unknown[]) => unknown = (items) => items) {
  return listen((seen, response) => {
    const { limit, offset } = queryOf(seen);
    const length = Math.max(0, Math.min(Number(limit), total - Number(offset)));
    json(response, 200, wrap(Array.from({ length }, (_, i) => ({ id: `c-${Number(offset) + i}` }))));
  });
}

test.each([
  ['12,345 items', 12_345, {}, 5_000, ['5000 0', '5000 5000', '5000 10000', '5000 12345']],
  ['a full last page', 6, { limit: 3 }, 3, ['3 0', '3 3', '3 6']],
  ['no items', 0, {}, 5_000, ['5000 0']],
  ['smaller pages than the limit', 45, {}, 20, ['5000 0', '5000 20', '5000 40', '5000 45']],
])('contract 8: %s', async (_, total, asked, pageSize, requests) => {
  await using server = await campaigns(total, (items) => items.slice(0, pageSize));
  const ids = (await collect(server.url, asked)).map((item) => (item as { id: string }).id);
  expect(ids).toEqual(Array.from({ length: total }, (_item, at) => `c-${at}`));
  expect(server.requests.map(queryOf).map(({ limit, offset }) => `${limit} ${offset}`)).toEqual(requests);
});

test.each([
  [200, [{ id: 1 }]],
  [200, []],
  [400, {}],
  [404, {}],
])('a short first page is the whole list if the second request answers %i %o', async (status, body) => {
  await using server = await listen((seen, response) =>
    queryOf(seen).offset === '0' ? json(response, 200, [{ id: 1 }]) : json(response, status, body),
  );
  expect(await collect(server.url)).toEqual([{ id: 1 }]);
  expect(server.requests).toHaveLength(2);
});

test.each<[string, number[], RegExp[]]>([
  ['a refused offset after a full page ends the list', [2, 2], [/^the platform refused offset 4, /]],
  ['a refused offset after a short page ends the list', [2, 1], []],
  ['a short page with more items after it', [2, 1, 2], [/^a page in the middle /, /refused offset 5/]],
])('60: %s: pages of %o', async (_, lengths, expected) => {
  await using server = await listen((seen, response) => {
    const { offset } = queryOf(seen);
    const length = lengths[server.requests.length - 1];
    if (length === undefined) return json(response, 422, {});
    json(
      response,
      200,
      Array.from({ length }, (_item, at) => Number(offset) + at),
    );
  });
  const warnings: string[] = [];
  const items = await collect(server.url, { limit: 2 }, warnings);
  expect(items).toEqual(Array.from(items.keys()));
  expect(items).toHaveLength(lengths.reduce((total, length) => total + length));
  expect(warnings).toEqual(expected.map((pattern) => expect.stringMatching(pattern)));
});

test.each([401, 500])('a list fails if the second request answers %i', async (status) => {
  await using server = await listen((seen, response) =>
    queryOf(seen).offset === '0' ? json(response, 200, [{ id: 1 }]) : json(response, status, {}),
  );
  expect(await errorOf(ExportError, collect(server.url))).toMatchObject({ facts: { status } });
});

test('contract 8: filters are sent with each page and cannot replace limit or offset', async () => {
  await using server = await campaigns(4);
  await collect(server.url, { limit: 3, filters: { 'created_at[lt]': '2026-10-01', limit: '9' } });
  expect(queryOf(server.requests[1])).toEqual({ 'created_at[lt]': '2026-10-01', limit: '3', offset: '3' });
});

test('contract 4.6: the items are found in a bare array, in the only array, and at the configured path', async () => {
  const wraps: [(items: unknown[]) => unknown, Partial<ListRequest>][] = [
    [(items) => items, {}],
    [(items) => ({ campaigns: items, total: 2 }), {}],
    [(items) => ({ data: { items }, warnings: [] }), { items: 'data.items' }],
    [(items) => ({ a: [], b: items }), { items: 'b' }],
  ];
  for (const [wrap, asked] of wraps) {
    await using server = await campaigns(2, wrap);
    expect(await collect(server.url, asked)).toEqual([{ id: 'c-0' }, { id: 'c-1' }]);
  }
});

test.each([
  ['no array', { data: {} }, {}, 'no single array of items (none): name its path with the setting "items"'],
  ['two arrays', { a: [], b: [] }, {}, 'no single array of items (a, b)'],
  [
    'a nested array beside one',
    { data: { items: [1] }, notes: [] },
    {},
    'array of items (data.items, notes)',
  ],
  ['no array at the path', { data: [] }, { items: 'data.items' }, 'no array at "data.items"'],
  ['nothing on the path', {}, { items: 'data.more.items' }, 'no array at "data.more.items"'],
  ['no object at all', null, { items: 'data' }, 'no array at "data"'],
])('an answer with %s is unreadable, and the error names the setting', async (_what, body, asked, reason) => {
  await using server = await listen((_seen, response) => json(response, 200, body));
  const error = await errorOf(AnswerUnreadable, collect(server.url, asked));
  expect(error.happened).toContain(reason);
});

test.each<[string, (answers: number) => unknown]>([
  ['the same answer', () => [{ id: 1 }, { id: 2 }]],
  ['the same items in a wrapper that changes', (answers) => ({ answers, items: [{ id: 1 }, { id: 2 }] })],
])('a server that ignores offset is stopped at the second page: %s', async (_, body) => {
  let answers = 0;
  await using server = await listen((_seen, response) => {
    answers += 1;
    json(response, answers > 5 ? 500 : 200, body(answers));
  });
  const error = await errorOf(AnswerUnreadable, collect(server.url, { limit: 2 }));
  expect(error.happened).toContain('offset has no effect');
  expect(server.requests).toHaveLength(2);
});

test('a server that ignores limit is stopped at the first page', async () => {
  await using server = await listen((_seen, response) => json(response, 200, [1, 2, 3]));
  const error = await errorOf(AnswerUnreadable, collect(server.url, { limit: 2 }));
  expect(error.happened).toContain('3 items where the limit is 2');
});

test('contract 2.6: numbers that JavaScript cannot hold are written unchanged', async () => {
  const row = '{"id":1234567890123456789,"spend":1.10,"clicks":7,"e":1e400,"n":-0}';
  await using server = await listen((_seen, response) => response.writeHead(200).end(`[${row}]`));
  const items = await collect(server.url);
  expect(items.map((item) => JSON.stringify(item))).toEqual([row]);
  expect(items).toMatchObject([{ clicks: 7 }]);
});

import { describe, expect, it, test } from 'vitest';
import { listPages } from '../../../functions/platform/lists.ts';
import { AnswerUnreadable, ExportError } from '../../../functions/workflow/errors.ts';
import type { ListRequest } from '../../../functions/workflow/request/request.ts';
import type { ListProgress } from '../../../functions/workflow/state-parts.ts';
import { json, listen, type Seen } from '../../support/listen.ts';
import { bearer, errorOf, platformAt } from '../../support/platform.ts';

/** All items of the list at this URL. */
async function collect(url: string, asked: Partial<ListRequest> = {}, warnings: string[] = []) {
  const items: unknown[] = [];
  const list = { resource: 'campaigns', limit: 5_000, filters: {}, ...asked };
  const pages = listPages(platformAt(url), bearer, list, (warning) => warnings.push(warning));
  for await (const { items: page } of pages) items.push(...page);
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

interface Query {
  readonly limit: number;
  readonly offset: number;
  /** The number of requests before this one. */
  readonly before: number;
}

/** The status and the body of an answer. A body that is a string is sent as it is. */
type Reply = readonly [number, unknown];

/** A server with these answers. */
function answering(answer: (query: Query) => Reply) {
  let before = 0;
  return listen((seen, response) => {
    const { limit, offset } = queryOf(seen);
    const [status, body] = answer({ limit: Number(limit), offset: Number(offset), before: before++ });
    if (body === undefined || typeof body === 'string') response.writeHead(status).end(body);
    else json(response, status, body);
  });
}

const ids = (from: number, to: number) =>
  Array.from({ length: Math.max(0, to - from) }, (_, at) => ({ id: `c-${from + at}` }));

/** The items of a page on a server that has `total`, and at most `clamp` on a page. */
const pageOf = ({ limit, offset }: Query, total: number, clamp = limit) =>
  ids(offset, Math.min(total, offset + Math.min(limit, clamp)));

const REFUSED: Reply = [400, { error: { type: 'validation', message: 'offset is too large' } }];

describe('60: a list ends', () => {
  it.each<[string, (query: Query) => Reply]>([
    ['an empty array', () => [200, []]],
    ['null', () => [200, null]],
    ['null under its name', () => [200, { campaigns: null }]],
    ['null beside other arrays and a count', () => [200, { campaigns: null, notes: [], total: 25 }]],
    ['an object without the field', () => [200, { total: 25, has_more: false, request_id: 'q' }]],
    ['an empty object in place of the array', () => [200, { campaigns: {} }]],
    ['an object without fields', () => [200, {}]],
    ['no content', () => [204, undefined]],
    ['an empty body', () => [200, '']],
    ['blanks', () => [200, ' \n']],
    ['a refused offset', () => REFUSED],
    ['an offset that is not found', () => [404, '<html>']],
    ['the first page again', ({ limit }) => [200, { campaigns: ids(0, limit) }]],
    ['the last page again', () => [200, { campaigns: ids(20, 25) }]],
  ])('by %s', async (_, end) => {
    await using server = await answering((query) =>
      query.offset >= 25 ? end(query) : [200, { campaigns: pageOf(query, 25) }],
    );
    const warnings: string[] = [];
    expect(await collect(server.url, { limit: 10 }, warnings)).toEqual(ids(0, 25));
    expect(warnings).toEqual([]);
  });
});

test.each<[string, Partial<ListRequest>, (query: Query) => Reply]>([
  ['a full last page', { limit: 5 }, (query) => (query.offset >= 25 ? REFUSED : [200, pageOf(query, 25)])],
  ['pages of a clamped size', {}, (query) => (query.offset >= 25 ? REFUSED : [200, pageOf(query, 25, 5)])],
  [
    'a total, on a server that refuses pages that reach behind it',
    { limit: 10 },
    (query) => (query.offset + query.limit > 30 ? REFUSED : [200, { items: pageOf(query, 25), total: 25 }]),
  ],
  [
    'one request that fails',
    { limit: 10 },
    (query) => (query.before === 1 ? REFUSED : [200, pageOf(query, 25)]),
  ],
  [
    'a last page to which offsets are clamped',
    { limit: 10 },
    (query) => [200, pageOf({ ...query, offset: Math.min(query.offset, 20) }, 25)],
  ],
])('60: a refused or repeated page behind %s leaves the whole list', async (_, asked, answer) => {
  await using server = await answering(answer);
  const warnings: string[] = [];
  expect(await collect(server.url, asked, warnings)).toEqual(ids(0, 25));
  expect(warnings).toEqual([]);
});

type Failing = [string, RegExp, Partial<ListRequest>, (query: Query) => Reply];

test.each<Failing>([
  [
    'an offset ceiling',
    /refused offset 20 with 400 \(validation: offset is too large\), and a page that begins at the last item has more/,
    { limit: 10 },
    (query) => (query.offset >= 20 ? REFUSED : [200, pageOf(query, 50)]),
  ],
  [
    'a ceiling for offset and limit',
    /no other page shows that the list has ended/,
    { limit: 10 },
    (query) => (query.offset + query.limit > 20 ? REFUSED : [200, pageOf(query, 50)]),
  ],
  [
    'a refusal behind a clamped first page',
    /a page that begins at the last item has more/,
    {},
    (query) => (query.offset >= 10 ? [404, {}] : [200, pageOf(query, 50, 10)]),
  ],
  [
    'a refusal although there is a larger count',
    /it counts 50 items/,
    { limit: 10 },
    (query) => (query.offset >= 10 ? REFUSED : [200, { meta: { total_count: '50' }, items: ids(0, 10) }]),
  ],
  [
    'a ceiling where the count is only that of the page',
    /has more/,
    { limit: 10 },
    (query) => (query.offset >= 10 ? REFUSED : [200, { count: 10, items: pageOf(query, 50) }]),
  ],
  [
    'a ceiling, and pages of one item',
    /Give the request a larger limit/,
    { limit: 1 },
    (query) => (query.offset >= 5 ? REFUSED : [200, pageOf(query, 50)]),
  ],
  [
    'a ceiling, and pages that are clamped to one item',
    /the platform sends one item a page/,
    {},
    (query) => (query.offset >= 5 ? REFUSED : [200, pageOf(query, 50, 1)]),
  ],
  [
    'an empty page although there is a larger count',
    /it counts 50 items, and its pages have 20/,
    { limit: 10 },
    (query) => [200, { items: pageOf(query, 20), total: query.offset < 20 ? 50 : 0 }],
  ],
  [
    'a server that ignores the offset, although there is a larger count',
    /it counts 50 items/,
    {},
    () => [200, { items: ids(0, 10), total: 50 }],
  ],
  [
    'a server that ignores the offset, and pages of the limit',
    /offset has no effect/,
    { limit: 2 },
    () => [200, ids(0, 2)],
  ],
  [
    'a list that goes in circles',
    /the list begins again: of 50 items, 23 are different/,
    { limit: 10 },
    ({ offset }) => [200, ids(offset, offset + 10).map((_item, at) => ({ id: (offset + at) % 23 }))],
  ],
  [
    'an error inside of a 200',
    /no array at "items", where the pages before have the items/,
    { limit: 10 },
    (query) =>
      query.offset >= 10 ? [200, { message: 'Internal error' }] : [200, { items: pageOf(query, 50) }],
  ],
  [
    'another array in place of the items',
    /no array at "items"/,
    { limit: 10 },
    (query) => (query.offset >= 10 ? [200, { notes: ['boom'] }] : [200, { items: pageOf(query, 50) }]),
  ],
  [
    'a ceiling to which offsets are clamped, and full pages',
    /offset has no effect/,
    { limit: 10 },
    (query) => [200, pageOf({ ...query, offset: Math.min(query.offset, 20) }, 50, 8)],
  ],
  ...Object.entries({
    'an error beside null': { items: null, error: 'boom' },
    'an error beside an empty array': { items: [], error: { message: 'boom' } },
    'a list of errors': { items: [], errors: [{}] },
    'a failure': { items: [], success: false },
    'a status in words': { items: null, status: 'error' },
    'only a status in words': { status: 'FAILED', code: 'E42' },
    'a code in words': { msg: 'system busy', code: 'BUSY' },
    'the number of an error': { error_code: 17, error_msg: 'busy' },
    'the message of an error': { items: null, error_message: 'boom' },
  }).map(
    ([name, body]): Failing => [
      name,
      /looks like an error/,
      { limit: 10 },
      (query) => [200, query.offset >= 10 ? body : { items: pageOf(query, 50) }],
    ],
  ),
  [
    'a message beside null',
    /no array at "items"/,
    { limit: 10 },
    (query) => [
      200,
      query.offset >= 10 ? { items: null, message: 'internal timeout' } : { items: pageOf(query, 50) },
    ],
  ],
  ...Object.entries({
    'a flag beside an empty array': { items: [], has_more: true },
    'a flag of its paging beside an empty array': { items: [], paging: { hasNextPage: true } },
  }).map(
    ([name, body]): Failing => [
      name,
      /says that more follow/,
      { limit: 10 },
      (query) => [200, query.offset >= 10 ? body : { items: pageOf(query, 50) }],
    ],
  ),
])('60: a list fails at %s', async (_, reason, asked, answer) => {
  await using server = await answering(answer);
  const { happened } = await errorOf(AnswerUnreadable, collect(server.url, asked));
  expect(happened).toMatch(reason);
  expect(server.requests.length).toBeLessThan(12);
});

test.each<[string, RegExp, Partial<ListRequest>, number, (query: Query) => Reply]>([
  ['offset', /sent the same page again/, {}, 3, () => [200, ids(0, 3)]],
  ['offset and limit', /sent the same page again/, { limit: 2 }, 3, () => [200, ids(0, 3)]],
  [
    'offset, and changes a field of each item',
    /sent the same page again/,
    {},
    3,
    ({ before }) => [200, ids(0, 3).map((item) => ({ ...Object(item), at: before }))],
  ],
  [
    'the filters when it counts',
    /it counts 50 items, and its pages have 3: .* the count ignores the filters/,
    { filters: { status: 'active' } },
    3,
    (query) => [200, { items: pageOf(query, 3), total: 50 }],
  ],
])('60: a list from a server that ignores %s has a warning', async (_, warning, asked, total, answer) => {
  await using server = await answering(answer);
  const warnings: string[] = [];
  expect(await collect(server.url, asked, warnings)).toMatchObject(ids(0, total));
  expect(warnings).toEqual([expect.stringMatching(warning)]);
});

test('a server that ignores only the limit sends the whole list', async () => {
  await using server = await answering(({ offset }) => [200, ids(offset, 3)]);
  expect(await collect(server.url, { limit: 2 })).toEqual(ids(0, 3));
});

test.each([
  ['null', null],
  ['null under its name', { campaigns: null }],
  ['an empty object', {}],
  ['a count of 0', { total: 0 }],
])('a list without items may come as %s', async (_, body) => {
  await using server = await answering(() => [200, body]);
  expect(await collect(server.url)).toEqual([]);
});

test.each([
  [{ total: 50 }],
  [{ totalElements: '50' }],
  [{ campaigns_count: 50 }],
  [{ meta: { pagination: { total_items: 50 } } }],
  [{ hits: { total: { value: 50 } } }],
  [{ count: 2, num_found: 50 }],
])('60: %o counts the items of a list', async (wrapper) => {
  await using server = await answering((query) => [200, { ...wrapper, items: pageOf(query, 2) }]);
  const { happened } = await errorOf(AnswerUnreadable, collect(server.url));
  expect(happened).toContain('it counts 50 items, and its pages have 2');
});

test('60: the header X-Total-Count counts the items of a list', async () => {
  await using server = await listen((seen, response) =>
    json(response, 200, queryOf(seen).offset === '0' ? ids(0, 2) : [], { 'x-total-count': '50' }),
  );
  const { happened } = await errorOf(AnswerUnreadable, collect(server.url));
  expect(happened).toContain('it counts 50 items, and its pages have 2');
});

test('60: a count of something else is no count of items', async () => {
  const counts = { quota: { total: 600 }, total_pages: 7, count: 1, limit: 5_000 };
  await using server = await answering((query) => [200, { ...counts, items: pageOf(query, 2) }]);
  expect(await collect(server.url)).toEqual(ids(0, 2));
});

test('60: a first answer that counts items and has none fails', async () => {
  await using server = await answering(() => [200, { campaigns: null, total: 30 }]);
  const { happened } = await errorOf(AnswerUnreadable, collect(server.url));
  expect(happened).toContain('it counts 30 items, and its pages have 0');
});

test.each<[string, RegExp, number[], (page: number) => number]>([
  ['a page in the middle is short', /^a page in the middle /, [2, 1, 2, 0], () => 5],
  ['the count falls', /^the list shrank from 7 to 5 items /, [2, 2, 1, 0], (page) => (page === 0 ? 7 : 5)],
])('a warning says that items may be missing if %s', async (_, warning, lengths, total) => {
  await using server = await answering(({ offset, before }) => {
    const length = lengths[before] ?? 0;
    return [200, { items: ids(offset, offset + length), total: total(before) }];
  });
  const warnings: string[] = [];
  await collect(server.url, { limit: 2 }, warnings);
  expect(warnings).toEqual([expect.stringMatching(warning)]);
});

test('a list goes on where it was, with what is known of the pages before', async () => {
  await using server = await answering((query) =>
    query.offset >= 25 ? [200, { items: ids(0, 10) }] : [200, { items: pageOf(query, 25), total: 25 }],
  );
  const list = { resource: 'campaigns', limit: 10, filters: {} };
  const items: unknown[] = [];
  let progress: ListProgress | undefined;
  for (let call = 0; call < 3; call += 1) {
    for await (const page of listPages(platformAt(server.url), bearer, list, () => {}, progress)) {
      items.push(...page.items);
      progress = JSON.parse(JSON.stringify(page.progress));
      break;
    }
  }
  expect(items).toEqual(ids(0, 25));
  expect(progress).toMatchObject({ offset: 25, pages: 3, path: ['items'], largest: 10, total: 25 });
  const rest = listPages(platformAt(server.url), bearer, list, () => {}, progress);
  expect(await rest.next()).toMatchObject({ done: true });
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
  ['nothing on the path', { more: 1 }, { items: 'data.more.items' }, 'no array at "data.more.items"'],
  ['no object at all', 7, { items: 'data' }, 'no array at "data"'],
])('an answer with %s is unreadable, and the error names the setting', async (_what, body, asked, reason) => {
  await using server = await listen((_seen, response) => json(response, 200, body));
  const error = await errorOf(AnswerUnreadable, collect(server.url, asked));
  expect(error.happened).toContain(reason);
});

test('offset has no effect, although the wrapper of each answer is another one', async () => {
  await using server = await answering(({ before }) => [200, { before, items: ids(0, 2) }]);
  const { happened } = await errorOf(AnswerUnreadable, collect(server.url, { limit: 2 }));
  expect(happened).toContain('offset has no effect');
});

test('contract 2.6: numbers that JavaScript cannot hold are written unchanged', async () => {
  const row = '{"id":1234567890123456789,"spend":1.10,"clicks":7,"e":1e400,"n":-0}';
  await using server = await listen((_seen, response) => response.writeHead(200).end(`[${row}]`));
  const items = await collect(server.url);
  expect(items.map((item) => JSON.stringify(item))).toEqual([row]);
  expect(items).toMatchObject([{ clicks: 7 }]);
});

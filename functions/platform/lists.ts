import { count } from '../workflow/count.ts';
import { RequestRefused } from '../workflow/errors.ts';
import type { ListRequest } from '../workflow/request/request.ts';
import type { Answer } from './answer.ts';
import { type Authorization, type Platform, segment } from './connection.ts';
import { parseBody, unreadable } from './failures.ts';
import { apiCall, requireSuccess, send } from './request.ts';

/** Bytes: 5,000 items of 12 kB. A page is read into memory, and a Lambda has room for a few of them. */
const PAGE_CAP = 64 * 1024 * 1024;

/** Which list. Without `items`, its array must be recognized. */
type List = Pick<ListRequest, 'resource' | 'limit' | 'filters' | 'items'>;

/**
 * Requests the pages of a list in order, one at a time, until one is empty (contract 4.6, 8). An item may
 * come twice, because the order may change between requests. Numbers that JavaScript cannot hold stay as they
 * were sent.
 *
 * @param warn gets the reason if items may be missing
 * @throws what {@link send} and {@link requireSuccess} throw; AnswerUnreadable if the items cannot be found,
 *   or if limit or offset has no effect
 */
export async function* listPages(
  platform: Platform,
  authorization: Authorization,
  list: List,
  warn: (warning: string) => void,
): AsyncGenerator<readonly unknown[], void, undefined> {
  const { limit } = list;
  let previous = '';
  let size = limit;
  let count = 0;
  for (let offset = 0; ; offset += count) {
    // A short page is either the end, or the server's limit. The next request shows which.
    const isAfterShort = offset > 0 && (count < size || (offset === size && size < limit));
    const found = await readPage(platform, authorization, list, { limit, offset }).catch((error: unknown) => {
      if (offset > 0 && isBeyondEnd(error)) return undefined;
      throw error;
    });
    if (!found && !isAfterShort)
      warn(`the platform refused offset ${offset}, taken for the end: check that the list is no longer`);
    if (!found || found.items.length === 0) return;
    const { answer, items } = found;
    // Compares the items only: their wrapper may change each time, for example if it holds the time.
    const page = JSON.stringify(items);
    if (page === previous && isAfterShort) return;
    if (page === previous) throw unreadable(answer, 'the page before: offset has no effect');
    if (offset > 0 && count < size)
      warn('a page in the middle of the list was shorter than the first one: items may be missing');
    yield items;
    count = items.length;
    if (offset === 0) size = count;
    previous = page;
  }
}

async function readPage(
  platform: Platform,
  authorization: Authorization,
  { resource, filters, items: path }: List,
  { limit, offset }: { limit: number; offset: number },
): Promise<{ answer: Answer; items: readonly unknown[] }> {
  const query = { ...filters, limit: String(limit), offset: String(offset) };
  const about = { path: `/${segment(resource)}`, query, doing: `listing ${resource}` };
  const get = { method: 'GET', ...about } as const;
  const answer = requireSuccess(await send(platform, apiCall(platform, authorization, get), PAGE_CAP), 200);
  const items = findItems(answer, path);
  if (items.length > limit)
    throw unreadable(answer, `${count(items.length, 'item')} where the limit is ${limit}`);
  return { answer, items };
}

/** The contract does not show how a server answers an offset beyond the end of the list. */
function isBeyondEnd(error: unknown): boolean {
  return error instanceof RequestRefused && [400, 404, 416, 422].includes(Number(error.facts.status));
}

/** The contract does not show the wrapper. Accepts an array, and an object with one array at the top. */
function findItems(answer: Answer, path: string | undefined): readonly unknown[] {
  const body = parseBody(answer, parseExactJson);
  if (path !== undefined) return itemsAt(answer, body, path);
  const arrays = [...arraysIn(body)];
  const [only, ...others] = arrays;
  if (only && only.path.length <= 1 && others.length === 0) return only.items;
  const found = arrays.map((array) => array.path.join('.')).join(', ') || 'none';
  throw unreadable(answer, `no single array of items (${found}): name its path with the setting "items"`);
}

/** Finds arrays at any depth, except inside arrays: the only one at the top may be a list of warnings. */
function* arraysIn(
  value: unknown,
  path: readonly string[] = [],
): Generator<{ path: readonly string[]; items: readonly unknown[] }> {
  if (Array.isArray(value)) yield { path, items: value };
  else if (typeof value === 'object' && value !== null)
    for (const [key, inner] of Object.entries(value)) yield* arraysIn(inner, [...path, key]);
}

function itemsAt(answer: Answer, body: unknown, path: string): readonly unknown[] {
  let value: unknown = body;
  for (const key of path.split('.')) value = (value as Record<string, unknown> | null | undefined)?.[key];
  if (Array.isArray(value)) return value;
  throw unreadable(answer, `no array at "${path}", which the setting "items" names`);
}

// Since Node 21. TypeScript's library knows neither this nor a reviver's third argument yet.
const { rawJSON } = JSON as unknown as { rawJSON: (text: string) => unknown };

/**
 * Parses JSON and keeps each number that JavaScript would write differently (19 digits, 1.0, 1e400) as raw
 * JSON, which JSON.stringify writes unchanged.
 */
function parseExactJson(text: string): unknown {
  const keep = (_key: string, value: unknown, { source }: { source?: string }) =>
    typeof value === 'number' && source !== undefined && String(value) !== source ? rawJSON(source) : value;
  return JSON.parse(text, keep as (key: string, value: unknown) => unknown);
}

import { PAGE_LIMIT } from '../workflow/request/list.ts';
import { apiCall, callApi } from './api.ts';
import { type Authorization, type Platform, segment } from './connection.ts';
import { unreadable } from './envelope.ts';
import { PlatformError } from './errors.ts';
import { parseExactJson } from './exact-json.ts';
import { parseJson } from './parse.ts';
import type { Answer } from './request.ts';

// 5,000 items of 12 kB. A page is held whole while it is read, and a Lambda has memory for a few of them.
const PAGE_CAP = 64 * 1024 * 1024;

// A wrapper has two levels or three.
const DEPTH_MAX = 10;

export interface ListRequest {
  /** One segment of the path: `campaigns`. */
  readonly resource: string;
  /** From 1 to PAGE_LIMIT, which is the default. */
  readonly limit?: number;
  /** Query parameters whose names the contract does not give, such as an upper bound on created_at. */
  readonly filters?: Readonly<Record<string, string>>;
  /** Where in the answer the items are, dotted (`data.items`); needed where they cannot be recognised. */
  readonly items?: string;
}

/**
 * Every page of a list (contract 4.6, 8), in order, one at a time: limit and offset until a page is shorter than the first.
 * Order is not guaranteed across requests, so an item may come twice. Numbers that JavaScript cannot hold stay as they were sent.
 * Throws as a report does; UnreadableAnswer also where the items are not found, or limit or offset has no effect.
 */
export async function* listPages(
  platform: Platform,
  authorization: Authorization,
  asked: ListRequest,
): AsyncGenerator<readonly unknown[], void, undefined> {
  const limit = asked.limit ?? PAGE_LIMIT;
  if (!(Number.isInteger(limit) && limit >= 1 && limit <= PAGE_LIMIT)) {
    throw new RangeError(`limit is ${limit}; it must be an integer from 1 to ${PAGE_LIMIT}`);
  }
  let previous = '';
  let size = limit;
  for (let offset = 0; ; offset += size) {
    // A first page that is short is the whole list, unless the server gives fewer items at a time than it is asked for.
    const isBehind = offset === size && size < limit;
    const found = await readPage(platform, authorization, asked, { limit, offset }).catch(
      (error: unknown) => {
        if (isBehind && isNothingThere(error)) return undefined;
        throw error;
      },
    );
    if (!found || found.items.length === 0) return;
    const { answer, items } = found;
    // Of the items alone: what stands around them, such as the moment of the answer, may change each time.
    const page = JSON.stringify(items);
    if (page === previous && isBehind) return;
    if (page === previous) throw unreadable(answer, 'the page before: offset has no effect');
    yield items;
    if (offset === 0) size = items.length;
    if (items.length < size) return;
    previous = page;
  }
}

async function readPage(
  platform: Platform,
  authorization: Authorization,
  { resource, filters, items: at }: ListRequest,
  { limit, offset }: { limit: number; offset: number },
): Promise<{ answer: Answer; items: readonly unknown[] }> {
  const query = { ...filters, limit: String(limit), offset: String(offset) };
  const call = apiCall(platform, authorization, { method: 'GET', path: `/${segment(resource)}`, query });
  const answer = await callApi(platform, call, 200, PAGE_CAP);
  const items = findItems(answer, at);
  if (items.length > limit) throw unreadable(answer, `${items.length} items where the limit is ${limit}`);
  return { answer, items };
}

/** How a server may say that an offset lies behind the end of its list, which the contract leaves open. */
function isNothingThere(error: unknown): boolean {
  return error instanceof PlatformError && [400, 404, 416, 422].includes(error.status);
}

/** The wrapper is not shown: a bare array, or one in an object that has no other, is taken for the items. */
function findItems(answer: Answer, path: string | undefined): readonly unknown[] {
  const body = parseJson(answer, parseExactJson);
  if (path !== undefined) return itemsAt(answer, body, path);
  const arrays = [...arraysIn(body)];
  const [only, ...others] = arrays;
  if (only && only.path.length <= 1 && others.length === 0) return only.items;
  const found = arrays.map((array) => array.path.join('.')).join(', ') || 'none';
  throw unreadable(answer, `no single array of items (${found}): name its path with the setting "items"`);
}

/** However deep they are, short of those in an item: a list of warnings may well be the only one at the top. */
function* arraysIn(
  value: unknown,
  path: readonly string[] = [],
): Generator<{ path: readonly string[]; items: readonly unknown[] }> {
  if (Array.isArray(value)) yield { path, items: value };
  else if (typeof value === 'object' && value !== null && path.length < DEPTH_MAX)
    for (const [key, inner] of Object.entries(value)) yield* arraysIn(inner, [...path, key]);
}

function itemsAt(answer: Answer, body: unknown, path: string): readonly unknown[] {
  let value: unknown = body;
  for (const key of path.split('.')) value = (value as Record<string, unknown> | null | undefined)?.[key];
  if (Array.isArray(value)) return value;
  throw unreadable(answer, `no array at "${path}", which the setting "items" names`);
}

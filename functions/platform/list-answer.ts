import { fieldsOf, isObject, type JsonObject } from '../workflow/json.ts';
import { headerOf, type ReceivedAnswer } from './answer.ts';
import { parseBody, unreadableAnswer } from './failures.ts';

/** A page of a list. The contract shows neither its wrapper nor the end of a list. */
export interface ListPage {
  readonly answer: ReceivedAnswer;
  /** Empty if the answer is an empty page, in one of its spellings. */
  readonly items: readonly unknown[];
  /** The place of the items, if there are any. */
  readonly path: readonly string[] | undefined;
  /** The largest number of items that the answer itself names. It may be the number of this page. */
  readonly counted: number | undefined;
}

/**
 * Finds the items: in a bare array, in the only array, or at a path that is known.
 *
 * @param setting the path that the request names
 * @param before the path on the pages before
 * @throws AnswerUnreadable if there are no items, unless the answer is an empty page
 */
export function readListPage(
  answer: ReceivedAnswer,
  setting: string | undefined,
  before: readonly string[] | undefined,
): ListPage {
  const isBare = answer.status === 204 || answer.text.trim() === '';
  const body = isBare ? null : parseBody(answer, parseExactJson);
  const path = setting?.split('.') ?? before;
  const items = path ? itemsAt(body, path) : onlyItems(body);
  const page = { answer, counted: countIn(answer, body, items?.path ?? path) };
  if (items && items.items.length > 0) return { ...page, ...items };
  if (isObject(body)) requireNoFault(answer, body);
  if (!items) requireEmptyPage(answer, body, { setting, before });
  return { ...page, items: [], path: undefined };
}

interface Items {
  readonly path: readonly string[];
  readonly items: readonly unknown[];
}

function itemsAt(body: unknown, path: readonly string[]): Items | undefined {
  const items = valueAt(body, path);
  return Array.isArray(items) ? { path, items } : undefined;
}

function valueAt(body: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((value, key) => (isObject(value) ? value[key] : undefined), body);
}

/** An array, or the one array of an object, at the top. */
function onlyItems(body: unknown): Items | undefined {
  const [only, ...others] = arraysIn(body);
  return only && only.path.length <= 1 && others.length === 0 ? only : undefined;
}

/** Finds arrays at any depth, except inside arrays: the only one at the top may be a list of warnings. */
function* arraysIn(value: unknown, path: readonly string[] = []): Generator<Items> {
  if (Array.isArray(value)) yield { path, items: value };
  else for (const [key, inner] of Object.entries(fieldsOf(value))) yield* arraysIn(inner, [...path, key]);
}

/**
 * Accepts what servers send in place of an empty array: nothing, null, an object without the field, or with
 * null in it.
 *
 * @throws AnswerUnreadable if there may be items at another place, or if it looks like an error
 */
function requireEmptyPage(
  answer: ReceivedAnswer,
  body: unknown,
  { setting, before }: { setting: string | undefined; before: readonly string[] | undefined },
): void {
  const arrays = [...arraysIn(body)];
  const isNamed = arrays.length === 0 || (before !== undefined && arrays.every(({ items }) => !items.length));
  if (isNamed && isWithoutItems(body, setting?.split('.') ?? before, before !== undefined)) return;
  if (setting !== undefined)
    throw unreadableAnswer(answer, `no array at "${setting}", which the setting "items" names`);
  if (before && before.length > 0)
    throw unreadableAnswer(
      answer,
      `no array at "${before.join('.')}", where the pages before have the items`,
    );
  const places = arrays.map(({ path }) => path.join('.')).join(', ') || 'none';
  throw unreadableAnswer(
    answer,
    `no single array of items (${places}): name its path with the setting "items"`,
  );
}

/** @param isLater the pages before had items, so a field that is absent means that there are no more */
function isWithoutItems(body: unknown, path: readonly string[] | undefined, isLater: boolean): boolean {
  if (body === null) return true;
  if (!isObject(body)) return Array.isArray(body) && body.length === 0;
  const value = path && valueAt(body, path);
  if (!isNothing(value)) return false;
  if (Object.keys(body).length === 0) return true;
  if (!MESSAGES.every((name) => isHarmless(body[name]))) return false;
  if (path ? isNullAt(body, path) : hasNull(body)) return true;
  const isSilent = MESSAGES.every((name) => isNothing(body[name]));
  return isSilent && (isLater || countIn(undefined, body, path) === 0);
}

/**
 * A page without items that says what went wrong, or that more follows, is not the end of a list.
 *
 * @throws AnswerUnreadable
 */
function requireNoFault(answer: ReceivedAnswer, body: JsonObject): void {
  if (isError(body)) throw unreadableAnswer(answer, 'the page has no items, and looks like an error');
  if (saysMore(body)) throw unreadableAnswer(answer, 'the page has no items, and says that more follow');
}

/** Fields of an answer that says what went wrong. */
const ERROR = /^(err|error|exception|fault)/i;
const MESSAGES = ['message', 'msg', 'detail', 'title', 'reason'];

/** A status or a code in words that is one of an error. */
const ERROR_WORD = /err|fail|fault|busy|time_?out|unavailable|denied|refused|invalid/i;

/** An error inside of a 200. */
function isError(body: JsonObject): boolean {
  const { success, ok, status, code } = body;
  const isNamed = Object.entries(body).some(([name, value]) => ERROR.test(name) && !isNothing(value));
  const isBad = (value: unknown) =>
    Number(value) >= 400 || (typeof value === 'string' && ERROR_WORD.test(value));
  return isNamed || success === false || ok === false || isBad(status) || isBad(code);
}

/** True if the answer, or an object of it that describes the list, has a flag such as has_more. */
function saysMore(body: JsonObject): boolean {
  return Object.entries(body).some(([key, value]) => {
    const name = plain(key);
    if (['hasmore', 'hasnext', 'hasnextpage', 'more'].includes(name)) return value === true;
    return DESCRIPTIONS.test(name) && isObject(value) && saysMore(value);
  });
}

/** A message that does not speak of a fault. */
function isHarmless(message: unknown): boolean {
  const words =
    /^(ok|okay|success|successful|no (more )?(data|items|results|records|rows|entries)( found)?)\W*$/i;
  return isNothing(message) || (typeof message === 'string' && words.test(message));
}

function isNothing(value: unknown): boolean {
  if (isObject(value)) return Object.keys(value).length === 0;
  if (Array.isArray(value)) return value.length === 0;
  return !value;
}

/** True if the place of the items, or an object above it, is null. */
function isNullAt(body: unknown, path: readonly string[]): boolean {
  return path.some((_, at) => valueAt(body, path.slice(0, at + 1)) === null);
}

function hasNull(value: unknown): boolean {
  return value === null || (isObject(value) && Object.values(value).some(hasNull));
}

/** Names of a count of items, without their underscores, such as total_count and totalElements. */
const COUNTS = new Set([
  ...['count', 'total', 'totals', 'totalcount', 'counttotal', 'totalnumber', 'totalsize', 'totalentries'],
  ...['item', 'result', 'record', 'row', 'element', 'entry', 'hit', 'object'].flatMap(namesOfCount),
  'numfound',
]);

function namesOfCount(item: string): string[] {
  return [
    ...[`total${item}s`, `${item}count`, `${item}scount`, `${item}total`, `${item}stotal`],
    ...[`num${item}s`, `numberof${item}s`, `total${item}count`],
  ];
}

/** Objects of a wrapper that describe the list. Others may count something else, such as a quota. */
const DESCRIPTIONS = /^_?(meta|metadata|page|paging|pagination|pageinfo|hits|results?|data|list|summary)$/;

/**
 * The largest count of items in the wrapper, or in the header X-Total-Count.
 *
 * @param path of the items. The objects on it may have the count
 */
function countIn(
  answer: ReceivedAnswer | undefined,
  body: unknown,
  path: readonly string[] = [],
): number | undefined {
  const resource = plain(answer?.call.path ?? '');
  const counts = [
    ...countsIn(body, path, resource),
    wholeNumber(answer && headerOf(answer, 'x-total-count')),
  ];
  const known = counts.filter((count) => count !== undefined);
  return known.length > 0 ? Math.max(...known) : undefined;
}

function* countsIn(
  value: unknown,
  [next, ...rest]: readonly string[],
  resource: string,
): Generator<number | undefined> {
  for (const [key, inner] of Object.entries(fieldsOf(value))) {
    const name = plain(key);
    if (COUNTS.has(name) || [`total${resource}`, `${resource}count`, `${resource}total`].includes(name))
      // Elasticsearch has { "total": { "value": 50 } }.
      yield wholeNumber(isObject(inner) ? inner.value : inner);
    if (key === next || DESCRIPTIONS.test(name)) yield* countsIn(inner, key === next ? rest : [], resource);
  }
}

/** Letters only, in lower case. */
function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z]/g, '');
}

function wholeNumber(value: unknown): number | undefined {
  const isWhole = typeof value === 'number' || (typeof value === 'string' && /^\d+$/.test(value));
  return isWhole && Number.isSafeInteger(Number(value)) ? Number(value) : undefined;
}

// Since Node 21. TypeScript's library knows neither this nor a reviver's third argument yet.
const { rawJSON } = JSON as unknown as { rawJSON: (text: string) => unknown };

/**
 * Parses JSON and keeps each number that JavaScript would write differently (19 digits, 1.0, 1e400) as raw
 * JSON, which JSON.stringify writes unchanged.
 */
export function parseExactJson(text: string): unknown {
  const keep = (_key: string, value: unknown, { source }: { source?: string }) =>
    typeof value === 'number' && source !== undefined && String(value) !== source ? rawJSON(source) : value;
  return JSON.parse(text, keep as (key: string, value: unknown) => unknown);
}

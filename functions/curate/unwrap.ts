import { isObject, type JsonObject, parseJson } from '../workflow/json.ts';

/** An object around an array must begin with fewer bytes than this before the array, and end with fewer after it. */
export const EDGE_BYTES = 64 * 1024;

/** Objects around the array: `{"rows": [` or `{"data": {"rows": [`. */
const MAX_DEPTH = 2;

/** An object around the rows, or the reason why it is not clear which array has the rows. */
export interface Wrapper {
  /** Offset of the array. */
  readonly array: number;
  readonly fault?: string;
}

/**
 * Finds the array of rows in an object such as `{"total": 3, "rows": [`. Arrays of other values than objects are no rows.
 *
 * @param head begins a JSON text
 * @returns undefined for objects that are rows themselves: one after the other, or without an array
 */
export function findArray(head: string): Wrapper | undefined {
  if (!head.trimStart().startsWith('{')) return undefined;
  const ofRows: number[] = [];
  const empty: number[] = [];
  const open: string[] = [];
  // Strings too, so that brackets inside of them do not count.
  for (const { 0: token, index } of head.matchAll(/"(?:[^"\\]|\\.)*(?:"|$)|[[\]{}]/gs)) {
    if (token === '[' && open.length <= MAX_DEPTH && !open.includes('[')) {
      const [next] = /[^\s]|$/.exec(head.slice(index + 1)) ?? [];
      if (next === ']') empty.push(index);
      else if (next === '{' || next === '') ofRows.push(index);
    }
    if (token === '{' || token === '[') open.push(token);
    if (token === '}' || token === ']') open.pop();
    if (token === '}' && open.length === 0) {
      if (head.slice(index + 1).trim() !== '') return undefined;
      break;
    }
  }
  const [array] = [...ofRows, ...empty];
  if (array === undefined) return undefined;
  return { array, ...(ofRows.length > 1 && { fault: SEVERAL }) };
}

const SEVERAL = 'is an object that holds several arrays of objects';

interface Unwrapped {
  /** Names of the fields of the object around the array. */
  readonly around?: readonly string[];
  readonly fault?: string;
}

/** Yields the array alone. */
export async function* unwrap(
  before: string,
  text: AsyncIterable<Buffer>,
): AsyncGenerator<Buffer, Unwrapped> {
  let held: Buffer = Buffer.alloc(0);
  for await (const chunk of text) {
    const joined = Buffer.concat([held, chunk]);
    const end = Math.max(0, joined.length - EDGE_BYTES);
    yield joined.subarray(0, end);
    held = joined.subarray(end);
  }
  const { end, object } = endOfArray(before, held);
  yield held.subarray(0, end);
  if (!object) return { fault: 'is an object that does not hold a single array' };
  const fault = faultOf(object);
  return { around: Object.keys(object), ...(fault !== undefined && { fault }) };
}

/**
 * The first bracket after which a complete object is left without its array. One inside of the array leaves the array's own
 * bracket, and one inside of a string leaves a quote too many.
 */
function endOfArray(before: string, tail: Buffer): { readonly end: number; readonly object?: JsonObject } {
  for (let at = tail.indexOf(']'); at >= 0; at = tail.indexOf(']', at + 1)) {
    const after = tail.toString('utf8', at + 1);
    const object = /^\s*[,}]/.test(after) ? parseJson(`${before}[]${after}`) : undefined;
    if (isObject(object)) return { end: at + 1, object };
  }
  return { end: 0 };
}

/** @param object without the array of rows */
function faultOf({ error, errors, ...others }: JsonObject): string | undefined {
  if (isGiven(error) || isGiven(errors)) return 'is an error document';
  const isOfObjects = (value: unknown) => Array.isArray(value) && value.some(isObject);
  const values = Object.values(others);
  const inner = values.flatMap((value) => (isObject(value) ? Object.values(value) : []));
  return [...values, ...inner].some(isOfObjects) ? SEVERAL : undefined;
}

function isGiven(value: unknown): boolean {
  return typeof value === 'object' && value !== null ? Object.keys(value).length > 0 : Boolean(value);
}

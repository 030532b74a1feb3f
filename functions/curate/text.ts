import { isObject, parseJson } from '../workflow/json.ts';
import type { ReportFile } from './report.ts';

/** An object around an array must begin with fewer bytes than this before the array, and end with fewer after it. */
const EDGE_BYTES = 64 * 1024;

/** The fault of a file without a character. A list may be empty, a report may not. */
export const EMPTY = 'is empty';

const BYTE_ORDER_MARK = Buffer.from('\ufeff');

type Layout = ReportFile['layout'];

/** The layout of a text, and its fault if it is no report. */
export type Found = Pick<ReportFile, 'layout' | 'header' | 'fault'>;

/**
 * Passes the text on without a byte order mark, and without an object around a single array, which DuckDB would read as
 * one row. Looks how JSON begins and ends, because DuckDB takes an empty file and `[row,` for complete.
 *
 * @param declared `csv`, `lines` if the content type says so, `array` for any other JSON
 * @param report called when all chunks were read
 */
export async function* readText(
  chunks: AsyncIterable<Buffer>,
  declared: Layout,
  report: (found: Found) => void,
): AsyncGenerator<Buffer> {
  const rest = chunks[Symbol.asyncIterator]();
  const head = await readHead(rest);
  const first = head.toString('utf8').trimStart();
  const array = declared === 'array' ? arrayInObject(head) : -1;
  const last = yield* array < 0 ? passOn(withHead(head, rest)) : unwrap(head, array, rest);
  const isArray = first.startsWith('[') || array >= 0;
  const layout = declared === 'csv' ? declared : isArray ? 'array' : 'lines';
  const fault = faultOf(layout, first, last);
  const [header = ''] = first.split(/\r?\n/, 1);
  report({ layout, ...(layout === 'csv' && { header }), ...(fault !== undefined && { fault }) });
}

async function readHead(chunks: AsyncIterator<Buffer>): Promise<Buffer> {
  let head: Buffer = Buffer.alloc(0);
  while (head.length < EDGE_BYTES) {
    const next = await chunks.next();
    if (next.done) break;
    head = Buffer.concat([head, next.value]);
  }
  return head.indexOf(BYTE_ORDER_MARK) === 0 ? head.subarray(BYTE_ORDER_MARK.length) : head;
}

/**
 * Where the array begins in an object such as `{"total": 3, "rows": [`. -1 in objects that are rows themselves: one per
 * line, or without an array.
 */
function arrayInObject(head: Buffer): number {
  const text = head.toString('latin1');
  if (!text.trimStart().startsWith('{')) return -1;
  const [line = '', ...others] = text.trim().split('\n', 2);
  if (others.length > 0 && isObject(parseJson(line))) return -1;
  let depth = 0;
  // Strings too, so that brackets inside of them do not count.
  for (const { 0: found, index } of text.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{}]/g)) {
    if (found === '[' && depth === 1) return index;
    if (found === '{' || found === '[') depth++;
    if (found === '}' || found === ']') depth--;
  }
  return -1;
}

async function* withHead(head: Buffer, rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  yield head;
  for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
}

/** @returns the last character that is not white space */
async function* passOn(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer, string | undefined> {
  let last: string | undefined;
  for await (const text of chunks) {
    const at = text.findLastIndex((byte) => byte > 0x20);
    if (at >= 0) last = String.fromCharCode(text[at] ?? 0);
    yield text;
  }
  return last;
}

/**
 * Yields the array alone.
 *
 * @returns its last character; undefined if there is no complete object around it
 */
async function* unwrap(
  head: Buffer,
  array: number,
  rest: AsyncIterator<Buffer>,
): AsyncGenerator<Buffer, ']' | undefined> {
  let held: Buffer = Buffer.alloc(0);
  for await (const chunk of withHead(head.subarray(array), rest)) {
    const text = Buffer.concat([held, chunk]);
    const end = Math.max(0, text.length - EDGE_BYTES);
    yield text.subarray(0, end);
    held = text.subarray(end);
  }
  const end = endOfArray(head.toString('utf8', 0, array), held);
  yield held.subarray(0, end);
  return end > 0 ? ']' : undefined;
}

/** The end of the last array, if a complete object is left without it, or 0. DuckDB finds any array before the last one. */
function endOfArray(before: string, tail: Buffer): number {
  for (let at = tail.lastIndexOf(']'); at >= 0; at = at === 0 ? -1 : tail.lastIndexOf(']', at - 1)) {
    const after = tail.toString('utf8', at + 1);
    // A bracket in a string of `after`, or that of an inner array, leaves no JSON.
    const object = /^\s*[,}]/.test(after) ? parseJson(`${before}[]${after}`) : undefined;
    if (isObject(object)) return at + 1;
  }
  return 0;
}

function faultOf(layout: Layout, first: string, last: string | undefined): string | undefined {
  if (first === '') return EMPTY;
  if (/^<(!doctype|html)/i.test(first)) return 'is a web page';
  if (layout === 'csv') return undefined;
  if (!/^[[{]/.test(first)) return 'is not JSON';
  if (last === (layout === 'array' ? ']' : '}')) return undefined;
  return first.startsWith('{') && layout === 'array'
    ? 'is an object that does not hold a single array'
    : 'is cut off';
}

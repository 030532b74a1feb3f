import { isObject, type JsonObject, parseJson } from '../workflow/json.ts';
import { chooseArray, faultOfRow, findRows, type Requested, scanJson } from './find-rows.ts';
import type { ReportFile } from './report.ts';

/** The fault of a file without a character. A list may be empty, a report may not. */
export const EMPTY = 'is empty';

/** An object around an array must begin with fewer bytes than this before the array, and end with fewer after it. */
const EDGE_BYTES = 64 * 1024;

/** Brackets at which the last row of a file may begin. */
const MAX_TRIES = 200;

const BYTE_ORDER_MARK = Buffer.from('\ufeff');

type Layout = ReportFile['layout'];

/** The layout of a text, and its fault if it is no report. */
export type Found = Pick<ReportFile, 'layout' | 'header' | 'headless' | 'fault'>;

interface Text {
  /** More than its first 64 KB, or the whole text. */
  readonly head: Buffer;
  readonly isWhole: boolean;
  readonly rest: AsyncIterator<Buffer>;
  /** `csv`, `lines` if the content type says so, `array` for any other JSON. */
  readonly declared: Layout;
}

/**
 * Passes the text on without a byte order mark, and without an object around the rows, which DuckDB would read as one row.
 * Checks how JSON begins and ends, because DuckDB takes an empty file and `[row,` for complete.
 *
 * @param requested absent for a list, whose items are all rows
 * @param report called when all chunks were read
 */
export async function* readText(
  chunks: AsyncIterable<Buffer>,
  declared: Layout,
  requested: Requested | undefined,
  report: (found: Found) => void,
): AsyncGenerator<Buffer> {
  const text = await readHead(chunks[Symbol.asyncIterator](), declared);
  if (declared === 'csv') report(yield* readCsv(text, requested));
  else if (!requested) report(yield* readRows(text));
  else report(yield* readJson(text, requested));
}

async function* readCsv(text: Text, requested: Requested | undefined): AsyncGenerator<Buffer, Found> {
  const { head, isWhole } = text;
  yield* passOn(text);
  const whole = head.toString('utf8').trim();
  const [header = ''] = whole.split(/\r?\n/, 1);
  const fields = header.split(/[,;\t|]/);
  const fault = faultOfCsv(whole);
  if (fault !== undefined || !requested)
    return { layout: 'csv', header, ...(fault !== undefined && { fault }) };
  // A header without rows names all metrics. A sentence may name one.
  if (isWhole && header === whole && !(fields.length > 1 && requested.hasMetrics(fields)))
    return {
      layout: 'csv',
      header,
      fault: `has a single line, which is no header of the request: ${header.slice(0, 40)}`,
    };
  return { layout: 'csv', header, ...(!fields.some(requested.isField) && { headless: true }) };
}

async function* readJson(text: Text, requested: Requested): AsyncGenerator<Buffer, Found> {
  const { head, isWhole, declared } = text;
  const characters = beginningOf(text);
  const { arrays, end } = scanJson(characters);
  if (isWhole && characters.trim() === 'null') return yield* noRows();
  if (!startsWith(characters, '{')) return yield* readRows(text, requested, arrays[0]?.first);
  if (end === undefined && !isWhole && declared === 'array') return yield* readLarge(text, requested);
  const isAlone = isWhole && characters.slice(end).trim() === '';
  const rows = isAlone ? findRows(characters, requested) : undefined;
  if (rows === 'none') return yield* noRows();
  if (rows === undefined || rows === 'itself') {
    const first = rows ? undefined : parseJson(characters.slice(0, end));
    const found = yield* readRows(text, requested, isObject(first) ? first : undefined);
    return isWhole && end === undefined ? { layout: 'lines', fault: CUT } : found;
  }
  yield 'fault' in rows ? head : head.subarray(rows.at, rows.end);
  return { layout: 'array', ...('fault' in rows && { fault: rows.fault }) };
}

async function* noRows(): AsyncGenerator<Buffer, Found> {
  yield Buffer.from('[]');
  return { layout: 'array' };
}

/** An array, or objects one after the other. */
async function* readRows(
  text: Text,
  requested?: Requested,
  first?: JsonObject,
): AsyncGenerator<Buffer, Found> {
  const characters = beginningOf(text);
  const layout = startsWith(characters, '[') ? 'array' : 'lines';
  const tail = (yield* passOn(text)).toString('latin1').trimEnd();
  const fault =
    faultOfJson(layout, characters.trim(), tail.at(-1)) ??
    (requested && (faultOfRow(first, requested) ?? faultOfEnd(layout, tail, requested)));
  return { layout, ...(fault !== undefined && { fault }) };
}

/** An object that does not end in the head. */
async function* readLarge(text: Text, requested: Requested): AsyncGenerator<Buffer, Found> {
  const characters = beginningOf(text);
  const { chosen } = chooseArray(scanJson(characters).arrays, requested);
  const at = chosen?.at ?? 0;
  const before = characters.slice(0, at);
  const { tail, after } = yield* passArray(before, { ...text, head: text.head.subarray(at) });
  if (after === undefined)
    return { layout: 'array', fault: 'is an object that does not hold a single array of rows' };
  // The whole object again, with the first row only.
  const rows = findRows(`${before}[${JSON.stringify(chosen?.first ?? {})}]${after}`, requested);
  if (rows === undefined || typeof rows === 'string')
    return { layout: 'array', fault: 'is an object whose rows are in an unknown place' };
  const fault = 'fault' in rows ? rows.fault : faultOfEnd('array', tail, requested);
  return { layout: 'array', ...(fault !== undefined && { fault }) };
}

/** One character per byte. */
function beginningOf({ head, isWhole }: Text): string {
  return head.toString('latin1', 0, isWhole ? head.length : EDGE_BYTES);
}

/** Yields the array alone. @returns its end, and what comes after it */
async function* passArray(
  before: string,
  text: Text,
): AsyncGenerator<Buffer, { tail: string; after?: string }> {
  let held: Buffer = Buffer.alloc(0);
  for await (const chunk of chunksOf(text)) {
    const joined = Buffer.concat([held, chunk]);
    const end = Math.max(0, joined.length - EDGE_BYTES);
    yield joined.subarray(0, end);
    held = joined.subarray(end);
  }
  // At a bracket inside of the array, the array's own bracket is left over; at one inside of a string, a quote.
  for (let at = held.indexOf(']'); at >= 0; at = held.indexOf(']', at + 1)) {
    const after = held.toString('latin1', at + 1);
    if (!/^\s*[,}]/.test(after) || !isObject(parseJson(`${before}[]${after}`))) continue;
    yield held.subarray(0, at + 1);
    return { tail: held.toString('latin1', 0, at + 1), after };
  }
  yield held;
  return { tail: '' };
}

/** Without what may come before the text. DuckDB takes an empty line for the header of CSV. */
async function readHead(rest: AsyncIterator<Buffer>, declared: Layout): Promise<Text> {
  let read: Buffer = Buffer.alloc(0);
  let isWhole = false;
  let isLong = false;
  // A chunk more than necessary: it shows whether the text goes on.
  while (!isWhole && !isLong) {
    isLong = read.length >= EDGE_BYTES;
    const next = await rest.next();
    isWhole = next.done === true;
    if (!next.done) read = Buffer.concat([read, next.value]);
  }
  const text = read.indexOf(BYTE_ORDER_MARK) === 0 ? read.subarray(BYTE_ORDER_MARK.length) : read;
  const start = declared === 'csv' ? text.findIndex((byte) => byte > 0x20) : 0;
  return { head: text.subarray(Math.max(0, start)), isWhole, rest, declared };
}

/** Puts back what was read ahead. Unlike `yield*`, leaves the rest readable if its own reader stops. */
export async function* chunksOf({ head, rest }: Pick<Text, 'head' | 'rest'>): AsyncGenerator<Buffer> {
  yield head;
  for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
}

/** @returns the last bytes before white space */
async function* passOn(text: Text): AsyncGenerator<Buffer, Buffer> {
  let tail: Buffer = Buffer.alloc(0);
  for await (const chunk of chunksOf(text)) {
    const end = chunk.subarray(0, chunk.findLastIndex((byte) => byte > 0x20) + 1).subarray(-EDGE_BYTES);
    tail = end.length < EDGE_BYTES ? Buffer.concat([tail, end]).subarray(-EDGE_BYTES) : end;
    yield chunk;
  }
  return tail;
}

const MARKUP = 'is HTML or XML';
const CUT = 'is cut off';

function faultOfCsv(text: string): string | undefined {
  if (text === '') return EMPTY;
  if (text.startsWith('<')) return MARKUP;
  return /^[[{]/.test(text) ? 'is JSON, but CSV was requested' : undefined;
}

function faultOfJson(layout: Layout, text: string, last: string | undefined): string | undefined {
  if (text === '') return EMPTY;
  if (text.startsWith('<')) return MARKUP;
  if (!/^[[{]/.test(text)) return 'is not JSON';
  return last === (layout === 'array' ? ']' : '}') ? undefined : CUT;
}

/** A platform may find out late that it failed. DuckDB reads `[row]row]` as two rows. */
function faultOfEnd(layout: Layout, text: string, requested: Requested): string | undefined {
  const end = layout === 'array' ? text.replace(/\s*\]$/, '') : text;
  let at = end.length;
  for (let tries = 0; tries < MAX_TRIES && at > 0; tries++) {
    at = end.lastIndexOf('{', at - 1);
    const row = at < 0 ? undefined : parseJson(end.slice(at));
    if (!isObject(row)) continue;
    if (layout === 'array' && /[\]}]\s*$/.test(end.slice(0, at))) return 'goes on after the end of its array';
    return faultOfRow(row, requested);
  }
  return undefined;
}

function startsWith(text: string, bracket: string): boolean {
  return text.trimStart().startsWith(bracket);
}

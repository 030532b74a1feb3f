import { pick } from 'stream-json/filters/pick.js';
import { jsonParser, type Token } from 'stream-json/parser.js';
import { stringer } from 'stream-json/stringer.js';
import { MalformedJson, type RowFields, refusedFile, shorten, TableProblem } from './report.ts';
import { OPENS } from './text.ts';

/** Keys of the path to the rows, such as `data.rows`, if the request does not name it. */
const MAX_KEYS = 2;

/** The facts about an object that are known before it is read. */
interface Envelope {
  /** The path to the array of rows, such as `data.items`, if the request names it. Only it may be empty. */
  readonly path: string | undefined;
  /** The start of the text. */
  readonly start: string;
  /** Undefined if no field of a row is known. */
  readonly fields: RowFields | undefined;
}

/** The place of the rows, after the whole text was read. */
type Verdict =
  /** One array of objects, or the one at the path. */
  | 'array'
  /** The object is a row itself: it has a date and a metric, and lists without them. */
  | 'object'
  /** The object and those of its array could both be the rows. */
  | 'array or object'
  | 'several arrays'
  | 'no array'
  /** There are arrays of objects, but none at the path. */
  | 'another path'
  /** Other values follow the object, so each of them is a row. */
  | 'several values';

/**
 * Reads a text that begins with an object, and yields the array of its rows: the one at the path, or else the
 * only array of objects. Names, numbers and texts keep each character.
 *
 * @param result `isArray` is set at the end if there is such an array
 * @throws DownloadRefused if the text is cut, or if the object has no array of objects, although there is a
 *   path
 * @throws TableProblem if the text is no JSON, if the object holds several arrays of objects, or others than
 *   the one of the path, or if both the object and those of its array could be the rows
 */
export async function* cutRows(
  texts: AsyncIterable<string>,
  envelope: Envelope,
  result: { isArray: boolean },
): AsyncGenerator<string> {
  const search = beginSearch(envelope);
  const writer = createRowWriter(search);
  yield writer.begin();
  try {
    for await (const text of texts) yield writer.take(text);
  } catch (error) {
    if (verdictOf(search) === 'several values') return;
    // The parser's errors have no code.
    if ((error as NodeJS.ErrnoException).code !== undefined) throw error;
    throw new MalformedJson((error as Error).message);
  }
  if (writer.isOpen()) throw refusedFile('is JSON that is cut off');
  yield writer.end();
  const verdict = verdictOf(search);
  requireClear(verdict, envelope);
  result.isArray = verdict === 'array';
}

/** @throws DownloadRefused, TableProblem */
function requireClear(verdict: Verdict, { path, start }: Envelope): void {
  const refuse = (several: string) => {
    throw new TableProblem(
      `the file is an object with ${several}; set "rows" to the path of the array that holds the rows, such as "data.items". It begins with ${start}`,
    );
  };
  if (verdict === 'array or object') refuse('a date and a metric that has an array of such objects');
  if (verdict === 'several arrays') refuse('several arrays of objects');
  if (path === undefined) return;
  const none = `no array at ${shorten(path)}`;
  if (verdict === 'another path') refuse(none);
  if (verdict === 'no array')
    throw refusedFile(`is an object with ${none}, the path that "rows" of the request names`);
}

/** The facts about an object, after some of its values were read. */
interface Search extends Pick<Envelope, 'path' | 'fields'> {
  /**
   * `outside`: no array at a possible place has begun · `array`: the last one has no objects so far ·
   * `rows`: the items of the last one are rows
   */
  state: 'outside' | 'array' | 'rows';
  /** Values of the text, at its top. */
  values: number;
  arraysOfRows: number;
  hasOtherArrays: boolean;
  readonly object: RowTest;
  /** The names in the rows of each array at a possible place. An object may have two of one name. */
  readonly rows: RowTest[];
}

function beginSearch({ path, fields }: Envelope): Search {
  return {
    path,
    fields,
    state: 'outside',
    values: 0,
    arraysOfRows: 0,
    hasOtherArrays: false,
    object: createRowTest(fields),
    rows: [],
  };
}

/**
 * Sees each value outside of the rows, in the order of the text.
 *
 * @param stack the keys and positions that lead to the value
 * @returns true if it is one of the rows
 */
function seeValue(search: Search, stack: readonly (string | number | null)[], { name }: Token): boolean {
  const { path, object } = search;
  if (stack.length === 0) {
    search.values += 1;
    if (search.values > 1) throw new Error('another value follows');
    return false;
  }
  if (path === undefined) object.see(stack.join('.'));
  const isItem = typeof stack.at(-1) === 'number';
  const keys = isItem ? stack.slice(0, -1) : stack;
  if (keys.length === 0 || keys.some((key) => typeof key === 'number')) return false;
  const isPlace = path === undefined ? keys.length <= MAX_KEYS : keys.join('.') === path;
  if (!isPlace) {
    search.hasOtherArrays ||= isItem && name === 'startObject';
    return false;
  }
  if (!isItem && name === 'startArray') beginArray(search);
  if (isItem && name === 'startObject') beginRows(search);
  return isItem && search.state === 'rows';
}

function beginArray(search: Search): void {
  const { path, fields, rows } = search;
  search.state = 'array';
  rows.push(
    createRowTest(fields && { date: outermost(fields.date), metrics: fields.metrics.map(outermost) }),
  );
  if (path !== undefined) beginRows(search);
}

function beginRows(search: Search): void {
  if (search.state !== 'array') return;
  search.state = 'rows';
  search.arraysOfRows += 1;
}

function verdictOf({ path, values, arraysOfRows, hasOtherArrays, object, rows }: Search): Verdict {
  if (values > 1) return 'several values';
  if (path !== undefined && arraysOfRows === 0) return hasOtherArrays ? 'another path' : 'no array';
  if (object.isRow()) return rows.some(({ isRow }) => isRow()) ? 'array or object' : 'object';
  if (arraysOfRows > 1) return 'several arrays';
  return arraysOfRows === 1 ? 'array' : 'no array';
}

/** Parses a text piece by piece, and writes its rows as an array. */
function createRowWriter(search: Search) {
  const parse = jsonParser({ streamValues: false, jsonStreaming: true });
  const select = pick({ filter: (stack, token) => seeValue(search, stack, token) });
  const write = stringer({ useValues: true });
  // Open objects and arrays, of the text and of the row.
  let depth = 0;
  let rowDepth = 0;

  function takeToken(token: Token): string {
    depth += OPENS[token.name] ?? 0;
    let text = '';
    for (const part of tokensIn(select(token))) text += writeToken(part);
    return text;
  }

  function writeToken(token: Token): string {
    rowDepth += OPENS[token.name] ?? 0;
    if (rowDepth === 1 && token.name === 'keyValue') search.rows.at(-1)?.see(String(token.value));
    return String(write(token));
  }

  return {
    begin: () => String(write({ name: 'startArray' })),
    end: () => String(write({ name: 'endArray' })),
    /** True if the text ends inside of a value. */
    isOpen: () => depth > 0,
    /** @returns the rows of the next piece */
    take(piece: string): string {
      let text = '';
      for (const token of tokensIn(parse(piece))) text += takeToken(token);
      return text;
    },
  };
}

/** @param result of a stage of stream-json: one token, several, or a symbol for none */
function tokensIn(result: ReturnType<ReturnType<typeof pick>>): readonly Token[] {
  if (typeof result !== 'object') return [];
  return 'values' in result ? result.values : [result];
}

type RowTest = ReturnType<typeof createRowTest>;

/** Looks for the date and a metric among the names of one object, or of many. */
function createRowTest(fields: RowFields | undefined) {
  const date = fields?.date.toLowerCase();
  const metrics = new Set(fields?.metrics.map((name) => name.toLowerCase()));
  let hasDate = false;
  let hasMetric = false;
  return {
    see(name: string) {
      hasDate ||= name.toLowerCase() === date;
      hasMetric ||= metrics.has(name.toLowerCase());
    },
    isRow: () => hasDate && hasMetric,
  };
}

/** The name in the row of a field that is inside of an object, such as `metrics` of `metrics.spend`. */
function outermost(field: string): string {
  return field.split('.', 1)[0] ?? field;
}

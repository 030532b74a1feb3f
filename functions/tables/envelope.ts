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
  const search = createSearch(envelope);
  const writer = createRowWriter(search);
  yield writer.begin();
  try {
    for await (const text of texts) yield writer.take(text);
  } catch (error) {
    if (search.verdict() === 'several values') return;
    // The parser's errors have no code.
    if ((error as NodeJS.ErrnoException).code !== undefined) throw error;
    throw new MalformedJson((error as Error).message);
  }
  if (writer.isOpen()) throw refusedFile('is JSON that is cut off');
  yield writer.end();
  const verdict = search.verdict();
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

type Search = ReturnType<typeof createSearch>;

/** Finds the rows of an object. It sees each value outside of them, in the order of the text. */
function createSearch({ path, fields }: Envelope) {
  /**
   * `outside`: no array at a possible place has begun · `array`: the last one has no objects so far ·
   * `rows`: the items of the last one are rows
   */
  let state: 'outside' | 'array' | 'rows' = 'outside';
  let values = 0;
  let arraysOfRows = 0;
  let hasOtherArrays = false;
  const object = createRowTest(fields);
  // For each array at a possible place. An object may have two of one name.
  const items: ReturnType<typeof createRowTest>[] = [];

  const isPlace = (keys: readonly unknown[]) =>
    path === undefined ? keys.length <= MAX_KEYS : keys.join('.') === path;

  function beginArray(): void {
    state = 'array';
    items.push(
      createRowTest(fields && { date: outermost(fields.date), metrics: fields.metrics.map(outermost) }),
    );
    if (path !== undefined) beginRows();
  }

  function beginRows(): void {
    if (state !== 'array') return;
    state = 'rows';
    arraysOfRows += 1;
  }

  return {
    /** @param stack the keys and positions that lead to the value @returns true if it is one of the rows */
    see(stack: readonly (string | number | null)[], { name }: Token): boolean {
      if (stack.length === 0) {
        values += 1;
        if (values > 1) throw new Error('another value follows');
        return false;
      }
      if (path === undefined) object.see(stack.join('.'));
      const isItem = typeof stack.at(-1) === 'number';
      const keys = isItem ? stack.slice(0, -1) : stack;
      if (keys.length === 0 || keys.some((key) => typeof key === 'number')) return false;
      if (!isPlace(keys)) {
        hasOtherArrays ||= isItem && name === 'startObject';
        return false;
      }
      if (!isItem && name === 'startArray') beginArray();
      if (isItem && name === 'startObject') beginRows();
      return isItem && state === 'rows';
    },

    seeNameInRow(name: string): void {
      items.at(-1)?.see(name);
    },

    verdict(): Verdict {
      if (values > 1) return 'several values';
      if (path !== undefined && arraysOfRows === 0) return hasOtherArrays ? 'another path' : 'no array';
      if (object.isRow()) return items.some(({ isRow }) => isRow()) ? 'array or object' : 'object';
      if (arraysOfRows > 1) return 'several arrays';
      return arraysOfRows === 1 ? 'array' : 'no array';
    },
  };
}

/** Parses a text piece by piece, and writes its rows as an array. */
function createRowWriter(search: Search) {
  const parse = jsonParser({ streamValues: false, jsonStreaming: true });
  const select = pick({ filter: search.see });
  const write = stringer({ useValues: true });
  // Open objects and arrays, of the text and of the row.
  let depth = 0;
  let rowDepth = 0;

  function writeToken(token: Token): string {
    rowDepth += OPENS[token.name] ?? 0;
    if (rowDepth === 1 && token.name === 'keyValue') search.seeNameInRow(String(token.value));
    return String(write(token));
  }

  return {
    begin: () => String(write({ name: 'startArray' })),
    end: () => String(write({ name: 'endArray' })),
    /** True if the text ends inside of a value. */
    isOpen: () => depth > 0,
    /** @returns the rows of the next piece */
    take(text: string): string {
      const tokens = parse(text);
      let rows = '';
      for (const token of typeof tokens === 'object' ? tokens.values : []) {
        depth += OPENS[token.name] ?? 0;
        const selected = select(token);
        if (typeof selected !== 'object') continue;
        for (const part of 'values' in selected ? selected.values : [selected]) rows += writeToken(part);
      }
      return rows;
    },
  };
}

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

/** The name in a row of a field that may be inside of an object, such as `metrics.spend`. */
function outermost(field: string): string {
  return field.split('.', 1)[0] ?? field;
}

import { pick } from 'stream-json/filters/pick.js';
import { jsonParser, type Token } from 'stream-json/parser.js';
import { stringer } from 'stream-json/stringer.js';
import { MalformedJson, type RowFields, refused, shorten, TableProblem } from './report.ts';
import { OPENS } from './text.ts';

/** Keys of the path to the rows, such as `data.rows`, if the request does not name it. */
const MAX_KEYS = 2;

/** The facts about an object that are known before it is read. */
interface Envelope {
  /** The path to the array of rows, such as `data.items`, if the request names it. Only it may be empty. */
  readonly path: string | undefined;
  /** The start of the text. */
  readonly start: string;
  readonly fields: RowFields;
}

/**
 * Reads a text that begins with an object, and yields the array of its rows: the one at the path, or else the
 * only array of objects. Names, numbers and texts keep each character.
 *
 * @param result `isArray` is set at the end, unless other values follow the object, or it has no such array,
 *   or it is a row itself: it has a date and a metric, and lists without them
 * @throws DownloadRefused if the text is cut, or if the object has no array of objects, although there is a
 *   path
 * @throws TableProblem if the text is no JSON, if the object holds several arrays of objects, or others than
 *   the one of the path, or if both the object and those of its array could be the rows
 */
export async function* cutRows(
  texts: AsyncIterable<string>,
  { path, start, fields }: Envelope,
  result: { isArray: boolean },
): AsyncGenerator<string> {
  // Numbers of arrays, because an object may have two of one name.
  const chosen = new Set<number>();
  let arrays = 0;
  let hasOthers = false;
  let values = 0;
  const own = createRowTest(fields);
  // By array.
  const inner: ReturnType<typeof createRowTest>[] = [];
  // Sees each value that is not in a row, with the keys and positions that lead to it.
  const filter = (stack: (string | number | null)[], { name }: Token) => {
    if (stack.length === 0 && ++values > 1) throw new Error('another value follows');
    if (path === undefined && stack.length > 0) own.see(stack.join('.'));
    const isItem = typeof stack.at(-1) === 'number';
    const keys = isItem ? stack.slice(0, -1) : stack;
    if (keys.length === 0 || keys.some((key) => typeof key === 'number')) return false;
    const isPlace = path === undefined ? keys.length <= MAX_KEYS : keys.join('.') === path;
    const isArray = !isItem && name === 'startArray';
    const isRow = isItem && name === 'startObject';
    if (isPlace && isArray) {
      arrays += 1;
      inner.push(createRowTest({ date: outermost(fields.date), metrics: fields.metrics.map(outermost) }));
    }
    if (isPlace && (isRow || (isArray && path !== undefined))) chosen.add(arrays);
    if (isRow && !isPlace) hasOthers = true;
    return isItem && isPlace && chosen.has(arrays);
  };
  const parse = jsonParser({ streamValues: false, jsonStreaming: true });
  const select = pick({ filter });
  const write = stringer({ useValues: true });
  // Open objects and arrays, of the text and of the row.
  let depth = 0;
  let rowDepth = 0;
  yield String(write({ name: 'startArray' }));
  try {
    for await (const text of texts) {
      const tokens = parse(text);
      let array = '';
      for (const token of typeof tokens === 'object' ? tokens.values : []) {
        depth += OPENS[token.name] ?? 0;
        const selected = select(token);
        if (typeof selected !== 'object') continue;
        for (const part of 'values' in selected ? selected.values : [selected]) {
          rowDepth += OPENS[part.name] ?? 0;
          if (rowDepth === 1 && part.name === 'keyValue') inner.at(-1)?.see(String(part.value));
          array += String(write(part));
        }
      }
      yield array;
    }
  } catch (error) {
    if (values > 1) return;
    // The parser's errors have no code.
    if ((error as NodeJS.ErrnoException).code !== undefined) throw error;
    throw new MalformedJson((error as Error).message);
  }
  if (depth > 0) throw refused('is JSON that is cut off');
  yield String(write({ name: 'endArray' }));
  const none = path !== undefined && chosen.size === 0 && `no array at ${shorten(path)}`;
  if (none && !hasOthers)
    throw refused(`is an object with ${none}, the path that "rows" of the request names`);
  const isEither = own.isRow() && inner.some(({ isRow }) => isRow());
  const isUnclear = isEither || (chosen.size > 1 && !own.isRow());
  const several = isEither
    ? 'a date and a metric that has an array of such objects'
    : 'several arrays of objects';
  if (none || isUnclear)
    throw new TableProblem(
      `the file is an object with ${none || several}; set "rows" to the path of the array that holds the rows, such as "data.items". It begins with ${start}`,
    );
  result.isArray = chosen.size > 0 && !own.isRow();
}

/** Looks for the date and a metric among the names of one object, or of many. */
function createRowTest({ date, metrics }: RowFields) {
  const names = new Set(metrics.map((name) => name.toLowerCase()));
  let hasDate = false;
  let hasMetric = false;
  return {
    see(name: string) {
      hasDate ||= name.toLowerCase() === date.toLowerCase();
      hasMetric ||= names.has(name.toLowerCase());
    },
    isRow: () => hasDate && hasMetric,
  };
}

/** The name in a row of a field that may be inside of an object, such as `metrics.spend`. */
function outermost(field: string): string {
  return field.split('.', 1)[0] ?? field;
}

import { pick } from 'stream-json/filters/pick.js';
import { jsonParser, type Token } from 'stream-json/parser.js';
import { stringer } from 'stream-json/stringer.js';
import { refused, shorten, TableProblem } from './report.ts';

/** Keys of the path to the rows, such as `data.rows`, if the request does not name it. */
const MAX_KEYS = 2;

/** Objects and arrays that a token opens. */
const OPENS: Record<string, number> = { startObject: 1, startArray: 1, endObject: -1, endArray: -1 };

/**
 * Reads a text that begins with an object, and yields the array of its rows. Names, numbers and texts keep
 * each character.
 *
 * @param path to the array of the rows, such as `data.items`. Only this array may be empty. Without a path,
 *   it is the only array of objects
 * @param start of the text
 * @param found is set at the end, unless the object has no such array, or other values follow it
 * @throws DownloadRefused if the text is not JSON, or if the object has no array of objects, although there
 *   is a path
 * @throws TableProblem if the object holds several arrays of objects, or others than the one of the path
 */
export async function* cutRows(
  text: AsyncIterable<Buffer>,
  { path, start }: { readonly path: string | undefined; readonly start: string },
  found: { isArray: boolean },
): AsyncGenerator<string> {
  // Numbers of arrays, because an object may have two of one name.
  const chosen = new Set<number>();
  let arrays = 0;
  let hasOthers = false;
  let values = 0;
  // Sees each value that is not in a row, with the keys and positions that lead to it.
  const filter = (stack: (string | number | null)[], { name }: Token) => {
    if (stack.length === 0 && ++values > 1) throw new Error('another value follows');
    const isItem = typeof stack.at(-1) === 'number';
    const keys = isItem ? stack.slice(0, -1) : stack;
    if (keys.length === 0 || keys.some((key) => typeof key === 'number')) return false;
    const isPlace = path === undefined ? keys.length <= MAX_KEYS : keys.join('.') === path;
    const isArray = !isItem && name === 'startArray';
    const isRow = isItem && name === 'startObject';
    if (isPlace && isArray) arrays += 1;
    if (isPlace && (isRow || (isArray && path !== undefined))) chosen.add(arrays);
    if (isRow && !isPlace) hasOthers = true;
    return isItem && isPlace && chosen.has(arrays);
  };
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const parse = jsonParser({ streamValues: false, jsonStreaming: true });
  const select = pick({ filter });
  const write = stringer({ useValues: true });
  // Open objects and arrays.
  let depth = 0;
  yield String(write({ name: 'startArray' }));
  try {
    for await (const chunk of text) {
      const tokens = parse(decoder.decode(chunk, { stream: true }));
      let array = '';
      for (const token of typeof tokens === 'object' ? tokens.values : []) {
        depth += OPENS[token.name] ?? 0;
        const selected = select(token);
        if (typeof selected !== 'object') continue;
        for (const each of 'values' in selected ? selected.values : [selected]) array += String(write(each));
      }
      yield array;
    }
    if (depth > 0) throw new Error('it is cut off');
  } catch (error) {
    if (values > 1) return;
    // The parser's errors have no code.
    if ((error as NodeJS.ErrnoException).code !== undefined) throw error;
    throw refused(`cannot be read: ${(error as Error).message}`);
  }
  yield String(write({ name: 'endArray' }));
  const none = path !== undefined && chosen.size === 0 && `no array at ${shorten(path)}`;
  if (none && !hasOthers)
    throw refused(`is an object with ${none}, the path that "rows" of the request names`);
  if (none || chosen.size > 1)
    throw new TableProblem(
      `the file is an object with ${none || 'several arrays of objects'}; set "rows" to the path of the array that holds the rows, such as "data.items". It begins with ${start}`,
    );
  found.isArray = chosen.size > 0;
}

import { jsonParser, type Token } from 'stream-json/parser.js';
import { stringer } from 'stream-json/stringer.js';

/** Keys of the path to the rows, such as `data.rows`, if the request does not name it. */
const MAX_KEYS = 2;

/** Objects and arrays that a token opens. */
const OPENS: Partial<Record<Token['name'], number>> = {
  startObject: 1,
  startArray: 1,
  endObject: -1,
  endArray: -1,
};

/** The text is not JSON. */
export class NotJson extends Error {
  override readonly name = 'NotJson';
}

/**
 * - `rows`: the object holds one array of objects, or the one that the request names; or its only arrays are empty
 * - `several`: it holds several arrays of objects, or others than the one that the request names
 * - `lines`: it holds none, or other values follow it
 */
export type Envelope = 'rows' | 'several' | 'lines';

/**
 * Reads a text that begins with an object, and yields the array of its rows. Names, numbers and texts keep each character.
 *
 * @param path to the array, such as `data.items` @param report called at the end. Only `rows` have a text of use
 * @throws NotJson
 */
export async function* cutRows(
  text: AsyncIterable<Buffer>,
  path: string | undefined,
  report: (found: Envelope) => void,
): AsyncGenerator<string> {
  const write = stringer({ useValues: true });
  const arrays = { chosen: 0, empty: 0, others: 0 };
  // The key that was read last, in each object around the token.
  const keys: string[] = [];
  // Open objects and arrays in an array.
  let depth = 0;
  let isFirst = false;
  let isCopied = false;
  let isOver = false;
  for await (const tokens of tokensOf(text)) {
    let copied = '';
    for (const token of tokens) {
      if (isOver) return report('lines');
      const { name } = token;
      if (isFirst) {
        const isPlace = path === undefined ? keys.length <= MAX_KEYS : keys.join('.') === path;
        if (name === 'startObject') arrays[isPlace ? 'chosen' : 'others']++;
        else if (name === 'endArray' && isPlace) arrays.empty++;
        isCopied = isPlace && name === 'startObject' && arrays.chosen === 1;
        if (isCopied) copied += String(write({ name: 'startArray' }));
      }
      isFirst = depth === 0 && name === 'startArray';
      if (isCopied) copied += String(write(token));
      if (depth > 0 || isFirst) depth += OPENS[name] ?? 0;
      else if (name === 'startObject') keys.push('');
      else if (name === 'keyValue') keys[keys.length - 1] = token.value;
      else if (name === 'endObject') keys.pop();
      isCopied &&= depth > 0;
      isOver = keys.length === 0;
    }
    if (copied !== '') yield copied;
  }
  if (!isOver) throw new NotJson('it is cut off');
  const { chosen, empty, others } = arrays;
  if (chosen === 0) yield '[]';
  if (chosen === 1 || (chosen === 0 && empty > 0)) report('rows');
  else report(chosen > 0 || (path !== undefined && others > 0) ? 'several' : 'lines');
}

/** @throws NotJson */
export async function checkJson(text: AsyncIterable<Buffer>): Promise<void> {
  for await (const _ of tokensOf(text, false));
}

/** @param isStream whether other values may follow the first one */
async function* tokensOf(text: AsyncIterable<Buffer>, isStream = true): AsyncGenerator<readonly Token[]> {
  const parse = jsonParser({ streamValues: false, jsonStreaming: isStream });
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const read = (chunk: Buffer) => {
    try {
      const tokens = parse(decoder.decode(chunk, { stream: true }));
      return typeof tokens === 'object' ? tokens.values : [];
    } catch (error) {
      throw new NotJson((error as Error).message, { cause: error });
    }
  };
  for await (const chunk of text) yield read(chunk);
}

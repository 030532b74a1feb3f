import { jsonParser, type Token } from 'stream-json/parser.js';
import { stringer } from 'stream-json/stringer.js';

/** Keys of the path to an array of rows, such as `data.rows`, if the request does not name it. */
const MAX_KEYS = 2;

/** The text is not JSON. */
export class NotJson extends Error {
  override readonly name = 'NotJson';
}

/**
 * - `rows`: the object holds one array of objects, or the one that the request names; it may be empty
 * - `several`: arrays of objects, and the request names none of them
 * - `none`: no array of objects
 * - `lines`: other values follow the object
 */
export type Envelope = 'rows' | 'several' | 'none' | 'lines';

/**
 * Reads a text that begins with an object, and yields the array that holds the rows. All names, numbers and texts stay as they are.
 *
 * @param rows the path to the array, such as `data.items`
 * @param report called with the result. Only the text of `rows` is of use
 * @throws NotJson
 */
export async function* cutRows(
  text: AsyncIterable<Buffer>,
  rows: string | undefined,
  report: (found: Envelope) => void,
): AsyncGenerator<string> {
  const write = stringer({ useValues: true });
  // One for each object and array around the current token: the key that was read last in it.
  const keys: string[] = [];
  const found = { chosen: 0, empty: 0, others: 0 };
  let arrays = 0;
  let isOver = false;
  let isFirst = false;
  let isCopied = false;
  for await (const tokens of tokensOf(text)) {
    let copied = '';
    for (const token of tokens) {
      if (isOver) return report('lines');
      const { name } = token;
      if (isFirst) {
        const isNamed = rows === undefined || keys.slice(0, -1).join('.') === rows;
        if (name === 'startObject') found[isNamed ? 'chosen' : 'others']++;
        else if (name === 'endArray' && isNamed) found.empty++;
        isCopied = isNamed && name === 'startObject' && found.chosen === 1;
        if (isCopied) copied += String(write({ name: 'startArray' }));
      }
      if (isCopied) copied += String(write(token));
      isFirst = name === 'startArray' && arrays === 0 && (rows !== undefined || keys.length <= MAX_KEYS);
      if (name === 'keyValue') keys[keys.length - 1] = token.value;
      if (name === 'startObject' || name === 'startArray') keys.push('');
      if (name === 'endObject' || name === 'endArray') keys.pop();
      if (name === 'startArray') arrays++;
      if (name === 'endArray') arrays--;
      if (arrays === 0) isCopied = false;
      isOver = keys.length === 0;
    }
    if (copied !== '') yield copied;
  }
  if (!isOver) throw new NotJson('it is cut off');
  if (found.chosen === 0) yield '[]';
  if (found.chosen === 1 || (found.chosen === 0 && found.empty > 0)) report('rows');
  else report(found.chosen + found.others > 0 ? 'several' : 'none');
}

/** @throws NotJson */
export async function checkJson(text: AsyncIterable<Buffer>): Promise<void> {
  for await (const _ of tokensOf(text, false));
}

/** @param isStream whether other values may follow the first one */
async function* tokensOf(text: AsyncIterable<Buffer>, isStream = true): AsyncGenerator<readonly Token[]> {
  const parse = jsonParser({ streamValues: false, jsonStreaming: isStream });
  const decoder = new TextDecoder('utf-8', { fatal: true });
  for await (const chunk of text) yield read(() => parse(decoder.decode(chunk, { stream: true })));
}

function read(parse: () => { readonly values: readonly Token[] } | symbol): readonly Token[] {
  try {
    const found = parse();
    return typeof found === 'object' ? found.values : [];
  } catch (error) {
    throw new NotJson((error as Error).message, { cause: error });
  }
}

import type { JsonProgress } from '../workflow/checkpoint.ts';

type Count = JsonProgress['count'];

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_ARRAY = 0x5b;

/** The bytes outside of strings that matter. All others are white space or parts of numbers and words. */
const [STRING, COMMA, OPEN, CLOSE] = [1, 2, 3, 4];
const KINDS = new Uint8Array(256);
for (const [characters, kind] of [
  ['"', STRING],
  [',', COMMA],
  ['[{', OPEN],
  [']}', CLOSE],
] as const) {
  for (const character of characters) KINDS[character.charCodeAt(0)] = kind;
}

/** The depth of a text that closes what it did not open, or has more than arrays and objects at its top level. */
const BROKEN = -1;

export const NOTHING_COUNTED: Count = {
  ...{ depth: 0, in_string: false, escaped: false },
  ...{ values: 0, is_array: false, elements: 0, awaits_element: false },
};

/**
 * Counts the values at the top level of a JSON text, and the elements of the last one if it is an array. Does not parse.
 *
 * @param before the count of all earlier bytes
 * @param bytes the next bytes, without a byte order mark
 */
export function countJson(before: Count, bytes: Uint8Array): Count {
  let { depth, in_string, escaped, values, is_array, elements, awaits_element } = before;
  let at = 0;
  while (at < bytes.length && depth !== BROKEN) {
    if (in_string) {
      if (!escaped) while (at < bytes.length && bytes[at] !== QUOTE && bytes[at] !== BACKSLASH) at++;
      if (at === bytes.length) break;
      in_string = escaped || bytes[at] !== QUOTE;
      escaped = !escaped && bytes[at] === BACKSLASH;
      at++;
      continue;
    }
    const byte = bytes[at++] as number;
    const kind = KINDS[byte] as number;
    if (kind === 0 && (depth > 1 || byte <= 0x20)) continue;
    if (kind === CLOSE) {
      depth = depth === 0 ? BROKEN : depth - 1;
    } else if (depth === 0) {
      depth = kind === OPEN ? 1 : BROKEN;
      [values, elements, is_array, awaits_element] = [values + 1, 0, byte === OPEN_ARRAY, true];
    } else {
      if (depth === 1 && kind !== COMMA && awaits_element) elements += 1;
      if (depth === 1) awaits_element = kind === COMMA;
      if (kind === OPEN) depth += 1;
      in_string = kind === STRING;
    }
  }
  return { depth, in_string, escaped, values, is_array, elements, awaits_element };
}

/** Whether the text is not a sequence of arrays and objects. */
export function isBroken({ depth }: Count): boolean {
  return depth === BROKEN;
}

/** Whether everything that was opened is closed. */
export function isClosed({ depth, values }: Count): boolean {
  return depth === 0 && values > 0;
}

/** @returns elements of an array, values of NDJSON; undefined for a single object */
export function rowsOf({ values, is_array, elements }: Count, isLines: boolean): number | undefined {
  if (values > 1 || (isLines && !is_array)) return values;
  return is_array ? elements : undefined;
}

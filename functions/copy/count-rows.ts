import type { JsonProgress } from '../workflow/checkpoint.ts';

const [QUOTE, COMMA, BACKSLASH] = [0x22, 0x2c, 0x5c];
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

type Count = JsonProgress['count'];

/** `depth` of a text that closes what it did not open, or has more than brackets at its top level. */
const BROKEN = -1;

export const NOTHING_COUNTED: Count = {
  depth: 0,
  in_string: false,
  escaped: false,
  values: 0,
  is_array: false,
  elements: 0,
  awaits_element: false,
};

/**
 * Counts the values at the top level of a JSON text and the elements of the last one, if it is an array. Does not parse.
 *
 * @param before the count of all earlier bytes
 * @param bytes the next bytes, without a byte order mark
 */
export function countJson(before: Count, bytes: Uint8Array): Count {
  let { depth, in_string, escaped, values, is_array, elements, awaits_element } = before;
  for (let at = 0; at < bytes.length && depth !== BROKEN; at++) {
    const byte = bytes[at] as number;
    if (in_string) {
      if (escaped) escaped = false;
      else if (byte === BACKSLASH) escaped = true;
      else if (byte === QUOTE) in_string = false;
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
      depth = depth === 0 ? BROKEN : depth - 1;
    } else if (byte > 0x20) {
      const opens = byte === OPEN_OBJECT || byte === OPEN_ARRAY;
      if (depth === 0) {
        if (!opens) depth = BROKEN;
        else {
          depth = 1;
          values += 1;
          elements = 0;
          is_array = byte === OPEN_ARRAY;
          awaits_element = true;
        }
      } else {
        if (depth === 1) {
          if (byte === COMMA) awaits_element = true;
          else if (awaits_element) {
            elements += 1;
            awaits_element = false;
          }
        }
        if (opens) depth += 1;
        else if (byte === QUOTE) in_string = true;
      }
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

/**
 * The shape of JSON text as its bytes pass: where strings and brackets begin and end, how many rows there are, and
 * whether it has been seen to close. Values are not parsed; memory is a few words whatever the size.
 */
export interface JsonShape {
  /** @returns false as soon as the bytes cannot be the beginning of JSON that holds rows */
  write(chunk: Uint8Array): boolean;
  /** Whether the text could end here: something was opened, and all of it is closed. */
  closed(): boolean;
  /** Elements of the array, or values where several follow each other (NDJSON); undefined for a single object. */
  rows(): number | undefined;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];

const OTHER = 0;
const SPACE = 1;
const STRING = 2;
const COMMA = 3;
const OPEN_ARRAY = 4;
const OPEN_OBJECT = 5;
const CLOSE_ARRAY = 6;
const CLOSE_OBJECT = 7;
const KIND = kinds();

// Deeper than any report; the stack of open brackets must not grow with what a server sends.
const DEPTH_MAX = 512;

export function openJsonShape(): JsonShape {
  const stack = new Uint8Array(DEPTH_MAX + 1); // the kind that closes each open bracket
  let position = 0;
  let depth = 0;
  let inString = false;
  let escaped = false;
  let broken = false;
  let roots = 0;
  let rootIsArray = false;
  let commas = 0;
  let filled = false; // whether the root array holds anything

  function write(chunk: Uint8Array): boolean {
    let at = position < BYTE_ORDER_MARK.length ? afterMark(chunk) : 0;
    position += chunk.length;
    const end = chunk.length;
    while (at < end && !broken) {
      if (inString) {
        at = afterString(chunk, at);
        continue;
      }
      const kind = KIND[chunk[at++] ?? 0] ?? OTHER;
      if (kind === SPACE) continue;
      if (depth === 1 && kind < CLOSE_ARRAY) filled = true;
      if (kind === STRING) inString = depth > 0 || fail();
      else if (kind >= CLOSE_ARRAY) close(kind);
      else if (kind >= OPEN_ARRAY) open(kind);
      else if (depth === 0) broken = true;
      else if (kind === COMMA && depth === 1) commas++;
    }
    return !broken;
  }

  function afterString(chunk: Uint8Array, from: number): number {
    let at = from;
    const end = chunk.length;
    if (escaped && at < end) {
      escaped = false;
      at++;
    }
    while (at < end) {
      const byte = chunk[at++];
      if (byte === QUOTE) {
        inString = false;
        return at;
      }
      if (byte === BACKSLASH && at++ >= end) escaped = true;
    }
    return end;
  }

  function open(kind: number): void {
    if (depth === 0) {
      roots++;
      rootIsArray = kind === OPEN_ARRAY;
    }
    if (depth === DEPTH_MAX) broken = true;
    else stack[++depth] = kind + 2;
  }

  function close(kind: number): void {
    if (depth === 0 || stack[depth] !== kind) broken = true;
    else depth--;
  }

  function fail(): false {
    broken = true;
    return false;
  }

  /** The mark may be cut by a chunk's end; in the middle of the text it would be no mark. */
  function afterMark(chunk: Uint8Array): number {
    let at = 0;
    while (position + at < BYTE_ORDER_MARK.length && chunk[at] === BYTE_ORDER_MARK[position + at]) at++;
    return at;
  }

  return {
    write,
    closed: () => !broken && roots > 0 && depth === 0,
    rows() {
      if (roots > 1) return roots;
      if (rootIsArray) return filled ? commas + 1 : 0;
      return undefined;
    },
  };
}

function kinds(): Uint8Array {
  const table = new Uint8Array(256);
  for (const space of ' \t\n\r') table[space.charCodeAt(0)] = SPACE;
  table[QUOTE] = STRING;
  table[','.charCodeAt(0)] = COMMA;
  table['['.charCodeAt(0)] = OPEN_ARRAY;
  table['{'.charCodeAt(0)] = OPEN_OBJECT;
  table[']'.charCodeAt(0)] = CLOSE_ARRAY;
  table['}'.charCodeAt(0)] = CLOSE_OBJECT;
  return table;
}

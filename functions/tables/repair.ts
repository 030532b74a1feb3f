/** A pair of surrogates, a lone one, or another escape: in `\\ud800`, the first backslash escapes the second. */
const ESCAPES = /\\(u[dD][89abAB]..\\u[dD][c-fC-F]..|(u[dD][89a-fA-F]..)|.)/gs;

/** Characters of an escape. A chunk may be cut after any other. */
const OF_ESCAPE = new Set(Buffer.from('\\u0123456789abcdefABCDEF'));

const [QUOTE, COMMA, LINE_FEED, CARRIAGE_RETURN] = [0x22, 0x2c, 0x0a, 0x0d];

/**
 * Replaces the escape of each lone surrogate in JSON (`\ud800`) by that of U+FFFD, as String.toWellFormed does. JSON allows
 * lone surrogates, but UTF-8 cannot hold them, so DuckDB refuses the whole file.
 */
export async function* replaceLoneSurrogates(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of chunks) {
    const text = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const end = text.findLastIndex((byte) => !OF_ESCAPE.has(byte)) + 1;
    yield replaceIn(text.subarray(0, end));
    rest = text.subarray(end);
  }
  yield replaceIn(rest);
}

function replaceIn(text: Buffer): Buffer {
  // Most files have no escape of this kind: one search is enough for them.
  if (!text.includes('\\u') || (!text.includes('\\ud') && !text.includes('\\uD'))) return text;
  const replaced = text
    .toString('latin1')
    .replace(ESCAPES, (whole: string, _, lone?: string) => (lone === undefined ? whole : '\\ufffd'));
  return Buffer.from(replaced, 'latin1');
}

/** Ends each line of CSV with a line feed alone. DuckDB expects all lines to end like the first one. Values keep theirs. */
export async function* unifyLineEnds(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let isQuoted = false;
  // By the byte before: the value goes on if another quote follows.
  let isClosed = false;
  let before: number = LINE_FEED;
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of chunks) {
    const text = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const end = text.at(-1) === CARRIAGE_RETURN ? text.length - 1 : text.length;
    const unified = Buffer.allocUnsafe(end);
    let length = 0;
    for (let at = 0; at < end; at++) {
      const byte = text[at] as number;
      // A quote inside of a plain value is a character like any other.
      if (byte === QUOTE) {
        if (isQuoted) [isQuoted, isClosed] = [false, true];
        else if (isClosed || before === COMMA || before === LINE_FEED) isQuoted = true;
      } else isClosed = false;
      if (byte === CARRIAGE_RETURN && !isQuoted && text[at + 1] === LINE_FEED) continue;
      before = byte;
      unified[length++] = byte;
    }
    yield unified.subarray(0, length);
    rest = text.subarray(end);
  }
  yield rest;
}

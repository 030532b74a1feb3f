import { jsonParser } from 'stream-json/parser.js';
import { MalformedJson, refusedFile, shorten, TableProblem } from './report.ts';

/** Characters of a file, or of a line, in a message. */
export const SHOWN = 80;

/** Tools leave these at the end of a file beside blanks: NUL and Ctrl-Z. */
const END_MARKS = ['\0', '\x1a'];

/** A joined file has the mark of its second part inside. */
const MARK_OF_PART = '\n\ufeff';

/** @returns the length of a text without blanks, byte order marks, NUL and Ctrl-Z at its end */
export function lengthOf(text: string): number {
  let { length } = text.trimEnd();
  while (END_MARKS.includes(text.charAt(length - 1))) length = text.slice(0, length - 1).trimEnd().length;
  return length;
}

/** True if a text has more than blanks behind this length. */
export function hasEndMarks(text: string, length: number): boolean {
  return END_MARKS.some((mark) => text.includes(mark, length));
}

/**
 * Decodes a text, without byte order marks at its beginning and at the beginning of a line, and without
 * blanks and end marks at its end.
 *
 * @throws an error with the code ERR_ENCODING_INVALID_ENCODED_DATA
 */
export async function* decodeText(chunks: AsyncIterable<Buffer>, charset = 'utf-8'): AsyncGenerator<string> {
  const decoder = new TextDecoder(charset, { fatal: true });
  // Blanks and end marks, which are left out if the text ends with them.
  let blanks = '';
  for await (const chunk of chunks) {
    const text = decoder.decode(chunk, { stream: true });
    const length = lengthOf(text);
    if (length > 0) {
      yield (blanks + text.slice(0, length)).replaceAll(MARK_OF_PART, '\n');
      blanks = '';
    }
    blanks += text.slice(length);
  }
  // Half of a character at the end is an error.
  decoder.decode();
}

/**
 * Finds the charset of a text. The bytes decide before a label does: a text in UTF-8 may have any label.
 *
 * @param open reads the text from its beginning
 * @returns undefined for UTF-8, and if neither the bytes nor the label name a charset
 */
export async function findCharset(
  open: () => AsyncIterable<Buffer>,
  contentType: string,
): Promise<string | undefined> {
  const wide = findUtf16(await readFirst(open()));
  if (wide) return wide;
  const named = namedCharset(contentType);
  const charset = named === undefined ? undefined : knownCharset(named);
  return charset === undefined || (await isUtf8(open())) ? undefined : charset;
}

const SPACE = 0x20;

/** A report begins with a character of ASCII, whose other byte is 0 in UTF-16. */
function findUtf16([first, second]: Buffer): string | undefined {
  if (first === undefined || second === undefined) return undefined;
  if ((first === 0xff && second === 0xfe) || (first >= SPACE && second === 0)) return 'utf-16le';
  return (first === 0xfe && second === 0xff) || (first === 0 && second >= SPACE) ? 'utf-16be' : undefined;
}

function namedCharset(contentType: string): string | undefined {
  return /;\s*charset\s*=\s*["']?([^\s;"']+)/i.exec(contentType)?.[1];
}

/** @returns undefined if there is no decoder for it */
function knownCharset(name: string): string | undefined {
  try {
    return new TextDecoder(name).encoding;
  } catch {
    return undefined;
  }
}

async function readFirst(chunks: AsyncIterable<Buffer>): Promise<Buffer> {
  for await (const chunk of chunks) return chunk;
  return Buffer.alloc(0);
}

async function isUtf8(chunks: AsyncIterable<Buffer>): Promise<boolean> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  try {
    for await (const chunk of chunks) decoder.decode(chunk, { stream: true });
    decoder.decode();
    return true;
  } catch (error) {
    if (isUndecodable(error)) return false;
    throw error;
  }
}

export function isUndecodable(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ERR_ENCODING_INVALID_ENCODED_DATA';
}

/** Says why a text could not be decoded. */
export async function undecodable(
  chunks: AsyncIterable<Buffer>,
  charset: string | undefined,
  contentType: string,
): Promise<TableProblem> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const bad = charset === undefined && (await findBadLine(chunks, (piece) => decoder.decode(piece, STREAM)));
  const named = namedCharset(contentType);
  const label = named === undefined ? 'names no other charset' : `names the charset ${shorten(named)}`;
  return new TableProblem(
    `the file is not ${(charset ?? 'utf-8').toUpperCase()}${bad ? ` (${bad})` : ''}, and its Content-Type ${label}`,
  );
}

const STREAM = { stream: true };

/** The parser needs more characters to see that a text is no value. */
const ENOUGH = ' '.repeat(16);

/** Objects and arrays that a token opens. */
export const OPENS: Readonly<Record<string, number>> = {
  startObject: 1,
  startArray: 1,
  endObject: -1,
  endArray: -1,
};

/**
 * Looks for the fault of a JSON text in UTF-8 that another parser refuses, or that does not end as it should.
 *
 * @param reason of the other parser
 * @returns the error to throw; undefined if there is no fault
 */
export async function findJsonFault(
  chunks: AsyncIterable<Buffer>,
  reason?: string,
): Promise<Error | undefined> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const parse = jsonParser({ streamValues: false, jsonStreaming: true });
  let depth = 0;
  const read = (text: string) => {
    const tokens = parse(text);
    for (const { name } of typeof tokens === 'object' ? tokens.values : []) depth += OPENS[name] ?? 0;
  };
  const bad = await findBadLine(chunks, (piece, isEnd) => {
    read(decoder.decode(piece, STREAM));
    if (isEnd ? depth === 0 : piece.at(-1) === LINE_FEED) read(ENOUGH);
  });
  if (bad !== undefined) return new MalformedJson(reason ?? 'it does not parse', bad);
  return depth > 0 ? refusedFile('is JSON that is cut off') : undefined;
}

const LINE_FEED = 10;

/**
 * @param read throws at a fault
 * @returns the first line with a fault, for a message
 */
async function findBadLine(
  chunks: AsyncIterable<Buffer>,
  read: (piece: Buffer, isEnd: boolean) => void,
): Promise<string | undefined> {
  let line = 1;
  let start = '';
  const attempt = (piece: Buffer, isEnd: boolean) => {
    try {
      read(piece, isEnd);
      return undefined;
    } catch {
      return `line ${line} begins with ${shorten(start.trimEnd(), SHOWN)}`;
    }
  };
  for await (const chunk of chunks)
    for (let at = 0; at < chunk.length; ) {
      const end = chunk.indexOf(LINE_FEED, at) + 1 || chunk.length;
      const piece = chunk.subarray(at, end);
      if (start.length < SHOWN) start += piece.subarray(0, 4 * SHOWN).toString();
      const bad = attempt(piece, false);
      if (bad !== undefined) return bad;
      if (piece.at(-1) === LINE_FEED) {
        line += 1;
        start = '';
      }
      at = end;
    }
  return attempt(Buffer.alloc(0), true);
}

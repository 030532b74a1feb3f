import { createReadStream, createWriteStream } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { constants, crc32, createGunzip, createZstdCompress, createZstdDecompress } from 'node:zlib';
import { base64Crc32 } from '../copy/crc32.ts';
import type { StoredObject } from '../workflow/state-parts.ts';
import { checkJson, cutRows, type Envelope, NotJson } from './envelope.ts';
import { limitOf, type ReportFile } from './report.ts';
import { shorten } from './source.ts';

interface Kind extends Pick<StoredObject, 'content_type' | 'content_encoding'> {
  /** As requested of the platform. */
  readonly format: string;
  /** The path to the rows of a JSON object, if the request names one. */
  readonly rows?: string | undefined;
  readonly signal: AbortSignal;
}

/** The fault of a file without a character. A list may be empty, a report may not. */
export const EMPTY = 'is empty';

/** Storage sends 16 to 64 KB at a time. Passing so little through each stage takes 1 to 3 CPU s per GB. */
const BLOCK_BYTES = 256 * 1024;

/** The first chunk of a text has so many, or is the whole text. */
const HEAD_BYTES = 64 * 1024;

/** DuckDB leaves out a longer line of CSV without an error if it has no quotes. */
const MAX_LINE_BYTES = 2_000_000;

/** Characters of a file in a message. */
const SHOWN = 80;

/** A gzip file may come without a Content-Encoding. */
const GZIP = Buffer.from([0x1f, 0x8b]);
const BYTE_ORDER_MARK = Buffer.from('\ufeff');
const [LINE_FEED, CARRIAGE_RETURN, SPACE, QUOTE, COMMA, CLOSE_BRACKET] = [0x0a, 0x0d, 0x20, 0x22, 0x2c, 0x5d];

/** Leaves about a tenth of a report. */
const ZSTD = { params: { [constants.ZSTD_c_compressionLevel]: 1 }, chunkSize: BLOCK_BYTES };
const GUNZIP = { chunkSize: BLOCK_BYTES };

/** True for the formats whose rows CurateReport can read. */
export function hasRows(format: string): boolean {
  return /^(csv|json|ndjson|jsonl)$/i.test(format);
}

/** Facts about a text, found while it is written to disk. */
interface Seen {
  head?: Buffer;
  /** The last byte that is no white space. */
  last?: number | undefined;
  /** JSON has a `]` before a `{`, which is wrong unless both are part of a text. */
  goesOn?: boolean;
  /** Of CSV. */
  fault?: string;
  isRagged?: boolean;
  hasLongLine?: boolean;
}

/**
 * Writes an object's body to a file, in flat memory, because DuckDB cannot read from a pipe, and finds its layout. The text of a
 * compressed object and an array that is cut out are compressed again: there is room for twice the object only. A fault of
 * the content is a field of the result, because the caller must first compare the CRC32: the bytes may belong to another object.
 *
 * @param base of the file's path
 * @returns the file; the number of its bytes as they came, and the base64 of their big-endian CRC32
 * @throws CurateLimit, the body's own error
 */
export async function readReportFile(
  body: Readable,
  base: string,
  kind: Kind,
  blockBytes = BLOCK_BYTES,
): Promise<{ readonly file: ReportFile; readonly bytes: number; readonly crc32: string }> {
  const { signal } = kind;
  const counts = { bytes: 0, crc: 0 };
  const seen: Seen = {};
  try {
    const blocks = inBlocks(body, blockBytes, counts);
    const { value: head = Buffer.alloc(0) } = await blocks.next();
    const isGzip = kind.content_encoding === 'gzip' || head.indexOf(GZIP) === 0;
    const path = isGzip ? `${base}.zst` : base;
    const read = (text: AsyncIterable<Buffer>) => (isCsv(kind) ? readCsv : readJson)(trimStart(text), seen);
    const bytes = putBack(head, blocks);
    // Writing a text as it is takes a third of the CPU, and DuckDB 60 MB less.
    const written = isGzip
      ? pipeline(bytes, createGunzip(GUNZIP), read, createZstdCompress(ZSTD), createWriteStream(path), {
          signal,
        })
      : writeFile(path, read(bytes), { signal });
    const fault = await written.then(() => undefined, gzipFault);
    // A decoder stops at the first fault, but the CRC32 is that of all bytes.
    for await (const _ of blocks);
    const found = fault === undefined ? await findLayout(path, seen, kind) : { fault };
    const file: ReportFile = { path, layout: 'lines', ...found };
    return { file, bytes: counts.bytes, crc32: base64Crc32(counts.crc) };
  } catch (error) {
    throw limitOf(error, signal) ?? error;
  } finally {
    body.destroy();
  }
}

/** @throws any error that is not one of gzip */
function gzipFault(error: NodeJS.ErrnoException): string {
  if (!error.code?.startsWith('Z_')) throw error;
  return `is gzip or labeled as gzip, and cannot be decoded (${error.code})`;
}

/** Counts the bytes that it passes on. */
async function* inBlocks(
  body: AsyncIterable<Buffer>,
  size: number,
  counts: { bytes: number; crc: number },
): AsyncGenerator<Buffer> {
  let chunks: Buffer[] = [];
  let length = 0;
  const take = () => {
    const block = Buffer.concat(chunks);
    counts.bytes += block.length;
    counts.crc = crc32(block, counts.crc);
    [chunks, length] = [[], 0];
    return block;
  };
  for await (const chunk of body) {
    chunks.push(chunk);
    length += chunk.length;
    if (length >= size) yield take();
  }
  yield take();
}

/** Unlike `yield*`, leaves the rest readable if its own reader stops. */
async function* putBack(head: Buffer, rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  yield head;
  for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
}

/** Removes a byte order mark and white space before the text: DuckDB takes an empty line for the header of CSV. */
async function* trimStart(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let head: Buffer | undefined = Buffer.alloc(0);
  for await (const chunk of chunks) {
    if (head) head = withoutSpace(Buffer.concat([head, chunk]));
    if (head && head.length < HEAD_BYTES) continue;
    yield head ?? chunk;
    head = undefined;
  }
  if (head) yield head;
}

function withoutSpace(text: Buffer): Buffer {
  const rest = text.indexOf(BYTE_ORDER_MARK) === 0 ? text.subarray(BYTE_ORDER_MARK.length) : text;
  const start = rest.findIndex((byte) => byte > SPACE);
  return rest.subarray(start < 0 ? rest.length : start);
}

/** A pair of surrogates, a lone one, or another escape: in `\\ud800`, the first backslash escapes the second. */
const ESCAPES = /\\(u[dD][89abAB]..\\u[dD][c-fC-F]..|(u[dD][89a-fA-F]..)|.)/gs;

/** Characters of an escape. A chunk may be cut after any other. */
const OF_ESCAPE = new Set(Buffer.from('\\u0123456789abcdefABCDEF'));

/**
 * Replaces the escape of each lone surrogate (`\ud800`) by that of U+FFFD, as String.toWellFormed does. JSON allows them, but
 * UTF-8 cannot hold them, so DuckDB refuses the whole file.
 */
async function* readJson(chunks: AsyncIterable<Buffer>, seen: Seen): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of chunks) {
    seen.head ??= chunk;
    if (seen.last === CLOSE_BRACKET || chunk.includes(CLOSE_BRACKET))
      seen.goesOn ||= /\]\s*\{/.test(String.fromCharCode(seen.last ?? 0) + chunk.toString('latin1'));
    seen.last = chunk.findLast((byte) => byte > SPACE) ?? seen.last;
    const text = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const end = text.findLastIndex((byte) => !OF_ESCAPE.has(byte)) + 1;
    yield replaceLoneSurrogates(text.subarray(0, end));
    rest = text.subarray(end);
  }
  yield replaceLoneSurrogates(rest);
}

function replaceLoneSurrogates(text: Buffer): Buffer {
  // Most files have no escape of this kind: one search is enough for them.
  if (!text.includes('\\u') || (!text.includes('\\ud') && !text.includes('\\uD'))) return text;
  const replaced = text
    .toString('latin1')
    .replace(ESCAPES, (whole: string, _, lone?: string) => (lone === undefined ? whole : '\\ufffd'));
  return Buffer.from(replaced, 'latin1');
}

/**
 * Ends each line of CSV with a line feed alone, because DuckDB expects all lines to end like the first one; values keep theirs.
 * Checks the quotes: DuckDB takes a header with an open quote and all that follows for the header, and finds no rows.
 */
async function* readCsv(chunks: AsyncIterable<Buffer>, seen: Seen): AsyncGenerator<Buffer> {
  let isQuoted = false;
  // After the quote at the end of a value, which is a part of the value if another one follows.
  let isClosed = false;
  // The last byte, but not a space before a value.
  let before: number = LINE_FEED;
  let lineBytes = 0;
  let commas = 0;
  let expected: number | undefined;
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of chunks) {
    const text = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const end = text.at(-1) === CARRIAGE_RETURN ? text.length - 1 : text.length;
    const unified = Buffer.allocUnsafe(end);
    let length = 0;
    for (let at = 0; at < end; at++) {
      const byte = text[at] as number;
      const isEnd = byte === COMMA || byte === LINE_FEED || byte === CARRIAGE_RETURN;
      if (byte === QUOTE) {
        // A quote inside of a plain value is a character like any other.
        if (isQuoted) [isQuoted, isClosed] = [false, true];
        else if (isClosed || before === COMMA || before === LINE_FEED) [isQuoted, isClosed] = [true, false];
      } else if (isClosed && byte !== SPACE) {
        if (!isEnd) seen.fault ??= 'has a quote in the middle of a quoted value';
        isClosed = false;
      }
      if (byte === CARRIAGE_RETURN && !isQuoted && text[at + 1] === LINE_FEED) continue;
      if (byte !== SPACE || (before !== COMMA && before !== LINE_FEED)) before = byte;
      unified[length++] = byte;
      if (++lineBytes > MAX_LINE_BYTES) seen.hasLongLine = true;
      if (isQuoted) continue;
      if (byte === COMMA && ++commas > (expected ?? commas)) seen.isRagged = true;
      if (byte === LINE_FEED) [expected, commas, lineBytes] = [expected ?? commas, 0, 0];
    }
    const lines = unified.subarray(0, length);
    seen.head ??= lines;
    yield lines;
    rest = text.subarray(end);
  }
  if (isQuoted) seen.fault ??= 'has a quote that is never closed';
  yield rest;
}

function isCsv({ format }: Kind): boolean {
  return /^csv$/i.test(format);
}

/** A list has one item per line too. */
function isLines({ format, content_type }: Kind): boolean {
  return /^(ndjson|jsonl)$/i.test(format) || /ndjson|jsonl|json-lines/i.test(content_type);
}

async function findLayout(
  path: string,
  { head = Buffer.alloc(0), last, goesOn, fault, isRagged, hasLongLine }: Seen,
  kind: Kind,
): Promise<Partial<ReportFile>> {
  const text = head.toString();
  if (text === '') return { fault: EMPTY };
  if (text.startsWith('<')) return { fault: 'is HTML or XML' };
  const [bracket = ''] = /^[[{]/.exec(text) ?? [];
  if (isCsv(kind)) {
    if (bracket !== '') return { fault: 'is JSON, but CSV was requested' };
    // A name in quotes may have line breaks.
    const [header = ''] = /^(?:[^"\n]|"[^"]*")*/.exec(text) ?? [];
    if (fault !== undefined) return { fault };
    const problem = `a line of the file is longer than ${MAX_LINE_BYTES} bytes`;
    return { layout: 'csv', header, ...(isRagged && { isRagged }), ...(hasLongLine && { problem }) };
  }
  if (bracket === '') return { fault: `is not JSON: it begins with ${shorten(text, SHOWN)}` };
  if (last !== Buffer.from(bracket === '[' ? ']' : '}')[0]) return { fault: 'is cut off' };
  try {
    // DuckDB reads `[row]row]` as two rows.
    if (bracket === '[' && goesOn) await checkJson(readText(path));
    if (bracket === '[') return { layout: 'array' };
    return isLines(kind) ? {} : await openEnvelope(path, text, kind);
  } catch (error) {
    if (error instanceof NotJson) return { fault: `cannot be read: ${error.message}` };
    throw error;
  }
}

async function openEnvelope(
  from: string,
  text: string,
  { rows, signal }: Kind,
): Promise<Partial<ReportFile>> {
  const path = `${from.replace(/\.zst$/, '')}.rows.zst`;
  const found: Envelope[] = [];
  const array = cutRows(readText(from), rows, (envelope) => found.push(envelope));
  await pipeline(array, createZstdCompress(ZSTD), createWriteStream(path), { signal });
  const hasRows = found[0] === 'rows';
  await rm(hasRows ? from : path);
  if (hasRows) return { path, layout: 'array' };
  if (found[0] !== 'several') return {};
  const what = rows === undefined ? 'several arrays of objects' : `no array of objects at ${shorten(rows)}`;
  const advice = 'set "rows" to the path of the array that holds the rows, such as "data.items"';
  return { problem: `the file is an object with ${what}; ${advice}. It begins with ${shorten(text, SHOWN)}` };
}

function readText(path: string): AsyncIterable<Buffer> {
  const file = createReadStream(path);
  return path.endsWith('.zst') ? file.pipe(createZstdDecompress()) : file;
}

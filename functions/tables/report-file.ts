import { createReadStream, createWriteStream } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { constants, crc32, createGunzip, createZstdCompress, createZstdDecompress } from 'node:zlib';
import { base64Crc32 } from '../copy/crc32.ts';
import type { StoredObject } from '../workflow/state-parts.ts';
import { checkJson, cutRows, type Envelope, NotJson } from './envelope.ts';
import { CurateLimit, type ReportFile } from './report.ts';
import { shorten } from './source.ts';

interface Kind extends Pick<StoredObject, 'content_type' | 'content_encoding'> {
  /** As requested of the platform. */
  readonly format: string;
  /** The path to the rows of a JSON object, if the request names one. */
  readonly rows?: string | undefined;
  readonly signal: AbortSignal;
}

export interface ReadFile {
  readonly file: ReportFile;
  /** Of the bytes as they came. */
  readonly bytes: number;
  /** Base64 of the big-endian CRC32 of those bytes. */
  readonly crc32: string;
}

/** The fault of a file without a character. A list may be empty, a report may not. */
export const EMPTY = 'is empty';

/** Storage sends 16 to 64 KB at a time. Passing so little through each stage takes 1 to 3 CPU s per GB. */
const BLOCK_BYTES = 256 * 1024;

/** The first chunk of a text has more, or is the whole text. */
const HEAD_BYTES = 64 * 1024;

/** Characters of a file in a message. */
const SHOWN = 80;

/** A gzip file may come without a Content-Encoding. */
const GZIP = Buffer.from([0x1f, 0x8b]);
const BYTE_ORDER_MARK = Buffer.from('\ufeff');
const [LINE_FEED, CARRIAGE_RETURN, QUOTE, COMMA] = [0x0a, 0x0d, 0x22, 0x2c];
const [OPEN_BRACE, CLOSE_BRACKET] = [0x7b, 0x5d];

/** Leaves about a tenth of a report. */
const COMPRESSION = { params: { [constants.ZSTD_c_compressionLevel]: 1 }, chunkSize: BLOCK_BYTES };

/** True for the formats whose rows CurateReport can read. */
export function hasRows(format: string): boolean {
  return /^(csv|json|ndjson|jsonl)$/i.test(format);
}

/** What was noticed while a text passed. */
interface Seen {
  head?: Buffer;
  /** The last byte that is no white space. */
  last?: number | undefined;
  /** JSON has a `]` before a `{`, which is wrong unless both are part of a text. */
  goesOn: boolean;
  /** CSV has a quote that is never closed, or that is closed in the middle of a value. */
  fault?: string;
}

/**
 * Writes an object's body to a file, in flat memory, because DuckDB cannot read from a pipe, and finds its layout. Only the text
 * of a compressed object, and an array that is cut out, are compressed again: there is room for twice the object, and each may be
 * as large. A fault of the content is a field of the result, because the caller must first compare the CRC32: the bytes may belong
 * to another object.
 *
 * @param base of the file's path
 * @throws CurateLimit, the body's own error
 */
export async function readReportFile(
  body: Readable,
  base: string,
  kind: Kind,
  blockBytes = BLOCK_BYTES,
): Promise<ReadFile> {
  const { signal } = kind;
  const counts = { bytes: 0, crc: 0 };
  const seen: Seen = { goesOn: false };
  try {
    const blocks = inBlocks(body, blockBytes, counts);
    const { value: head = Buffer.alloc(0) } = await blocks.next();
    const chunks = putBack(head, blocks);
    const isGzip = kind.content_encoding === 'gzip' || head.indexOf(GZIP) === 0;
    const path = isGzip ? `${base}.zst` : base;
    const isCsv = isCsvFormat(kind);
    const read = (text: AsyncIterable<Buffer>) =>
      isCsv ? readCsv(trimStart(text), seen) : readJson(trimStart(text), seen);
    // Writing a text as it is takes a third of the CPU, and DuckDB 60 MB less.
    const written = isGzip
      ? pipeline(
          chunks,
          createGunzip({ chunkSize: BLOCK_BYTES }),
          read,
          createZstdCompress(COMPRESSION),
          createWriteStream(path),
          { signal },
        )
      : writeFile(path, read(chunks), { signal });
    const undecoded = await written.then(() => undefined, gzipFault);
    // A decoder stops at the first fault, but the CRC32 is that of all bytes.
    for await (const _ of blocks);
    const file: ReportFile =
      undecoded === undefined
        ? await findLayout(path, seen, kind)
        : { path, layout: 'lines', fault: undecoded };
    return { file, bytes: counts.bytes, crc32: base64Crc32(counts.crc) };
  } catch (error) {
    throw limitOf(error as NodeJS.ErrnoException, signal) ?? error;
  } finally {
    body.destroy();
  }
}

function limitOf({ code }: NodeJS.ErrnoException, signal: AbortSignal): CurateLimit | undefined {
  if (signal.aborted) return new CurateLimit('time');
  return code === 'ENOSPC' ? new CurateLimit('storage') : undefined;
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
    chunks = [];
    length = 0;
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
  let head: Buffer = Buffer.alloc(0);
  let isPassed = false;
  for await (const chunk of chunks) {
    if (isPassed) yield chunk;
    else head = withoutSpace(Buffer.concat([head, chunk]));
    if (isPassed || head.length < HEAD_BYTES) continue;
    yield head;
    isPassed = true;
  }
  if (!isPassed) yield head;
}

function withoutSpace(text: Buffer): Buffer {
  const rest = text.indexOf(BYTE_ORDER_MARK) === 0 ? text.subarray(BYTE_ORDER_MARK.length) : text;
  const start = rest.findIndex((byte) => byte > 0x20);
  return start < 0 ? Buffer.alloc(0) : rest.subarray(start);
}

/** A pair of surrogates, a lone one, or another escape: in `\\ud800`, the first backslash escapes the second. */
const ESCAPES = /\\(u[dD][89abAB]..\\u[dD][c-fC-F]..|(u[dD][89a-fA-F]..)|.)/gs;

/** Characters of an escape. A chunk may be cut after any other. */
const OF_ESCAPE = new Set(Buffer.from('\\u0123456789abcdefABCDEF'));

/**
 * Replaces the escape of each lone surrogate (`\ud800`) by that of U+FFFD, as String.toWellFormed does. JSON allows
 * lone surrogates, but UTF-8 cannot hold them, so DuckDB refuses the whole file.
 */
async function* readJson(chunks: AsyncIterable<Buffer>, seen: Seen): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of chunks) {
    watch(chunk, seen);
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

function watch(chunk: Buffer, seen: Seen): void {
  seen.head ??= chunk;
  const next = (from: number) => {
    let at = from;
    while ((chunk[at] ?? OPEN_BRACE) <= 0x20) at++;
    return chunk[at];
  };
  seen.goesOn ||= seen.last === CLOSE_BRACKET && next(0) === OPEN_BRACE;
  for (
    let at = chunk.indexOf(CLOSE_BRACKET);
    at >= 0 && !seen.goesOn;
    at = chunk.indexOf(CLOSE_BRACKET, at + 1)
  )
    seen.goesOn = next(at + 1) === OPEN_BRACE;
  seen.last = chunk.findLast((byte) => byte > 0x20) ?? seen.last;
}

/**
 * Ends each line of CSV with a line feed alone, because DuckDB expects all lines to end like the first one. Values keep theirs.
 * Checks the quotes: DuckDB takes a header with a wrong quote and all that follows for the header, and finds no rows.
 */
async function* readCsv(chunks: AsyncIterable<Buffer>, seen: Seen): AsyncGenerator<Buffer> {
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
        else if (isClosed || before === COMMA || before === LINE_FEED) [isQuoted, isClosed] = [true, false];
      } else if (isClosed) {
        isClosed = false;
        if (byte !== COMMA && byte !== LINE_FEED && byte !== CARRIAGE_RETURN)
          seen.fault ??= 'has a quote in the middle of a quoted value';
      }
      if (byte === CARRIAGE_RETURN && !isQuoted && text[at + 1] === LINE_FEED) continue;
      before = byte;
      unified[length++] = byte;
    }
    const lines = unified.subarray(0, length);
    seen.head ??= lines;
    yield lines;
    rest = text.subarray(end);
  }
  if (isQuoted) seen.fault ??= 'has a quote that is never closed';
  yield rest;
}

function isCsvFormat({ format }: Kind): boolean {
  return /^csv$/i.test(format);
}

/** @throws the disk's own errors */
async function findLayout(path: string, { head, last, ...seen }: Seen, kind: Kind): Promise<ReportFile> {
  const start = head?.toString('utf8', 0, 4 * SHOWN) ?? '';
  const fault = (fault: string): ReportFile => ({ path, layout: 'lines', fault });
  if (start === '') return fault(EMPTY);
  if (start.startsWith('<')) return fault('is HTML or XML');
  if (isCsvFormat(kind)) {
    if (/^[[{]/.test(start)) return fault('is JSON, but CSV was requested');
    if (seen.fault !== undefined) return fault(seen.fault);
    // The first record: a quoted name may have line breaks.
    const [header = ''] = /^(?:[^"\n]|"[^"]*")*/.exec(head?.toString() ?? '') ?? [];
    return { path, layout: 'csv', header };
  }
  if (!/^[[{]/.test(start)) return fault(`is not JSON: it begins with ${shorten(start, SHOWN)}`);
  const isArray = start.startsWith('[');
  if (last !== Buffer.from(isArray ? ']' : '}')[0]) return fault('is cut off');
  try {
    // DuckDB reads `[row]row]` as two rows.
    if (isArray && seen.goesOn) await checkJson(readText(path));
    if (isArray) return { path, layout: 'array' };
    if (isLines(kind)) return { path, layout: 'lines' };
    return await openEnvelope(path, start, kind);
  } catch (error) {
    if (error instanceof NotJson) return fault(`cannot be read: ${error.message}`);
    throw error;
  }
}

/** A list has one item per line too. */
function isLines({ format, content_type }: Kind): boolean {
  return /^(ndjson|jsonl)$/i.test(format) || /ndjson|jsonl|json-lines/i.test(content_type);
}

async function openEnvelope(path: string, start: string, { rows, signal }: Kind): Promise<ReportFile> {
  const array = `${path.replace(/\.zst$/, '')}.rows.zst`;
  let found: Envelope = 'none';
  const text = cutRows(readText(path), rows, (value) => {
    found = value;
  });
  await pipeline(text, createZstdCompress(COMPRESSION), createWriteStream(array), { signal });
  const isCut = (found as Envelope) === 'rows';
  await rm(isCut ? path : array);
  if (isCut) return { path: array, layout: 'array' };
  if ((found as Envelope) !== 'several') return { path, layout: 'lines' };
  const which = rows === undefined ? 'several arrays of objects' : `no array of objects at ${shorten(rows)}`;
  const problem = `the file is an object with ${which}; set "rows" to the path of the one that holds the rows, such as "data.items". It begins with ${shorten(start, SHOWN)}`;
  return { path, layout: 'lines', problem };
}

function readText(path: string): AsyncIterable<Buffer> {
  const file = createReadStream(path, { highWaterMark: BLOCK_BYTES });
  return path.endsWith('.zst') ? file.pipe(createZstdDecompress()) : file;
}

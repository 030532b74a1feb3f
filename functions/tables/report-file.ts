import { createReadStream, createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { PassThrough, type Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { constants, crc32, createGunzip, createZstdCompress, createZstdDecompress } from 'node:zlib';
import Papa, { type ParseResult } from 'papaparse';
import { verifier } from 'stream-json/utils/verifier.js';
import { base64Crc32 } from '../copy/crc32.ts';
import { DownloadRefused } from '../workflow/errors.ts';
import type { StoredObject } from '../workflow/state-parts.ts';
import { cutRows } from './envelope.ts';
import { LONG_ROW, type ReportFile, refused, shorten, TableProblem } from './report.ts';

interface Kind extends Pick<StoredObject, 'content_type' | 'content_encoding'> {
  /** As requested of the platform. */
  readonly format: string;
  /** The path to the rows of a JSON object, if the request names one. */
  readonly rows?: string | undefined;
  readonly signal: AbortSignal;
}

/** Storage sends 16 to 64 KB at a time. Passing so little through each stage takes 1 to 3 CPU s per GB. */
const BLOCK_BYTES = 256 * 1024;

/** The parser reads an unfinished line of CSV again with each block. */
const MAX_LINE_CHARACTERS = 2_000_000;

/** DuckDB takes a row of 16 MB and no more than 32 MB of blanks. It would call others a fault of the text. */
const MAX_BLANK_BYTES = 16 * 1024 * 1024;

/** Characters of a file in a message. */
const SHOWN = 80;

/** A gzip file may come without a Content-Encoding. */
const GZIP = Buffer.from([0x1f, 0x8b]);
const [SPACE, CLOSE_BRACKET] = [0x20, 0x5d];

/** Leaves about a tenth of a report. */
const ZSTD = { params: { [constants.ZSTD_c_compressionLevel]: 1 }, chunkSize: BLOCK_BYTES };
const GUNZIP = { chunkSize: BLOCK_BYTES };

/** True for the formats whose rows CurateReport can read. */
export function hasRows(format: string): boolean {
  return /^(csv|json|ndjson|jsonl)$/i.test(format);
}

/** Facts about a text, found while it is written to disk. */
interface Seen {
  /** The first characters, without a byte order mark and white space before them. */
  start: string;
  /** The last byte that is no white space. */
  last?: number | undefined;
  /** JSON has a `]` before a `{`, which is wrong unless both are part of a text. */
  goesOn?: boolean;
  /** Of CSV. */
  header?: readonly string[];
  isRagged?: boolean;
}

/**
 * Writes an object's body to a file, in flat memory, because DuckDB cannot read from a pipe, and finds its layout. Any other text
 * than plain JSON is compressed: there is room for twice the object only. An error of the content is a field of the result, because
 * the caller must first compare the CRC32: the bytes may belong to another object.
 *
 * @param base of the file's path
 * @returns the file; the number of its bytes as they came, and the base64 of their big-endian CRC32
 * @throws the body's or the disk's own error
 */
export async function readReportFile(
  body: Readable,
  base: string,
  kind: Kind,
  blockBytes = BLOCK_BYTES,
): Promise<{ readonly file: ReportFile; readonly bytes: number; readonly crc32: string }> {
  const counts = { bytes: 0, crc: 0 };
  const seen: Seen = { start: '' };
  try {
    const blocks = inBlocks(body, blockBytes, counts);
    const { value: head = Buffer.alloc(0) } = await blocks.next();
    const isGzip = kind.content_encoding === 'gzip' || head.indexOf(GZIP) === 0;
    // Writing a text as it is takes a third of the CPU, and DuckDB 60 MB less.
    const isPlain = !isGzip && !isCsv(kind);
    const path = isPlain ? base : `${base}.zst`;
    const file = await pipeline(
      putBack(head, blocks),
      isGzip ? createGunzip(GUNZIP) : new PassThrough(),
      (text: AsyncIterable<Buffer>) => watchStart(text, seen, kind),
      (text: AsyncIterable<Buffer>) => (isCsv(kind) ? readCsv(text, seen) : readJson(text, seen)),
      isPlain ? new PassThrough() : createZstdCompress(ZSTD),
      createWriteStream(path),
      { signal: kind.signal },
    )
      .then(() => findLayout(path, seen, kind))
      .catch((error): ReportFile => ({ path, layout: 'lines', error: asContentError(error) }));
    // A decoder stops at the first fault, but the CRC32 is that of all bytes.
    for await (const _ of blocks);
    return { file, bytes: counts.bytes, crc32: base64Crc32(counts.crc) };
  } finally {
    body.destroy();
  }
}

/** @throws any error that is not one of the content */
function asContentError(error: NodeJS.ErrnoException): DownloadRefused | TableProblem {
  if (error instanceof DownloadRefused || error instanceof TableProblem) return error;
  if (error.code?.startsWith('Z_'))
    return refused(`is gzip or labeled as gzip, and cannot be decoded (${error.code})`);
  if (error.code === 'ERR_ENCODING_INVALID_ENCODED_DATA') return refused('is not UTF-8');
  throw error;
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

/** Leaves out white space before the text. @throws DownloadRefused if the first character cannot be that of a report */
async function* watchStart(chunks: AsyncIterable<Buffer>, seen: Seen, kind: Kind): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    if (seen.start.length < SHOWN)
      seen.start = (seen.start + chunk.toString()).trimStart().slice(0, SHOWN).toWellFormed();
    const { start } = seen;
    if (start === '') continue;
    if (start.startsWith('<')) throw refused('is HTML or XML');
    const isJson = /^[[{]/.test(start);
    if (isJson && isCsv(kind)) throw refused('is JSON, but CSV was requested');
    if (!isJson && !isCsv(kind)) throw refused(`is not JSON: it begins with ${shorten(start, SHOWN)}`);
    yield chunk;
  }
}

/**
 * An escape that may go on in the next block, a pair of surrogates, a lone one, or another escape: in `\\\\ud800`, the first backslash
 * escapes the second.
 */
const ESCAPES =
  /\\(?:((?:u[dD][89abAB]..(?:\\(?:u.{0,3})?)?|u.{0,3})?$)|u[dD][89abAB]..\\u[dD][c-fC-F]..|(u[dD][89a-fA-F]..)|.)/gs;

/** Bytes of the longest escape that may go on: a pair without its last digit. */
const CUT_BYTES = 11;

/**
 * Replaces the escape of each lone surrogate (`\ud800`) by that of U+FFFD, as String.toWellFormed does. JSON allows them, but
 * UTF-8 cannot hold them, so DuckDB refuses the whole file.
 */
async function* readJson(chunks: AsyncIterable<Buffer>, seen: Seen): AsyncGenerator<Buffer> {
  let cut = '';
  let blanks = 0;
  const replace = (whole: string, end?: string, lone?: string) => {
    if (end === undefined) return lone === undefined ? whole : '\\ufffd';
    cut = whole;
    return '';
  };
  for await (const chunk of chunks) {
    if (seen.last === CLOSE_BRACKET || chunk.includes(CLOSE_BRACKET))
      seen.goesOn ||= /\]\s*\{/.test(String.fromCharCode(seen.last ?? 0) + chunk.toString('latin1'));
    const last = chunk.findLastIndex((byte) => byte > SPACE);
    blanks = last < 0 ? blanks + chunk.length : 0;
    if (blanks > MAX_BLANK_BYTES) throw new TableProblem(LONG_ROW);
    seen.last = chunk[last] ?? seen.last;
    const text = cut === '' ? chunk : Buffer.concat([Buffer.from(cut, 'latin1'), chunk]);
    cut = '';
    // Most blocks have no escape of this kind: these searches are enough for them.
    const isPlain = text.indexOf('\\', -CUT_BYTES) < 0 && !text.includes('\\ud') && !text.includes('\\uD');
    yield isPlain ? text : Buffer.from(text.toString('latin1').replace(ESCAPES, replace), 'latin1');
  }
  yield Buffer.from(cut, 'latin1');
}

/** With `\n`, a line may end with a carriage return too. Given `\r\n`, the parser would not end a line at a line feed alone. */
const CSV = new Papa.Parser({ delimiter: ',', newline: '\n' });

/**
 * Writes each line after the header as a JSON array of texts. DuckDB's own reader of CSV takes a header with an open quote and all that
 * follows for the header, maps columns by position and leaves out long lines without an error.
 */
async function* readCsv(chunks: AsyncIterable<Buffer>, seen: Seen): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let rest = '';
  const takeLines = (isLast: boolean) => {
    const { data, errors, meta }: ParseResult<string[]> = CSV.parse(rest, 0, !isLast);
    rest = rest.slice(meta.cursor);
    // A line that is not complete yet may have errors.
    const fault = errors.find(({ row = 0 }) => isLast || row < data.length);
    if (fault) throw refused(`cannot be read: ${fault.message}`);
    return data.map((fields) => toJsonLine(fields, seen)).join('');
  };
  for await (const chunk of chunks) {
    rest += decoder.decode(chunk, { stream: true });
    yield takeLines(false);
    if (rest.length <= MAX_LINE_CHARACTERS) continue;
    if (CSV.parse(rest, 0, false).errors.length > 0)
      throw refused(`has a quote that is not closed within ${MAX_LINE_CHARACTERS} characters`);
    throw new TableProblem(`a line of the file is longer than ${MAX_LINE_CHARACTERS} characters`);
  }
  rest += decoder.decode();
  yield takeLines(true);
}

function toJsonLine(fields: readonly string[], seen: Seen): string {
  const texts = fields.with(-1, (fields.at(-1) ?? '').replace(/\r$/, ''));
  if (texts.length === 1 && texts[0] === '') return '';
  const { header } = seen;
  if (!header) {
    seen.header = texts.map((text) => text.trim());
    return '';
  }
  if (texts.length < header.length)
    throw refused('cannot be read: a line has fewer fields than the first one');
  if (texts.length > header.length) seen.isRagged = true;
  return `${JSON.stringify(texts.map((text) => (text === '' ? null : text)))}\n`;
}

function isCsv({ format }: Kind): boolean {
  return /^csv$/i.test(format);
}

/** A list has one item per line too. */
function isLines({ format, content_type }: Kind): boolean {
  return /ndjson|jsonl|json-lines/i.test(`${format} ${content_type}`);
}

async function findLayout(path: string, seen: Seen, kind: Kind): Promise<ReportFile> {
  const { start, last, goesOn, header = [], isRagged = false } = seen;
  if (start === '') return { path, layout: 'empty' };
  if (isCsv(kind)) return { path, layout: 'csv', header, isRagged };
  const isArray = start.startsWith('[');
  if (last !== Buffer.from(isArray ? ']' : '}')[0]) throw refused('is cut off');
  // DuckDB reads `[row]row]` as two rows.
  if (isArray && goesOn) await checkJson(path, kind.signal);
  if (isArray) return { path, layout: 'array' };
  return isLines(kind) ? { path, layout: 'lines' } : openEnvelope(path, start, kind);
}

/** @throws DownloadRefused */
async function checkJson(path: string, signal: AbortSignal): Promise<void> {
  const check = verifier.asStream();
  await pipeline(readText(path), check.resume(), { signal }).catch((error: NodeJS.ErrnoException) => {
    // The parser's errors have no code.
    throw error.code === undefined ? refused(`cannot be read: ${error.message}`) : error;
  });
}

/** Writes the rows of an object into a file of their own, if it has an array of them. */
async function openEnvelope(from: string, start: string, { rows, signal }: Kind): Promise<ReportFile> {
  const path = `${from.replace(/\.zst$/, '')}.rows.zst`;
  let isCut = false;
  const text = cutRows(readText(from), { path: rows, start: shorten(start, SHOWN) }, () => {
    isCut = true;
  });
  await pipeline(text, createZstdCompress(ZSTD), createWriteStream(path), { signal });
  await rm(isCut ? from : path);
  return isCut ? { path, layout: 'array' } : { path: from, layout: 'lines' };
}

function readText(path: string): Readable {
  const file = createReadStream(path);
  return path.endsWith('.zst') ? file.pipe(createZstdDecompress()) : file;
}

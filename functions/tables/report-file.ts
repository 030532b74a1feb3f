import { createReadStream, createWriteStream } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { addAbortSignal, PassThrough, type Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { constants, crc32, createGunzip, createZstdCompress, createZstdDecompress } from 'node:zlib';
import { base64Crc32 } from '../copy/crc32.ts';
import { DownloadRefused } from '../workflow/errors.ts';
import type { StoredObject } from '../workflow/state-parts.ts';
import { type CsvFacts, readCsv } from './csv.ts';
import { cutRows } from './envelope.ts';
import { type ReportFile, refused, shorten, TableProblem } from './report.ts';

interface Kind extends Pick<StoredObject, 'content_type' | 'content_encoding'> {
  /** As requested of the platform. Absent for a list, of which ExportList wrote one item per line. */
  readonly format?: string | undefined;
  /** The path to the rows of a JSON object, if the request names one. */
  readonly rows?: string | undefined;
  readonly signal: AbortSignal;
}

/**
 * Storage sends 16 to 64 KB at a time. Passing so little through each stage takes 1 to 3 CPU s per GB, and a new
 * buffer for each block one more.
 */
const BLOCK_BYTES = 256 * 1024;

/** Characters of a file in a message. */
const SHOWN = 80;

/** A gzip file may come without a Content-Encoding. */
const GZIP = Buffer.from([0x1f, 0x8b]);
const SPACE = 0x20;

/** Leaves about a tenth of a report. */
const ZSTD = { params: { [constants.ZSTD_c_compressionLevel]: 1 }, chunkSize: BLOCK_BYTES };
const GUNZIP = { chunkSize: BLOCK_BYTES };

/** True for the formats whose rows CurateReport can read. */
export function hasRows(format: string): boolean {
  return /^(csv|json|ndjson|jsonl)$/i.test(format);
}

/**
 * Writes an object's body to a file, in flat memory, because DuckDB cannot read from a pipe, and finds its
 * layout. Any other text than plain JSON is compressed: there is room for twice the object only. An error of
 * the content is a field of the result, because the caller must first compare the CRC32: the bytes may belong
 * to another object.
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
  try {
    const blocks = inBlocks(addAbortSignal(kind.signal, body), blockBytes, counts);
    const file = await writeText(blocks, base, kind);
    // A decoder stops at the first fault, but the CRC32 covers all bytes.
    for await (const _ of blocks);
    return { file, bytes: counts.bytes, crc32: base64Crc32(counts.crc) };
  } finally {
    body.destroy();
  }
}

/** Counts the bytes that it passes on. The next block takes the place of the one before it. */
async function* inBlocks(
  body: AsyncIterable<Buffer>,
  size: number,
  counts: { bytes: number; crc: number },
): AsyncGenerator<Buffer> {
  const block = Buffer.allocUnsafeSlow(size);
  let length = 0;
  const take = () => {
    const taken = block.subarray(0, length);
    counts.bytes += length;
    counts.crc = crc32(taken, counts.crc);
    length = 0;
    return taken;
  };
  for await (const chunk of body)
    for (let at = 0; at < chunk.length; ) {
      const copied = chunk.copy(block, length, at);
      at += copied;
      length += copied;
      if (length === size) yield take();
    }
  yield take();
}

async function writeText(blocks: AsyncGenerator<Buffer>, base: string, kind: Kind): Promise<ReportFile> {
  const { value: head = Buffer.alloc(0) } = await blocks.next();
  const isGzip = kind.content_encoding === 'gzip' || head.indexOf(GZIP) === 0;
  // Writing a text as it is takes a third of the CPU, and DuckDB 60 MB less.
  const isPlain = !isGzip && !isCsv(kind);
  const path = isPlain ? base : `${base}.zst`;
  const ends: Ends = { start: '' };
  const csv: CsvFacts = { header: [], isRagged: false };
  try {
    if (isPlain) {
      await using file = await open(path, 'w');
      for await (const block of watchEnds(putBack(head, blocks), ends, kind)) await file.writeFile(block);
    } else
      await pipeline(
        copies(putBack(head, blocks)),
        isGzip ? createGunzip(GUNZIP) : new PassThrough(),
        (text: AsyncIterable<Buffer>) => watchEnds(text, ends, kind),
        (text: AsyncIterable<Buffer>) => (isCsv(kind) ? readCsv(text, csv) : text),
        createZstdCompress(ZSTD),
        createWriteStream(path),
      );
    if (ends.start === '') return { path, layout: 'empty' };
    return isCsv(kind) ? { path, layout: 'csv', ...csv } : await findLayout(path, ends, kind);
  } catch (error) {
    return { path, layout: 'lines', error: asContentError(error as NodeJS.ErrnoException) };
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

/** For stages that hold several blocks. */
async function* copies(blocks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  for await (const block of blocks) yield Buffer.from(block);
}

/** Unlike `yield*`, leaves the rest readable if its own reader stops. */
async function* putBack(head: Buffer, rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  yield head;
  for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
}

/** The ends of a text, without white space around it. */
interface Ends {
  /** The first characters, without a byte order mark. */
  start: string;
  last?: number | undefined;
}

/**
 * Leaves out white space before the text.
 *
 * @throws DownloadRefused if no report begins with the first character
 */
async function* watchEnds(chunks: AsyncIterable<Buffer>, ends: Ends, kind: Kind): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    if (ends.start.length < SHOWN)
      ends.start = (ends.start + chunk.toString()).trimStart().slice(0, SHOWN).toWellFormed();
    if (ends.start === '') continue;
    checkStart(ends.start, kind);
    ends.last = chunk.findLast((byte) => byte > SPACE) ?? ends.last;
    yield chunk;
  }
}

function checkStart(start: string, kind: Kind): void {
  if (isList(kind)) return;
  if (start.startsWith('<')) throw refused('is HTML or XML');
  const isJson = /^[[{]/.test(start);
  if (isJson && isCsv(kind)) throw refused('is JSON, but CSV was requested');
  if (!isJson && !isCsv(kind)) throw refused(`is not JSON: it begins with ${shorten(start, SHOWN)}`);
}

function isCsv({ format = '' }: Kind): boolean {
  return /^csv$/i.test(format);
}

function isList({ format }: Kind): boolean {
  return format === undefined;
}

async function findLayout(path: string, { start, last }: Ends, kind: Kind): Promise<ReportFile> {
  if (isList(kind)) return { path, layout: 'items' };
  const isArray = start.startsWith('[');
  // DuckDB takes `[row,` for an array of one row.
  if (last !== Buffer.from(isArray ? ']' : '}')[0]) throw refused('is cut off');
  if (isArray) return { path, layout: 'array' };
  const isLines = /ndjson|jsonl|json-lines/i.test(`${kind.format} ${kind.content_type}`);
  return isLines ? { path, layout: 'lines' } : openEnvelope(path, start, kind);
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

import { createReadStream, createWriteStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { constants, createGunzip, createZstdCompress, createZstdDecompress } from 'node:zlib';
import { isGzip } from '../platform/content.ts';
import { canRead } from '../workflow/request/report.ts';
import type { StoredObject } from '../workflow/state-parts.ts';
import { type CsvFacts, readCsv } from './csv.ts';
import { cutRows } from './envelope.ts';
import {
  MalformedJson,
  type ReportFile,
  type RowFields,
  refusedFile,
  shorten,
  TableProblem,
} from './report.ts';
import {
  decodeText,
  findCharset,
  findJsonFault,
  hasEndMarks,
  isUndecodable,
  lengthOf,
  SHOWN,
  undecodable,
} from './text.ts';

/** The labels of a file, and what the request says about its rows. */
interface FileLabels extends Pick<StoredObject, 'content_type'> {
  /** As requested of the platform. Absent for a list, of which ExportList wrote one item per line. */
  readonly format?: string | undefined;
  /** The fields of a row of JSON. A list has none. */
  readonly fields?: RowFields;
  /** The path to the rows of a JSON object, if the request names one. */
  readonly rows?: string | undefined;
  readonly signal: AbortSignal;
}

/** Passing less through each stage at a time takes more CPU. */
const BLOCK_BYTES = 256 * 1024;

/** A storage host may compress a file that is compressed already. */
const MAX_GZIP = 2;

/** Leaves about a tenth of a report. */
const ZSTD = { params: { [constants.ZSTD_c_compressionLevel]: 1 }, chunkSize: BLOCK_BYTES };

/** A text that is not compressed, or whose name ends with `.zst`, and what is known of it. */
interface UnpackedText {
  readonly path: string;
  readonly charset: string | undefined;
  /** Its first characters, for a message. */
  readonly shown: string;
  readonly start: string;
  readonly last: string;
  readonly hasMarks: boolean;
}

/**
 * Finds the layout of a file. Its bytes decide, not the labels that came with it. Writes another file beside
 * it if DuckDB cannot read it as it is.
 *
 * @throws DownloadRefused if it is no report; TableProblem if its rows cannot be found; the disk's own error
 */
export async function findRows(copy: string, labels: FileLabels): Promise<ReportFile> {
  const { format, content_type, signal } = labels;
  if (format !== undefined && !canRead(format))
    throw new TableProblem(`files of format ${format} cannot be read`);
  const path = await unpack(copy, signal);
  if (format === undefined) return { path, layout: 'items' };
  const charset = await findCharset(() => readText(path), content_type);
  const ends = await readEnds(path, charset);
  const { start } = ends;
  if (start === '') throw refusedFile('is empty');
  if (start.startsWith('<')) throw refusedFile('is HTML or XML');
  const text = { ...ends, path, charset, shown: shorten(start, SHOWN) };
  if (/^[[{]/.test(start)) return findJsonRows(copy, text, format, labels);
  if (/^csv$/i.test(format)) return findCsvRows(copy, text, labels);
  throw new TableProblem(`the file is not JSON: it begins with ${text.shown}`);
}

async function findCsvRows(copy: string, text: UnpackedText, labels: FileLabels): Promise<ReportFile> {
  const facts: CsvFacts = { header: [] };
  const path = await writeDecoded(text, `${copy}.rows.zst`, (texts) => readCsv(texts, facts), labels);
  return { path, layout: 'csv', ...facts };
}

async function findJsonRows(
  copy: string,
  text: UnpackedText,
  format: string,
  labels: FileLabels,
): Promise<ReportFile> {
  const { start, last, charset, hasMarks } = text;
  const isPlain = charset === undefined && !hasMarks;
  const json = isPlain ? text.path : await writeDecoded(text, `${copy}.text.zst`, (texts) => texts, labels);
  const isArray = start.startsWith('[');
  // DuckDB takes `[row,` for an array of one row.
  const fault = last === (isArray ? ']' : '}') ? undefined : await findJsonFault(readText(json));
  if (fault) throw fault;
  if (isArray) return { path: json, layout: 'array' };
  const { content_type, signal, rows: path, fields } = labels;
  if (/ndjson|jsonl|json-lines/i.test(`${format} ${content_type}`)) return { path: json, layout: 'lines' };
  const result = { isArray: false };
  const rows = `${copy}.rows.zst`;
  const envelope = { path, start: text.shown, fields };
  await rewrite(json, (chunks) => cutRows(decodeText(chunks), envelope, result), rows, signal).catch(
    async (error) => {
      if (isUndecodable(error)) throw await undecodable(readText(json), undefined, content_type);
      throw (error instanceof MalformedJson && (await findJsonFault(readText(json)))) || error;
    },
  );
  return result.isArray ? { path: rows, layout: 'array' } : { path: json, layout: 'lines' };
}

/** Writes a text in UTF-8, changed. @returns the path of the new file */
async function writeDecoded(
  { path, charset }: UnpackedText,
  to: string,
  change: (texts: AsyncIterable<string>) => AsyncIterable<string>,
  { content_type, signal }: FileLabels,
): Promise<string> {
  try {
    await rewrite(path, (chunks) => change(decodeText(chunks, charset)), to, signal);
    return to;
  } catch (error) {
    throw isUndecodable(error) ? await undecodable(readText(path), charset, content_type) : error;
  }
}

/** @returns the path of the text */
async function unpack(copy: string, signal: AbortSignal): Promise<string> {
  let path = copy;
  for (let packed = 0; packed < MAX_GZIP && (await isGzipFile(path)); packed += 1) {
    const to = `${copy}.${packed}.zst`;
    await rewrite(path, createGunzip({ chunkSize: BLOCK_BYTES }), to, signal);
    path = to;
  }
  return path;
}

async function isGzipFile(path: string): Promise<boolean> {
  for await (const chunk of readText(path) as AsyncIterable<Buffer>) return isGzip(chunk);
  return false;
}

/**
 * Reads the first characters of a text, without blanks, and the last one before the blanks and end marks at
 * its end. `hasMarks` is true if these are more than blanks.
 */
async function readEnds(path: string, charset: string | undefined) {
  let start = '';
  let last = '';
  let hasMarks = false;
  const { size } = await stat(path);
  const parts = path.endsWith('.zst')
    ? [readText(path)]
    : [
        createReadStream(path, { end: BLOCK_BYTES }),
        createReadStream(path, { start: Math.max(0, size - BLOCK_BYTES) }),
      ];
  for (const part of parts) {
    const decoder = new TextDecoder(charset);
    for await (const chunk of part as AsyncIterable<Buffer>) {
      const text = decoder.decode(chunk, { stream: true });
      const length = lengthOf(text);
      if (start === '') start = text.slice(0, length).trimStart().slice(0, SHOWN).toWellFormed();
      if (length > 0) {
        last = text.charAt(length - 1);
        hasMarks = false;
      }
      hasMarks ||= hasEndMarks(text, length);
    }
  }
  return { start, last, hasMarks };
}

/** Writes another form of a text. It is compressed, because the disk has room for twice the object only. */
async function rewrite(
  from: string,
  change: Transform | ((text: AsyncIterable<Buffer>) => AsyncIterable<string>),
  to: string,
  signal: AbortSignal,
): Promise<void> {
  try {
    await pipeline(readText(from), change, createZstdCompress(ZSTD), createWriteStream(to), { signal });
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    throw code.startsWith('Z_') ? refusedFile(`is gzip, and cannot be decoded (${code})`) : error;
  }
}

export function readText(path: string): Readable {
  const file = createReadStream(path, { highWaterMark: BLOCK_BYTES });
  return path.endsWith('.zst') ? file.pipe(createZstdDecompress({ chunkSize: BLOCK_BYTES })) : file;
}

import { createReadStream, createWriteStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { constants, createGunzip, createZstdCompress, createZstdDecompress } from 'node:zlib';
import type { StoredObject } from '../workflow/state-parts.ts';
import { readCsv } from './csv.ts';
import { cutRows } from './envelope.ts';
import { type ReportFile, refused, shorten, TableProblem } from './report.ts';

interface Kind extends Pick<StoredObject, 'content_type' | 'content_encoding'> {
  /** As requested of the platform. Absent for a list, of which ExportList wrote one item per line. */
  readonly format?: string | undefined;
  /** The path to the rows of a JSON object, if the request names one. */
  readonly rows?: string | undefined;
  readonly signal: AbortSignal;
}

/** Passing less through each stage at a time takes more CPU. */
const BLOCK_BYTES = 256 * 1024;

/** Characters of a file in a message. */
const SHOWN = 80;

/** The two bytes by which gzip begins, read as UTF-8. A gzip file may come without a Content-Encoding. */
const GZIP = '\u001f\ufffd';

/** Leaves about a tenth of a report. */
const ZSTD = { params: { [constants.ZSTD_c_compressionLevel]: 1 }, chunkSize: BLOCK_BYTES };

/**
 * Finds the layout of a file. Writes another file beside it if DuckDB cannot read it as it is.
 *
 * @throws DownloadRefused if it is no report; TableProblem if its rows cannot be found; the disk's own error
 */
export async function findRows(
  copy: string,
  { format, rows: rowsPath, content_type, content_encoding, signal }: Kind,
): Promise<ReportFile> {
  if (format !== undefined && !/^(csv|json|ndjson|jsonl)$/i.test(format))
    throw new TableProblem(`files of format ${format} cannot be read`);
  let path = copy;
  let { start, last } = await readEnds(path);
  if (content_encoding === 'gzip' || start.startsWith(GZIP)) {
    path = `${copy}.zst`;
    await rewrite(copy, createGunzip({ chunkSize: BLOCK_BYTES }), path, signal);
    ({ start, last } = await readEnds(path));
  }
  if (format === undefined) return { path, layout: 'items' };
  if (start === '') throw refused('is empty');
  if (start.startsWith('<')) throw refused('is HTML or XML');
  const isJson = /^[[{]/.test(start);
  const rows = `${copy}.rows.zst`;
  if (/^csv$/i.test(format)) {
    if (isJson) throw refused('is JSON, but CSV was requested');
    const file = { path: rows, layout: 'csv' as const, header: [] };
    await rewrite(path, (text) => readCsv(text, file), rows, signal);
    return file;
  }
  const shown = shorten(start, SHOWN);
  if (!isJson) throw refused(`is not JSON: it begins with ${shown}`);
  const isArray = start.startsWith('[');
  // DuckDB takes `[row,` for an array of one row.
  if (last !== (isArray ? ']' : '}')) throw refused('is cut off');
  if (isArray) return { path, layout: 'array' };
  if (/ndjson|jsonl|json-lines/i.test(`${format} ${content_type}`)) return { path, layout: 'lines' };
  const found = { isArray: false };
  await rewrite(path, (text) => cutRows(text, { path: rowsPath, start: shown }, found), rows, signal);
  return found.isArray ? { path: rows, layout: 'array' } : { path, layout: 'lines' };
}

/** Reads the first characters of a text, without a byte order mark, and the last one, without white space. */
async function readEnds(path: string): Promise<{ readonly start: string; readonly last: string }> {
  let start = '';
  let last = '';
  const { size } = await stat(path);
  const parts = path.endsWith('.zst')
    ? [readText(path)]
    : [
        createReadStream(path, { end: BLOCK_BYTES }),
        createReadStream(path, { start: Math.max(0, size - BLOCK_BYTES) }),
      ];
  for (const part of parts)
    for await (const chunk of part as AsyncIterable<Buffer>) {
      if (start === '') start = chunk.toString().trimStart().slice(0, SHOWN).toWellFormed();
      last = chunk.toString('latin1').trimEnd().at(-1) ?? last;
    }
  return { start, last };
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
    if (code.startsWith('Z_')) throw refused(`is gzip or labeled as gzip, and cannot be decoded (${code})`);
    throw code === 'ERR_ENCODING_INVALID_ENCODED_DATA' ? refused('is not UTF-8') : error;
  }
}

function readText(path: string): Readable {
  const file = createReadStream(path, { highWaterMark: BLOCK_BYTES });
  return path.endsWith('.zst') ? file.pipe(createZstdDecompress({ chunkSize: BLOCK_BYTES })) : file;
}

import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { type Column, columnsOf, type Place } from './columns.ts';
import type { ReportRequest } from './report-request.ts';
import { daysBetween } from './report-request.ts';

/**
 * A report's file: a JSON array, one object a line. Every row has the same width, so the bytes at any offset can be
 * computed, no size costs memory, and the same request always gives the same bytes.
 */
export type ReportFile = {
  rows: number;
  /** In bytes. */
  length: number;
  /** Strong, quoted. */
  etag: string;
  /** The bytes from start (inclusive) to end (exclusive), in pieces of at most 256 KiB. */
  read(start?: number, end?: number): Generator<Buffer>;
};

/** Without `rows`, as many as fit into `bytes`; without either, a few for each day. Shorter than `bytes`, it is filled with blank lines. */
export type FileSize = { rows?: number; bytes?: number; version: number };

const PIECE = 256 * 1024;
/** "[\n" before the first row; ",\n" after each, which after the last is "\n]". */
const HEAD = Buffer.from('[\n');

export function reportFile(request: ReportRequest, size: FileSize): ReportFile {
  const seed = createHash('sha256')
    .update(JSON.stringify([request, size.version]))
    .digest();
  const layout = layOut(columnsOf(request, seed), daysBetween(request.start_date, request.end_date), request);
  const rows = rowCount(size, layout);
  const content = rows === 0 ? 2 : HEAD.length + rows * layout.stride;
  const length = Math.max(size.bytes ?? 0, content);
  const etag = `"${createHash('md5').update(seed).update(String(length)).digest('hex')}"`;
  return {
    rows,
    length,
    etag,
    *read(start = 0, end = length) {
      yield* slice(rows === 0 ? Buffer.from('[]') : HEAD, 0, start, end);
      if (rows > 0) yield* readRows(layout, rows, start, Math.min(end, content));
      yield* blanks(Math.max(start, content), end);
    },
  };
}

/** The whole file's length and SHA-256 in hex. */
export function fingerprint(file: ReportFile): { length: number; sha256: string } {
  const hash = createHash('sha256');
  for (const piece of file.read()) hash.update(piece);
  return { length: file.length, sha256: hash.digest('hex') };
}

export function streamOf(file: ReportFile): Readable {
  return Readable.from(file.read(), { objectMode: false });
}

type Layout = {
  columns: readonly (Column & { at: number })[];
  days: number;
  advertisers: number;
  /** Rows of one day and advertiser where nothing else is asked for. */
  combinations: number;
  /** Bytes from the start of one row to the start of the next. */
  stride: number;
  /** As many rows as a piece holds, all but the columns' values filled in. */
  blank: Buffer;
  rowsPerPiece: number;
};

function layOut(columns: readonly Column[], days: number, request: ReportRequest): Layout {
  let row = '{';
  const placed = columns.map((column, index) => {
    row += `${index === 0 ? '' : ','}"${column.name}":${column.quoted ? '"' : ''}`;
    const at = row.length;
    row += ' '.repeat(column.width) + (column.quoted ? '"' : '');
    return { ...column, at };
  });
  row += '},\n';
  const rowsPerPiece = Math.max(1, Math.floor(PIECE / row.length));
  const grouped = request.dimensions.length > 0;
  return {
    columns: placed,
    days,
    // Without dimensions the report is totals per date (contract 2.2): not per advertiser either.
    advertisers: grouped ? request.advertiser_ids.length : 1,
    combinations: grouped ? 6 : 1,
    stride: row.length,
    blank: Buffer.from(row.repeat(rowsPerPiece), 'latin1'),
    rowsPerPiece,
  };
}

function rowCount({ rows, bytes }: FileSize, layout: Layout): number {
  if (rows !== undefined) return rows;
  if (bytes !== undefined) return Math.max(0, Math.floor((bytes - HEAD.length) / layout.stride));
  return layout.days * layout.advertisers * layout.combinations;
}

function* readRows(layout: Layout, rows: number, start: number, end: number): Generator<Buffer> {
  const { stride, rowsPerPiece } = layout;
  const pieceBytes = stride * rowsPerPiece;
  const first = Math.max(0, Math.floor((start - HEAD.length) / pieceBytes));
  for (let piece = first; HEAD.length + piece * pieceBytes < end; piece += 1) {
    const from = piece * rowsPerPiece;
    if (from >= rows) return;
    const bytes = fill(layout, from, Math.min(rows, from + rowsPerPiece), rows);
    yield* slice(bytes, HEAD.length + piece * pieceBytes, start, end);
  }
}

/** The rows from `from` to `to` (exclusive) of `rows`. */
function fill(layout: Layout, from: number, to: number, rows: number): Buffer {
  const bytes = Buffer.allocUnsafe((to - from) * layout.stride);
  layout.blank.copy(bytes, 0, 0, bytes.length);
  const place: Place = { row: 0, day: 0, advertiser: 0, combination: 0 };
  for (let row = from, at = 0; row < to; row += 1, at += layout.stride) {
    locate(place, row, rows, layout);
    for (const column of layout.columns) column.write(bytes, at + column.at, place);
  }
  if (to === rows) bytes.write('\n]', bytes.length - 2);
  return bytes;
}

/** Rows go by date, then advertiser, and are spread over the dates as evenly as their number allows. */
function locate(place: Place, row: number, rows: number, { days, advertisers }: Layout): void {
  const day = Math.floor((row * days) / rows);
  const ofDay = row - Math.ceil((day * rows) / days);
  const perAdvertiser = Math.ceil(Math.ceil(rows / days) / advertisers);
  place.row = row;
  place.day = day;
  place.advertiser = Math.floor(ofDay / perAdvertiser);
  place.combination = ofDay % perAdvertiser;
}

/** The part of `bytes`, which stands at `offset` of the file, that lies within start and end. */
function* slice(bytes: Buffer, offset: number, start: number, end: number): Generator<Buffer> {
  const part = bytes.subarray(Math.max(0, start - offset), Math.max(0, end - offset));
  if (part.length > 0) yield part;
}

function* blanks(start: number, end: number): Generator<Buffer> {
  for (let left = end - start; left > 0; left -= PIECE) yield Buffer.alloc(Math.min(left, PIECE), '\n');
}

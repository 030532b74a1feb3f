import { createHash } from 'node:crypto';
import { daysBetween } from '../../../functions/workflow/request/dates.ts';
import { type Column, createColumns, type RowPosition } from './columns.ts';
import type { ReportRequest } from './report-request.ts';

/**
 * The file of a report: a JSON array with one object per line. All rows have the same width, so the bytes at any offset
 * are computed on request and a file of any size takes no memory. The same request always gives the same bytes.
 */
export type ReportFile = {
  rows: number;
  /** Bytes. */
  length: number;
  /** Strong, in quotes. */
  etag: string;
  /** The bytes from start (inclusive) to end (exclusive), in pieces of at most 256 KiB. */
  read(start?: number, end?: number): Generator<Buffer>;
};

/**
 * Without `rows`, the file has as many rows as fit into `bytes`; without either, a few per day. Blank lines fill it up
 * to `bytes`. Each `version` gives other bytes.
 */
export type FileSize = { rows?: number; bytes?: number; version: number };

const PIECE_BYTES = 256 * 1024;
/** Comes before the first row. Each row ends with ",\n", except for the last, which ends with "\n]". */
const HEAD = Buffer.from('[\n');

export function createReportFile(request: ReportRequest, size: FileSize): ReportFile {
  const seed = createHash('sha256')
    .update(JSON.stringify([request, size.version]))
    .digest();
  const layout = createLayout(request, seed);
  const rows = rowCount(size, layout);
  const content = rows === 0 ? 2 : HEAD.length + rows * layout.rowBytes;
  const length = Math.max(size.bytes ?? 0, content);
  const etag = `"${createHash('md5').update(seed).update(String(length)).digest('hex')}"`;
  return {
    rows,
    length,
    etag,
    *read(start = 0, end = length) {
      yield* overlap(rows === 0 ? Buffer.from('[]') : HEAD, 0, start, end);
      if (rows > 0) yield* readRows(layout, rows, start, Math.min(end, content));
      yield* blankLines(Math.max(start, content), end);
    },
  };
}

type Layout = {
  /** `at` is the offset of the column's value in its row. */
  columns: readonly (Column & { at: number })[];
  days: number;
  advertisers: number;
  /** Default number of rows for one day and advertiser. */
  combinations: number;
  rowBytes: number;
  rowsPerPiece: number;
  /** The rows of one piece, with spaces where the values go. */
  template: Buffer;
};

function createLayout(request: ReportRequest, seed: Buffer): Layout {
  let row = '{';
  const columns = createColumns(request, seed).map((column, index) => {
    row += `${index === 0 ? '' : ','}"${column.name}":${column.quoted ? '"' : ''}`;
    const at = row.length;
    row += ' '.repeat(column.width) + (column.quoted ? '"' : '');
    return { ...column, at };
  });
  row += '},\n';
  const rowsPerPiece = Math.max(1, Math.floor(PIECE_BYTES / row.length));
  // Without dimensions the report holds totals per date, not per advertiser (contract 2.2).
  const grouped = request.dimensions.length > 0;
  return {
    columns,
    days: daysBetween(request.start_date, request.end_date),
    advertisers: grouped ? request.advertiser_ids.length : 1,
    combinations: grouped ? 6 : 1,
    rowBytes: row.length,
    rowsPerPiece,
    template: Buffer.from(row.repeat(rowsPerPiece), 'latin1'),
  };
}

function rowCount({ rows, bytes }: FileSize, { days, advertisers, combinations, rowBytes }: Layout): number {
  if (rows !== undefined) return rows;
  if (bytes !== undefined) return Math.max(0, Math.floor((bytes - HEAD.length) / rowBytes));
  return days * advertisers * combinations;
}

function* readRows(layout: Layout, rows: number, start: number, end: number): Generator<Buffer> {
  const { rowBytes, rowsPerPiece } = layout;
  const pieceBytes = rowBytes * rowsPerPiece;
  const first = Math.max(0, Math.floor((start - HEAD.length) / pieceBytes));
  for (let piece = first; HEAD.length + piece * pieceBytes < end; piece += 1) {
    const from = piece * rowsPerPiece;
    if (from >= rows) return;
    const bytes = renderRows(layout, from, Math.min(rows, from + rowsPerPiece), rows);
    yield* overlap(bytes, HEAD.length + piece * pieceBytes, start, end);
  }
}

/** Renders the rows `from` to `to` (exclusive) of a file of `rows` rows. */
function renderRows(layout: Layout, from: number, to: number, rows: number): Buffer {
  const bytes = Buffer.allocUnsafe((to - from) * layout.rowBytes);
  layout.template.copy(bytes, 0, 0, bytes.length);
  const position: RowPosition = { row: 0, day: 0, advertiser: 0, combination: 0 };
  for (let row = from, at = 0; row < to; row += 1, at += layout.rowBytes) {
    moveTo(position, row, rows, layout);
    for (const column of layout.columns) column.write(bytes, at + column.at, position);
  }
  if (to === rows) bytes.write('\n]', bytes.length - 2);
  return bytes;
}

/** Sorts rows by date, then by advertiser, and spreads them evenly over the dates. Reuses `position` for speed. */
function moveTo(position: RowPosition, row: number, rows: number, { days, advertisers }: Layout): void {
  const day = Math.floor((row * days) / rows);
  const rowOfDay = row - Math.ceil((day * rows) / days);
  const rowsPerAdvertiser = Math.ceil(Math.ceil(rows / days) / advertisers);
  position.row = row;
  position.day = day;
  position.advertiser = Math.floor(rowOfDay / rowsPerAdvertiser);
  position.combination = rowOfDay % rowsPerAdvertiser;
}

/** The part of `bytes` between start and end. `offset` is the position of `bytes` in the file. */
function* overlap(bytes: Buffer, offset: number, start: number, end: number): Generator<Buffer> {
  const part = bytes.subarray(Math.max(0, start - offset), Math.max(0, end - offset));
  if (part.length > 0) yield part;
}

function* blankLines(start: number, end: number): Generator<Buffer> {
  for (let left = end - start; left > 0; left -= PIECE_BYTES) {
    yield Buffer.alloc(Math.min(left, PIECE_BYTES), '\n');
  }
}

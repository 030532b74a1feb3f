import { createHash } from 'node:crypto';
import { type Block, createBlocks, type DaySettings } from './blocks.ts';
import { type Column, combinationsOf, createColumns, type RowPosition } from './columns.ts';
import type { ReportRequest } from './report-request.ts';

/**
 * The file of a report: a JSON array with one object per line, or CSV with a header. All rows have the same width, so the bytes at any offset
 * are computed on request and a file of any size takes no memory. Reports of one request that are created at one time
 * have the same bytes.
 */
export type ReportFile = {
  rows: number;
  /** Bytes. */
  length: number;
  /** Strong, in quotes. */
  etag: string;
  /** The bytes from start (inclusive) to end (exclusive), in pieces of at most 256 KiB. */
  read(start?: number, end?: number): Generator<Buffer>;
  /** The same rows with other metrics. 0 is the first version. */
  withVersion(version: number): ReportFile;
};

/**
 * Without `rows`, the file has as many rows as fit into `bytes`; without either, a few per day. Blank lines fill it up
 * to `bytes`. If no day has rows, it has none, whatever `rows` says.
 */
export type FileOptions = DaySettings & {
  rows?: number;
  bytes?: number;
  /** Epoch ms. */
  createdAt: number;
};

const PIECE_BYTES = 256 * 1024;

export function createReportFile(request: ReportRequest, options: FileOptions, version = 0): ReportFile {
  const layout = createLayout(request);
  const combinations = combinationsOf(request.dimensions);
  const blocks = createBlocks(request, { ...options, version, combinations }, rowCount(options, layout));
  const last = blocks.at(-1);
  const rows = last ? last.first + last.rows : 0;
  const { head, none } = layout;
  const content = rows === 0 ? none.length : head.length + rows * layout.rowBytes;
  const length = Math.max(options.bytes ?? 0, content);
  const hash = createHash('md5').update(JSON.stringify([request, version, blocks, length]));
  return {
    rows,
    length,
    etag: `"${hash.digest('hex')}"`,
    *read(start = 0, end = length) {
      yield* overlap(rows === 0 ? none : head, 0, start, end);
      if (rows > 0) yield* readRows(layout, blocks, rows, start, Math.min(end, content));
      yield* blankLines(Math.max(start, content), end);
    },
    withVersion: (other) => createReportFile(request, options, other),
  };
}

type Layout = {
  /** Comes before the first row. */
  head: Buffer;
  /** The file without rows. */
  none: Buffer;
  /** Replaces the end of the last row. */
  tail: string;
  /** `at` is the offset of the column's value in its row. */
  columns: readonly (Column & { at: number })[];
  rowBytes: number;
  rowsPerPiece: number;
  /** The rows of one piece, with spaces where the values go. */
  template: Buffer;
};

function createLayout(request: ReportRequest): Layout {
  const isCsv = request.format === 'CSV';
  let row = isCsv ? '' : '{';
  const columns = createColumns(request).map((column, index) => {
    const quote = column.quoted ? '"' : '';
    row += `${index === 0 ? '' : ','}${isCsv ? '' : `"${column.name}":`}${quote}`;
    const at = row.length;
    row += ' '.repeat(column.width) + quote;
    return { ...column, at };
  });
  row += isCsv ? '\n' : '},\n';
  const header = `${columns.map(({ name }) => name).join(',')}\n`;
  const [head, none, tail] = isCsv ? [header, header, '\n'] : ['[\n', '[]', '\n]'];
  const rowsPerPiece = Math.max(1, Math.floor(PIECE_BYTES / row.length));
  return {
    ...{ head: Buffer.from(head), none: Buffer.from(none), tail, columns },
    rowBytes: row.length,
    rowsPerPiece,
    template: Buffer.from(row.repeat(rowsPerPiece), 'latin1'),
  };
}

/** Undefined for the rows that the days have by themselves. */
function rowCount({ rows, bytes }: FileOptions, { head, rowBytes }: Layout): number | undefined {
  if (rows !== undefined || bytes === undefined) return rows;
  return Math.max(0, Math.floor((bytes - head.length) / rowBytes));
}

function* readRows(
  layout: Layout,
  blocks: readonly Block[],
  rows: number,
  start: number,
  end: number,
): Generator<Buffer> {
  const { head, tail, rowBytes, rowsPerPiece } = layout;
  const pieceBytes = rowBytes * rowsPerPiece;
  const first = Math.max(0, Math.floor((start - head.length) / pieceBytes));
  for (let piece = first; head.length + piece * pieceBytes < end; piece += 1) {
    const from = piece * rowsPerPiece;
    if (from >= rows) return;
    const bytes = renderRows(layout, blocks, from, Math.min(rows, from + rowsPerPiece));
    if (from + rowsPerPiece >= rows) bytes.write(tail, bytes.length - tail.length);
    yield* overlap(bytes, head.length + piece * pieceBytes, start, end);
  }
}

/** Renders the rows `from` to `to` (exclusive). Reuses one position for speed. */
function renderRows(layout: Layout, blocks: readonly Block[], from: number, to: number): Buffer {
  const bytes = Buffer.allocUnsafe((to - from) * layout.rowBytes);
  layout.template.copy(bytes, 0, 0, bytes.length);
  const position: RowPosition = { day: 0, advertiser: 0, combination: 0, seed: 0, growth: 1 };
  let at = 0;
  for (const { first, rows, ...block } of blocks) {
    if (first >= to) break;
    Object.assign(position, block);
    for (let row = Math.max(first, from); row < Math.min(first + rows, to); row += 1) {
      position.combination = row - first;
      for (const column of layout.columns) column.write(bytes, at + column.at, position);
      at += layout.rowBytes;
    }
  }
  return bytes;
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

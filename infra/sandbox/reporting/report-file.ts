import { createHash } from 'node:crypto';
import { findMetric, type Metric } from '../../../functions/workflow/request/dictionary.ts';
import { campaignName, idPrefix } from '../entities.ts';
import { type Block, COUNTRIES, createBlocks, type DaySettings, PLATFORMS, spread } from './days.ts';
import type { ReportRequest } from './report-request.ts';

/**
 * The file of a report: a JSON array with one object per line, or CSV with a header. Its rows are computed
 * from seeds, so reports of one request that are created at one time have the same bytes. A large file
 * repeats the rows of its days, so it takes no memory.
 */
export type ReportFile = {
  rows: number;
  /** Bytes. */
  length: number;
  /** Strong, in quotes. */
  etag: string;
  /** The bytes from start (inclusive) to end (exclusive), in pieces. */
  read(start?: number, end?: number): Generator<Buffer>;
  /** The same rows with other metrics. 0 is the first version. */
  withVersion(version: number): ReportFile;
};

/** Without `rows`, the file has a few per day. If no day has rows, it has none, whatever `rows` says. */
export type FileOptions = DaySettings & {
  rows?: number;
  /** Epoch ms. */
  createdAt: number;
};

/** A part of a file: these bytes, repeated up to the length. */
type Part = { bytes: Buffer; length: number };

/** A block with more rows repeats this many. */
const MOST_DIFFERENT_ROWS = 500;

/**
 * Digits before and after the point, of a metric or of the others with its unit. Without one before, a value
 * is below 0.1.
 */
const DIGITS: Readonly<Record<string, readonly [before: number, after: number]>> = {
  impressions: [5, 0],
  clicks: [4, 0],
  reach: [4, 0],
  number_of_purchases: [2, 0],
  purchase_value: [4, 6],
  ctr: [0, 6],
  cpc: [1, 6],
  cpm: [1, 6],
  count: [3, 0],
  money: [3, 6],
  number: [2, 2],
  ratio: [1, 6],
};

export function createReportFile(request: ReportRequest, options: FileOptions, version = 0): ReportFile {
  const isCsv = request.format === 'CSV';
  const names = columnNames(request);
  const header = `${names.join(',')}\n`;
  const render = (block: Block, count: number) => renderRows(names, block, count, isCsv);
  const [head, none, tail] = isCsv ? [header, header, '\n'] : ['[\n', '[]', '\n]'];

  const present = createBlocks(request, options, version);
  const blocks = options.rows === undefined ? present : spread(options.rows, present);

  const rows = blocks.reduce((sum, block) => sum + block.rows, 0);
  const parts = rows === 0 ? [text(none)] : [text(head), ...blocks.map(partOf), text(tail)];
  // The tail replaces the end of the last row.
  const last = parts.at(-2);
  if (last) last.length -= tail.length;
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  const hash = createHash('md5');
  for (const { bytes, length: repeated } of parts) hash.update(bytes).update(String(repeated));
  return {
    rows,
    length,
    etag: `"${hash.digest('hex')}"`,
    read: (start = 0, end = length) => readParts(parts, start, end),
    withVersion: (other) => createReportFile(request, options, other),
  };

  /** All rows of a block have the same width, so that a range of the file can be found by its offset. */
  function partOf(block: Block): Part {
    const count = Math.min(block.rows, MOST_DIFFERENT_ROWS);
    const bytes = Buffer.from(render(block, count));
    return { bytes, length: (bytes.length / count) * block.rows };
  }
}

function text(content: string): Part {
  return { bytes: Buffer.from(content), length: Buffer.byteLength(content) };
}

function* readParts(parts: readonly Part[], start: number, end: number): Generator<Buffer> {
  let offset = 0;
  for (const { bytes, length } of parts) {
    const until = Math.min(length, end - offset);
    for (let at = Math.max(0, start - offset); at < until; ) {
      const from = at % bytes.length;
      const piece = bytes.subarray(from, from + until - at);
      yield piece;
      at += piece.length;
    }
    offset += length;
  }
}

/** Date, advertiser (only with dimensions), dimensions, metrics. */
function columnNames({ dimensions, metrics }: ReportRequest): string[] {
  return ['date', ...(dimensions.length > 0 ? ['advertiser_id'] : []), ...dimensions, ...metrics];
}

function renderRows(names: readonly string[], block: Block, count: number, isCsv: boolean): string {
  const quote = isCsv ? (value: string) => `"${value.replaceAll('"', '""')}"` : JSON.stringify;
  const dimensions = dimensionsOf(block);
  const columns = names.map((name) => {
    const dimension = dimensions[name];
    const value = dimension ? (row: number) => quote(dimension(row)) : metricOf(name, block);
    return isCsv ? value : (row: number) => `"${name}":${value(row)}`;
  });
  const rows = Array.from({ length: count }, (_, row) => columns.map((value) => value(row)).join(','));
  return rows.map((row) => (isCsv ? `${row}\n` : `{${row}},\n`)).join('');
}

/** The values of each dimension, by the row's number. All values of one have the same width in bytes. */
function dimensionsOf({ date, advertiser }: Block): Readonly<Record<string, (row: number) => string>> {
  const ids = (kind: string) => {
    const prefix = idPrefix(kind, advertiser);
    return (row: number) => prefix + String(row).padStart(12, '0');
  };
  return {
    date: () => date,
    advertiser_id: () => advertiser,
    campaign_id: ids('campaigns'),
    campaign_name: campaignName,
    event_source_id: ids('event_sources'),
    event_source_platform: (row) => PLATFORMS[row % PLATFORMS.length] ?? '',
    creative_id: ids('creatives'),
    country: (row) => COUNTRIES[row % COUNTRIES.length] ?? '',
  };
}

/** Digits after the point of a total, which is rounded once: it differs from the sum of its rows. */
const TOTAL_DIGITS: Readonly<Record<Metric['unit'], number>> = { count: 0, money: 2, number: 0, ratio: 6 };

/** Of a total, the sum of all its rows. Otherwise a number that differs from row to row. */
function metricOf(name: string, block: Block): (row: number) => string {
  const { adds_up, unit } = findMetric(name) ?? { adds_up: false, unit: 'count' };
  if (!block.addsUp || !adds_up) return ownValue(name, block);
  const values = block.addsUp.flatMap((part) => {
    const value = ownValue(name, part);
    return Array.from({ length: part.rows }, (_, row) => Number(value(row)));
  });
  const total = values.reduce((sum, value) => sum + value, 0).toFixed(TOTAL_DIGITS[unit]);
  return () => total;
}

/** Its first digit is never 0, so all values of a block have the same width. */
function ownValue(name: string, { seed, growth }: Block): (row: number) => string {
  const [before, after] = DIGITS[name] ?? DIGITS[findMetric(name)?.unit ?? 'count'] ?? [3, 0];
  const least = before === 0 ? 0 : 10 ** (before - 1);
  const fractions = 10 ** (before === 0 ? after - 1 : after);
  const own = createHash('sha256').update(name).digest().readUInt32BE();
  return (row) => {
    // Multiplied with the golden ratio, so that neighbours differ in every bit.
    const random = mixBits(Math.imul(row, 0x9e3779b1) ^ seed ^ own);
    const whole = least === 0 ? 0 : least + Math.floor((random % (9 * least)) * growth);
    return after === 0 ? `${whole}` : `${whole}.${String((random >>> 8) % fractions).padStart(after, '0')}`;
  };
}

/** Hashes a number to 31 bits (the finalizer of MurmurHash3). */
function mixBits(value: number): number {
  let bits = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 1;
}

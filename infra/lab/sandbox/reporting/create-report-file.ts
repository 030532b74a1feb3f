import { createHash } from 'node:crypto';
import { daysBetween, daysOf } from '../../../../functions/workflow/request/dates.ts';
import { findMetric } from '../../../../functions/workflow/request/dictionary.ts';
import { campaignName, idPrefix } from '../entities.ts';
import type { ReportSettings } from '../sandbox-options.ts';
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

/**
 * The rows of one day and advertiser. Their content never depends on the report's window, so two reports
 * that were created at one time agree on a day.
 */
type Block = {
  date: string;
  advertiser: string;
  rows: number;
  /** 32 bits. */
  seed: number;
  /** The part of the metrics that is known by now: from about 0.5 to 1. */
  growth: number;
  /** In a total: the rows of each advertiser that it adds up. */
  addsUp?: readonly Block[];
};

/** A part of a file: these bytes, repeated up to the length. */
type FilePart = { bytes: Buffer; length: number };

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Default number of rows for one day and advertiser. */
const DEFAULT_ROWS = 6;

const PLATFORMS = ['ios', 'web', 'ctv'];
const COUNTRIES = ['US', 'DE', 'FR', 'JP', 'BR'];

/** A block with more rows repeats this many. */
const MAX_DIFFERENT_ROWS = 500;

/** Digits before and after the point, of a metric or of the others with its unit. */
const DIGITS: Readonly<Record<string, readonly [before: number, after: number]>> = {
  impressions: [5, 0],
  clicks: [4, 0],
  count: [3, 0],
  money: [3, 6],
  number: [2, 2],
  ratio: [1, 6],
};

/**
 * @param createdAt in epoch ms
 * @param settings if no day has rows, the file has none, whatever `rows` says
 */
export function createReportFile(
  request: ReportRequest,
  createdAt: number,
  settings: ReportSettings = {},
  version = 0,
): ReportFile {
  const { dimensions, metrics } = request;
  const isCsv = request.format === 'CSV';
  const names = ['date', ...(dimensions.length > 0 ? ['advertiser_id'] : []), ...dimensions, ...metrics];
  const header = `${names.join(',')}\n`;
  const [head, none, tail] = isCsv ? [header, header, '\n'] : ['[\n', '[]', '\n]'];

  const present = createBlocks(request, createdAt, settings, version);
  const blocks = settings.rows === undefined ? present : spread(settings.rows, present);
  const rows = blocks.reduce((sum, block) => sum + block.rows, 0);
  // All rows of a block have the same width, so that a range of the file can be found by its offset.
  const body = blocks.map((block) => {
    const count = Math.min(block.rows, MAX_DIFFERENT_ROWS);
    const bytes = Buffer.from(renderRows(names, block, count, isCsv));
    return { bytes, length: (bytes.length / count) * block.rows };
  });
  // The tail replaces the end of the last row.
  const last = body.at(-1);
  if (last) last.length -= tail.length;
  const parts: FilePart[] = last ? [textPart(head), ...body, textPart(tail)] : [textPart(none)];
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  const hash = createHash('md5');
  for (const { bytes, length: repeated } of parts) hash.update(bytes).update(String(repeated));
  return {
    rows,
    length,
    etag: `"${hash.digest('hex')}"`,
    read: (start = 0, end = length) => readParts(parts, start, end),
    withVersion: (newVersion) => createReportFile(request, createdAt, settings, newVersion),
  };
}

/** A value with its separators and quotes has fewer bytes. */
const VALUE_BYTES = 64;

/** More bytes than the file of a report has, unless `rows` of the settings makes it larger. */
export function estimateBytes(request: ReportRequest): number {
  const { start_date, end_date, advertiser_ids, dimensions, metrics } = request;
  const names = ['date', 'advertiser_id', ...dimensions, ...metrics];
  const rowBytes = names.reduce((sum, name) => sum + name.length + VALUE_BYTES, 0);
  return daysBetween(start_date, end_date) * advertiser_ids.length * DEFAULT_ROWS * rowBytes;
}

function textPart(content: string): FilePart {
  return { bytes: Buffer.from(content), length: Buffer.byteLength(content) };
}

/** The blocks that have rows, by day and then by advertiser. */
function createBlocks(
  { start_date, end_date, advertiser_ids, dimensions }: ReportRequest,
  createdAt: number,
  { restated, rowsOn }: ReportSettings,
  version: number,
): Block[] {
  const isTotal = dimensions.length === 0;
  const ids = advertiser_ids.map((id) => id.toLowerCase());
  const most = isTotal ? DEFAULT_ROWS : Math.min(DEFAULT_ROWS, combinationsOf(dimensions));
  return daysOf({ start_date, end_date }).flatMap((date) => {
    const growth = growthAt(createdAt - Date.parse(date) - DAY_MS, restated);
    const all = ids.map((advertiser): Block => {
      const rows = Math.min(most, rowsOn?.(date, advertiser, createdAt) ?? most);
      const hash = createHash('sha256').update(JSON.stringify([date, advertiser, version]));
      return { date, advertiser, rows, seed: hash.digest().readUInt32BE(), growth };
    });
    const blocks = all.filter(({ rows }) => rows > 0);
    const [first] = blocks;
    // Without dimensions the report holds totals per date, not per advertiser (contract 2.2).
    return isTotal && first ? [{ ...first, rows: 1, addsUp: blocks }] : blocks;
  });
}

function growthAt(age: number, restated: ReportSettings['restated']): number {
  if (!restated) return 1;
  const period = (restated.everyHours ?? 24) * HOUR_MS;
  const periods = Math.floor((restated.days * DAY_MS) / period);
  const passed = Math.max(-1, Math.min(periods, Math.floor(age / period)));
  return (periods + 1 + passed) / (2 * periods + 1);
}

/** Spreads this many rows evenly over the blocks. */
function spread(total: number, blocks: readonly Block[]): Block[] {
  const before = (block: number) => Math.ceil((block * total) / blocks.length);
  return blocks
    .map((block, at) => ({ ...block, rows: before(at + 1) - before(at) }))
    .filter(({ rows }) => rows > 0);
}

/** The rows of a day and advertiser that these dimensions tell apart. Ids and names have no limit. */
function combinationsOf(dimensions: readonly string[]): number {
  const values: Readonly<Record<string, number>> = {
    event_source_platform: PLATFORMS.length,
    country: COUNTRIES.length,
  };
  return dimensions.reduce((product, name) => product * (values[name] ?? Number.POSITIVE_INFINITY), 1);
}

function* readParts(parts: readonly FilePart[], start: number, end: number): Generator<Buffer> {
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

function renderRows(names: readonly string[], block: Block, count: number, isCsv: boolean): string {
  const quote = isCsv ? (value: string) => `"${value.replaceAll('"', '""')}"` : JSON.stringify;
  const dimensions = dimensionsOf(block);
  const columns = names.map((name) => {
    const dimension = dimensions[name];
    const value = dimension ? (row: number) => quote(dimension(row)) : metricValue(name, block);
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

/**
 * A total is the sum of all its rows, rounded once: it differs from the sum of the rounded ones. Any other
 * value differs from row to row.
 */
function metricValue(name: string, block: Block): (row: number) => string {
  const { adds_up, unit } = findMetric(name) ?? { adds_up: false, unit: 'count' };
  if (!block.addsUp || !adds_up) return randomValue(name, block);
  const values = block.addsUp.flatMap((part) => {
    const value = randomValue(name, part);
    return Array.from({ length: part.rows }, (_, row) => Number(value(row)));
  });
  const total = values.reduce((sum, value) => sum + value, 0).toFixed(unit === 'money' ? 2 : 0);
  return () => total;
}

/** Its first digit is never 0, so all values of a block have the same width. */
function randomValue(name: string, { seed, growth }: Block): (row: number) => string {
  const [before, after] = DIGITS[name] ?? DIGITS[findMetric(name)?.unit ?? 'count'] ?? [3, 0];
  const least = 10 ** (before - 1);
  const hash = createHash('sha256').update(name).digest().readUInt32BE();
  return (row) => {
    // Multiplied with the golden ratio, so that neighbours differ in every bit.
    const random = mixBits(Math.imul(row, 0x9e3779b1) ^ seed ^ hash);
    const whole = least + Math.floor((random % (9 * least)) * growth);
    return after === 0 ? `${whole}` : `${whole}.${String((random >>> 8) % 10 ** after).padStart(after, '0')}`;
  };
}

/** Hashes a number to 31 bits (the finalizer of MurmurHash3). */
function mixBits(value: number): number {
  let bits = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 1;
}

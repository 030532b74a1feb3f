import { createHash } from 'node:crypto';
import { daysOf } from '../../../functions/workflow/request/dates.ts';
import type { ReportRequest } from './report-request.ts';

/** Makes a report's days depend on its creation time. By default they do not, and no day is empty. */
export type DaySettings = {
  /**
   * The metrics of a day grow until this many days after its end, because conversions come late. They grow
   * every `everyHours` (default: 24).
   */
  restated?: { days: number; everyHours?: number };
  /** The rows of a day and advertiser, if fewer than usual. @param createdAt of the report, in epoch ms */
  rowsOn?: (day: string, advertiser: string, createdAt: number) => number;
};

/**
 * The rows of one day and advertiser. What they contain never depends on the report's window, so two reports
 * that were created at one time agree on a day.
 */
export type Block = {
  date: string;
  advertiser: string;
  rows: number;
  /** 32 bits. */
  seed: number;
  /** The part of the metrics that is known by now: from about 0.5 to 1. */
  growth: number;
  /** Of a total: the rows of each advertiser that it adds up. */
  addsUp?: readonly Block[];
};

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Default number of rows for one day and advertiser. */
const DEFAULT_ROWS = 6;

export const PLATFORMS = ['ios', 'web', 'ctv'];
export const COUNTRIES = ['US', 'DE', 'FR', 'JP', 'BR'];

/** The blocks that have rows, by day and then by advertiser. */
export function createBlocks(
  request: ReportRequest,
  options: DaySettings & { readonly createdAt: number },
  version: number,
): Block[] {
  const { start_date, end_date, advertiser_ids, dimensions } = request;
  const { createdAt, restated, rowsOn } = options;
  const isTotal = dimensions.length === 0;
  const ids = advertiser_ids.map((id) => id.toLowerCase());
  const most = isTotal ? DEFAULT_ROWS : Math.min(DEFAULT_ROWS, combinationsOf(dimensions));
  return daysOf({ start_date, end_date }).flatMap((date) => {
    const growth = growthAt(createdAt - Date.parse(date) - DAY_MS, restated);
    const all = ids.map((advertiser): Block => {
      const rows = Math.min(most, rowsOn?.(date, advertiser, createdAt) ?? most);
      return { date, advertiser, rows, seed: seedOf(request, date, advertiser, version), growth };
    });
    const blocks = all.filter(({ rows }) => rows > 0);
    const [first] = blocks;
    // Without dimensions the report holds totals per date, not per advertiser (contract 2.2).
    return isTotal && first ? [{ ...first, rows: 1, addsUp: blocks }] : blocks;
  });
}

function growthAt(age: number, restated: DaySettings['restated']): number {
  if (!restated) return 1;
  const period = (restated.everyHours ?? 24) * HOUR_MS;
  const periods = Math.floor((restated.days * DAY_MS) / period);
  const passed = Math.max(-1, Math.min(periods, Math.floor(age / period)));
  return (periods + 1 + passed) / (2 * periods + 1);
}

/** Differs for each option whose name the contract omits, such as a filter. */
function seedOf(request: ReportRequest, date: string, advertiser: string, version: number): number {
  const { start_date, end_date, advertiser_ids, metrics, dimensions, granularity, format, ...options } =
    request;
  return createHash('sha256')
    .update(JSON.stringify([date, [advertiser], options, version]))
    .digest()
    .readUInt32BE();
}

/** Spreads this many rows evenly over the blocks. */
export function spread(total: number, blocks: readonly Block[]): Block[] {
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

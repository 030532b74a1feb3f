import { createHash } from 'node:crypto';
import { addDays, daysBetween } from '../../../functions/workflow/request/dates.ts';
import type { ReportRequest } from './report-request.ts';

/** Makes a report's days depend on the time of its creation. By default they never do, and no day is empty. */
export type DaySettings = {
  /**
   * The metrics of a day grow until this many days after its end, because conversions come late. They grow every
   * `everyHours` (default: 24).
   */
  restated?: { days: number; everyHours?: number };
  /** A day has no rows until it ends, half of its rows for this many hours, and then all. */
  lateHours?: number;
  /** A day without rows of an advertiser. @param createdAt of the report, in epoch ms */
  isEmpty?: (day: string, advertiser: string, createdAt: number) => boolean;
};

/**
 * The rows of one day and advertiser. What they contain never depends on the report's window, so two reports that were
 * created at one time agree on a day.
 */
export type Block = {
  /** The number of its first row in the file. */
  first: number;
  rows: number;
  /** Indexes in the request's days and advertisers. */
  day: number;
  advertiser: number;
  /** 32 bits. */
  seed: number;
  /** The part of the metrics that is known by now: from about 0.5 to 1. */
  growth: number;
};

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Default number of rows for one day and advertiser. */
const DEFAULT_ROWS = 6;

/**
 * The blocks that have rows, by day and then by advertiser.
 *
 * @param created `combinations` are the rows of one day and advertiser that the dimensions can tell apart
 * @param total spreads this many rows evenly over the days that have rows
 */
export function createBlocks(
  request: ReportRequest,
  created: DaySettings & { createdAt: number; version: number; combinations: number },
  total: number | undefined,
): Block[] {
  const { start_date, end_date, advertiser_ids, dimensions } = request;
  // Without dimensions the report holds totals per date, not per advertiser (contract 2.2).
  const grouped = dimensions.length > 0;
  const ids = advertiser_ids.map((id) => id.toLowerCase());
  const sources = grouped ? ids.map((id) => [id]) : [ids.sort()];
  const days = Array.from({ length: daysBetween(start_date, end_date) }, (_, day) => {
    const date = addDays(start_date, day);
    const age = created.createdAt - Date.parse(date) - DAY_MS;
    const growth = growthAt(age, created.restated);
    const present = rowsAt(age, Math.min(DEFAULT_ROWS, created.combinations), created.lateHours);
    return sources.flatMap((source, advertiser) => {
      if (present === 0 || source.every((id) => created.isEmpty?.(date, id, created.createdAt))) return [];
      const seed = seedOf(request, date, source, created.version);
      return [{ first: 0, rows: present, day, advertiser, seed, growth }];
    });
  });
  return numbered(total === undefined ? days.flat() : spread(total, days));
}

function growthAt(age: number, restated: DaySettings['restated']): number {
  if (!restated) return 1;
  const period = (restated.everyHours ?? 24) * HOUR_MS;
  const periods = Math.floor((restated.days * DAY_MS) / period);
  const passed = Math.max(-1, Math.min(periods, Math.floor(age / period)));
  return (periods + 1 + passed) / (2 * periods + 1);
}

function rowsAt(age: number, rows: number, lateHours: number | undefined): number {
  if (lateHours === undefined || age >= lateHours * HOUR_MS) return rows;
  return age < 0 ? 0 : Math.floor(rows / 2);
}

/** Differs for each option whose name the contract omits, such as a filter. */
function seedOf(request: ReportRequest, date: string, source: readonly string[], version: number): number {
  const { start_date, end_date, advertiser_ids, metrics, dimensions, granularity, format, ...options } =
    request;
  return createHash('sha256')
    .update(JSON.stringify([date, source, options, version]))
    .digest()
    .readUInt32BE();
}

function spread(total: number, days: readonly (readonly Block[])[]): Block[] {
  const present = days.filter((blocks) => blocks.length > 0);
  const before = (day: number) => Math.ceil((day * total) / present.length);
  return present.flatMap((blocks, day) => {
    let left = before(day + 1) - before(day);
    const most = Math.ceil(left / blocks.length);
    return blocks.flatMap((block) => {
      const rows = Math.min(most, left);
      left -= rows;
      return rows === 0 ? [] : [{ ...block, rows }];
    });
  });
}

function numbered(blocks: readonly Block[]): Block[] {
  let first = 0;
  return blocks.map((block) => {
    const placed = { ...block, first };
    first += block.rows;
    return placed;
  });
}

import { createHash } from 'node:crypto';
import { addDays, daysBetween } from '../../../functions/workflow/request/dates.ts';
import { CAMPAIGN_TITLES, idPrefix } from '../entities.ts';
import type { Block } from './blocks.ts';
import type { ReportRequest } from './report-request.ts';

/** A row's block, and the index of its combination of dimensions there. */
export type RowPosition = Omit<Block, 'first' | 'rows'> & { combination: number };

/** One field of a row. All its values have the same width in bytes. */
export type Column = {
  name: string;
  width: number;
  quoted: boolean;
  write(bytes: Buffer, at: number, position: RowPosition): void;
};

type IndexOf = (position: RowPosition) => number;

const PLATFORMS = ['ios', 'web', 'ctv'];
const COUNTRIES = ['US', 'DE', 'FR', 'JP', 'BR'];

/** Digits of each metric before and after the decimal point. */
const METRIC_DIGITS: Readonly<Record<string, readonly [before: number, after: number]>> = {
  spend: [3, 2],
  impressions: [5, 0],
  number_of_purchases: [2, 0],
  clicks: [4, 0],
  installs: [3, 0],
  purchase_value: [4, 2],
};

/** The fields of a row in JSON or CSV: date, advertiser (only with dimensions), dimensions, metrics. */
export function createColumns({ start_date, end_date, ...request }: ReportRequest): Column[] {
  const { dimensions, metrics, format } = request;
  const advertisers = request.advertiser_ids.map((id) => id.toLowerCase());
  const dates = Array.from({ length: daysBetween(start_date, end_date) }, (_, day) =>
    addDays(start_date, day),
  );
  return [
    choiceColumn('date', dates, ({ day }) => day),
    ...(dimensions.length === 0
      ? []
      : [choiceColumn('advertiser_id', advertisers, ({ advertiser }) => advertiser)]),
    ...dimensionColumns(dimensions, advertisers, format === 'CSV' ? quoteInCsv : quoteInJson),
    ...metrics.map(metricColumn),
  ];
}

/** The number of rows of one day and advertiser that these dimensions can tell apart. Ids and names have no limit. */
export function combinationsOf(dimensions: readonly string[]): number {
  const has = (name: string) => dimensions.includes(name);
  if (['campaign_id', 'campaign_name', 'creative_id'].some(has)) return Number.POSITIVE_INFINITY;
  if (has('event_source_id') && !has('country')) return Number.POSITIVE_INFINITY;
  const platforms = has('event_source_id') || has('event_source_platform') ? PLATFORMS.length : 1;
  return platforms * (has('country') ? COUNTRIES.length : 1);
}

/**
 * A combination's number counts platforms first, then countries, creatives and campaigns. The last of these takes as
 * many values as it needs to tell the rows apart.
 */
function dimensionColumns(
  dimensions: readonly string[],
  advertisers: readonly string[],
  quote: (text: string) => string,
): Column[] {
  const has = (...names: string[]) => names.some((name) => dimensions.includes(name));
  const platforms = has('event_source_id', 'event_source_platform') ? PLATFORMS.length : 1;
  const countries = has('country') ? COUNTRIES.length : 1;
  const creatives = has('creative_id') && has('campaign_id', 'campaign_name') ? 2 : 1;
  const per =
    (combinations: number): IndexOf =>
    ({ combination }) =>
      Math.floor(combination / combinations);
  const country = per(platforms);
  const creative = per(platforms * countries);
  const campaign = per(platforms * countries * creatives);
  const onlyPlatforms = !has('country', 'creative_id', 'campaign_id', 'campaign_name');
  const source: IndexOf = ({ combination }) => (onlyPlatforms ? combination : combination % platforms);
  const columns: Readonly<Record<string, () => Column>> = {
    campaign_id: () => uuidColumn('campaign_id', 'campaigns', advertisers, campaign),
    campaign_name: () => campaignNameColumn(campaign, quote),
    event_source_id: () => uuidColumn('event_source_id', 'event_sources', advertisers, source),
    event_source_platform: () => choiceColumn('event_source_platform', PLATFORMS, source),
    creative_id: () => uuidColumn('creative_id', 'creatives', advertisers, creative),
    country: () => choiceColumn('country', COUNTRIES, country),
  };
  return dimensions.flatMap((name) => columns[name]?.() ?? []);
}

function choiceColumn(name: string, values: readonly string[], indexOf: IndexOf): Column {
  const choices = values.map((value) => Buffer.from(value));
  return {
    name,
    width: choices[0]?.length ?? 0,
    quoted: true,
    write(bytes, at, position) {
      choices[indexOf(position) % choices.length]?.copy(bytes, at);
    },
  };
}

/** @param kind of the entity, such as `campaigns` */
function uuidColumn(name: string, kind: string, advertisers: readonly string[], indexOf: IndexOf): Column {
  const prefixes = advertisers.map((advertiser) => Buffer.from(idPrefix(kind, advertiser)));
  return {
    name,
    width: 36,
    quoted: true,
    write(bytes, at, position) {
      prefixes[position.advertiser]?.copy(bytes, at);
      writeDigits(bytes, at + 24, 12, indexOf(position));
    },
  };
}

function quoteInJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

function quoteInCsv(text: string): string {
  return text.replaceAll('"', '""');
}

function campaignNameColumn(indexOf: IndexOf, quote: (text: string) => string): Column {
  const titles = CAMPAIGN_TITLES.map((title) => Buffer.from(`${quote(title)} `));
  return {
    name: 'campaign_name',
    width: 23,
    quoted: true,
    write(bytes, at, position) {
      const index = indexOf(position);
      titles[index % titles.length]?.copy(bytes, at);
      writeDigits(bytes, at + 15, 8, index);
    },
  };
}

/** A number that differs from row to row. Its first digit is never 0. */
function metricColumn(name: string): Column {
  const [before, after] = METRIC_DIGITS[name] ?? [5, 0];
  const least = 10 ** (before - 1);
  const fraction = 10 ** after;
  const own = createHash('sha256').update(name).digest().readUInt32BE();
  return {
    name,
    width: before + (after === 0 ? 0 : 1 + after),
    quoted: false,
    write(bytes, at, { combination, seed, growth }) {
      // Multiplied with the golden ratio, so that neighbours differ in every bit.
      const random = mixBits(Math.imul(combination, 0x9e3779b1) ^ seed ^ own);
      writeDigits(bytes, at, before, least + Math.floor((random % (9 * least)) * growth));
      if (after === 0) return;
      bytes[at + before] = 0x2e;
      writeDigits(bytes, at + before + 1, after, (random >>> 8) % fraction);
    },
  };
}

/** Hashes a number to 31 bits (the finalizer of MurmurHash3). */
function mixBits(value: number): number {
  let bits = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 1;
}

function writeDigits(bytes: Buffer, at: number, width: number, value: number): void {
  let rest = value | 0;
  for (let position = at + width - 1; position >= at; position -= 1) {
    const next = (rest / 10) | 0;
    bytes[position] = 0x30 + rest - next * 10;
    rest = next;
  }
}

import { addDays, daysBetween, type ReportRequest } from './report-request.ts';

/** Where a row stands: its number, and the indexes of its date, its advertiser and what is left. */
export type Place = { row: number; day: number; advertiser: number; combination: number };

/** One field of a row. Its values all have the same width in bytes. */
export type Column = {
  name: string;
  width: number;
  quoted: boolean;
  write(bytes: Buffer, at: number, place: Place): void;
};

/** 14 bytes each in UTF-8, some of them with what trips a reader that counts characters or brackets. */
const CAMPAIGNS = [
  'Spring Sale EU',
  'Winter Sale US',
  'Été à Paris',
  'Back to School',
  'Größe zählt',
  '春の新作 A',
  'Brand [\\"A\\"]!',
  'Retargeting 7d',
];
const PLATFORMS = ['ios', 'web', 'ctv'];
const COUNTRIES = ['US', 'DE', 'FR', 'JP', 'BR'];

/** How many decimal places a metric has, and how many digits before the point. */
const METRIC_DIGITS: Readonly<Record<string, readonly [before: number, after: number]>> = {
  spend: [3, 2],
  impressions: [5, 0],
  number_of_purchases: [2, 0],
  clicks: [4, 0],
  installs: [3, 0],
  purchase_value: [4, 2],
};

/** The fields of a row, in the order the request names them. @param seed 32 bytes */
export function columnsOf(request: ReportRequest, seed: Buffer): Column[] {
  const dates = Array.from({ length: daysBetween(request.start_date, request.end_date) }, (_, day) =>
    addDays(request.start_date, day),
  );
  return [
    table('date', dates, (place) => place.day),
    ...(request.dimensions.length === 0
      ? []
      : [table('advertiser_id', request.advertiser_ids, (place) => place.advertiser)]),
    ...dimensionColumns(request.dimensions, seed),
    ...request.metrics.map((name, index) => metric(name, seed.readUInt32BE((index % 8) * 4))),
  ];
}

/**
 * Combinations count platforms first, then countries, creatives and campaigns; the last of those asked for takes
 * as many values as there are rows to tell apart.
 */
function dimensionColumns(dimensions: readonly string[], seed: Buffer): Column[] {
  const has = (...names: string[]) => names.some((name) => dimensions.includes(name));
  const source = has('event_source_id', 'event_source_platform') ? PLATFORMS.length : 1;
  const country = has('country') ? COUNTRIES.length : 1;
  const creative = has('creative_id') && has('campaign_id', 'campaign_name') ? 2 : 1;
  const indexes: Readonly<Record<string, (place: Place) => number>> = {
    event_source: ({ combination }) => combination,
    country: ({ combination }) => Math.floor(combination / source),
    creative: ({ combination }) => Math.floor(combination / (source * country)),
    campaign: ({ combination }) => Math.floor(combination / (source * country * creative)),
  };
  const index = (name: string) => indexes[name] ?? (() => 0);
  const sourceIndex = (place: Place) =>
    has('country', 'creative_id', 'campaign_id', 'campaign_name')
      ? place.combination % source
      : place.combination;
  const columns: Readonly<Record<string, () => Column>> = {
    campaign_id: () => uuid('campaign_id', seed.subarray(0, 12), index('campaign')),
    campaign_name: () => campaignName(index('campaign')),
    event_source_id: () => uuid('event_source_id', seed.subarray(8, 20), sourceIndex),
    event_source_platform: () => table('event_source_platform', PLATFORMS, sourceIndex),
    creative_id: () => uuid('creative_id', seed.subarray(16, 28), index('creative')),
    country: () => table('country', COUNTRIES, index('country')),
  };
  return dimensions.flatMap((name) => columns[name]?.() ?? []);
}

function table(name: string, values: readonly string[], indexOf: (place: Place) => number): Column {
  const bytes = values.map((value) => Buffer.from(value));
  const width = bytes[0]?.length ?? 0;
  return {
    name,
    width,
    quoted: true,
    write(target, at, place) {
      bytes[indexOf(place) % bytes.length]?.copy(target, at);
    },
  };
}

/** A UUID whose last twelve digits hold the advertiser's index and the entity's. */
function uuid(name: string, prefix: Buffer, indexOf: (place: Place) => number): Column {
  const hex = prefix.toString('hex');
  const head = Buffer.from(
    `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(12, 15)}-8${hex.slice(15, 18)}-`,
  );
  return {
    name,
    width: 36,
    quoted: true,
    write(target, at, place) {
      head.copy(target, at);
      digits(target, at + 24, 3, place.advertiser);
      digits(target, at + 27, 9, indexOf(place));
    },
  };
}

function campaignName(indexOf: (place: Place) => number): Column {
  const names = CAMPAIGNS.map((name) => Buffer.from(`${name} `));
  return {
    name: 'campaign_name',
    width: 23,
    quoted: true,
    write(target, at, place) {
      const index = indexOf(place);
      names[index % names.length]?.copy(target, at);
      digits(target, at + 15, 8, index);
    },
  };
}

/** A number whose first digit is not 0, different from row to row. */
function metric(name: string, seed: number): Column {
  const [before, after] = METRIC_DIGITS[name] ?? [5, 0];
  const width = before + (after === 0 ? 0 : 1 + after);
  const least = 10 ** (before - 1);
  const fraction = 10 ** after;
  return {
    name,
    width,
    quoted: false,
    write(target, at, place) {
      const random = mix(place.row ^ seed);
      digits(target, at, before, least + (random % (9 * least)));
      if (after === 0) return;
      target[at + before] = 0x2e;
      digits(target, at + before + 1, after, (random >>> 8) % fraction);
    },
  };
}

/** Spreads the bits of a row's number over 31 bits (the finalizer of MurmurHash3). */
function mix(value: number): number {
  let bits = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 1;
}

function digits(target: Buffer, at: number, width: number, value: number): void {
  let rest = value | 0;
  for (let position = at + width - 1; position >= at; position -= 1) {
    const next = (rest / 10) | 0;
    target[position] = 0x30 + rest - next * 10;
    rest = next;
  }
}

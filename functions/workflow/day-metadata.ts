import { createHash } from 'node:crypto';
import * as z from 'zod/mini';
import { parseJson } from './json.ts';

/**
 * Characters of a day's values in S3's metadata, which holds 2 KB: twice the values, a report id of 256 characters, each of
 * which may take three, a time, a hash and the names.
 */
const MAX_VALUES = 500;

/** The report that an object of a table shows. */
export interface DayVersion {
  readonly report_id: string;
  /** ISO 8601, by our clock. */
  readonly created_at: string;
  readonly request_hash: string;
}

/** A day's number of rows and the sum of each metric. Sums that do not fit into metadata are known by their hash only. */
export const DayValues = z.object({
  rows: z.number(),
  sums: z.optional(z.record(z.string(), z.string())),
  sums_hash: z.optional(z.string()),
});
export type DayValues = z.infer<typeof DayValues>;

/** The description of a table's object, stored in S3's metadata and in the Parquet file. */
export interface DayMetadata extends DayVersion {
  readonly values: DayValues;
  /** The values of the object that it replaced, if there was one. A retry finds them here. */
  readonly replaced?: DayValues | undefined;
}

/** @param maxValues the most characters of the values; a Parquet file has no limit */
export function writeMetadata(day: DayMetadata, maxValues = MAX_VALUES): Record<string, string> {
  return {
    'report-id': encodeURIComponent(day.report_id),
    'report-created-at': day.created_at,
    'request-hash': day.request_hash,
    values: writeValues(day.values, maxValues),
    ...(day.replaced && { replaced: writeValues(day.replaced, maxValues) }),
  };
}

/** @returns undefined if something else wrote the object */
export function readMetadata(metadata: Readonly<Record<string, string>>): DayMetadata | undefined {
  const values = DayValues.safeParse(parseJson(metadata.values ?? '')).data;
  const replaced = DayValues.safeParse(parseJson(metadata.replaced ?? '')).data;
  const { 'report-id': id, 'report-created-at': created_at, 'request-hash': request_hash } = metadata;
  if (id === undefined || created_at === undefined || request_hash === undefined || !values) return undefined;
  return { report_id: decodeURIComponent(id), created_at, request_hash, values, replaced };
}

/**
 * Says whether a report may replace what an object shows. The newest report of a request wins, whoever writes last.
 *
 * @returns `same` if the object shows this report already
 */
export function compareVersions(
  existing: DayVersion | undefined,
  ours: DayVersion,
): 'replace' | 'same' | 'keep' {
  if (existing?.request_hash !== ours.request_hash) return 'replace';
  const age = Date.parse(existing.created_at) - Date.parse(ours.created_at);
  if (age === 0 && existing.report_id === ours.report_id) return 'same';
  return age > 0 || (age === 0 && existing.report_id > ours.report_id) ? 'keep' : 'replace';
}

/** Compares only metrics that both have: a metric that the config added restates nothing. */
export function isEqual(one: DayValues, other: DayValues): boolean {
  if (one.rows !== other.rows) return false;
  if (!one.sums || !other.sums) return hashOf(one) === hashOf(other);
  const { sums } = other;
  return Object.entries(one.sums).every(([name, sum]) => sums[name] === undefined || sums[name] === sum);
}

function writeValues(values: DayValues, max: number): string {
  const whole = JSON.stringify(values);
  return whole.length <= max ? whole : JSON.stringify({ rows: values.rows, sums_hash: hashOf(values) });
}

function hashOf({ sums = {}, sums_hash }: DayValues): string {
  if (sums_hash !== undefined) return sums_hash;
  const sorted = Object.entries(sums).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return createHash('sha256').update(JSON.stringify(sorted)).digest('hex');
}

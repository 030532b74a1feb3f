import * as z from 'zod/mini';
import { parseJson } from './json.ts';

/** The report that an object of a table shows. */
export interface DayVersion {
  readonly report_id: string;
  /** ISO 8601, by our clock. */
  readonly created_at: string;
  readonly request_hash: string;
}

/** A day's number of rows and the sum of each metric. */
export const DayValues = z.object({
  rows: z.number(),
  sums: z.optional(z.record(z.string(), z.string())),
});
export type DayValues = z.infer<typeof DayValues>;

/** The facts that a day's Parquet file holds besides its version. */
interface ShownValues {
  readonly values?: DayValues | undefined;
  /** The values of the object that it replaced, if there was one. A retry finds them here. */
  readonly replaced?: DayValues | undefined;
}

/** The metadata of a table's object in S3, which a HEAD shows. S3 allows 2 KB, so the values are in the Parquet file only. */
export function writeVersion({ report_id, created_at, request_hash }: DayVersion): Record<string, string> {
  return {
    'report-id': encodeURIComponent(report_id),
    'report-created-at': created_at,
    'request-hash': request_hash,
  };
}

/** @returns undefined if something else wrote the object */
export function readVersion(metadata: Readonly<Record<string, string>>): DayVersion | undefined {
  const { 'report-id': id, 'report-created-at': created_at, 'request-hash': request_hash } = metadata;
  if (id === undefined || created_at === undefined || request_hash === undefined) return undefined;
  return { report_id: decodeURIComponent(id), created_at, request_hash };
}

/** The key-value metadata of a table's Parquet file, of any size. */
export function writeMetadata(
  version: DayVersion,
  { values, replaced }: ShownValues,
): Record<string, string> {
  return {
    ...writeVersion(version),
    ...(values && { values: JSON.stringify(values) }),
    ...(replaced && { replaced: JSON.stringify(replaced) }),
  };
}

export function readValues({ values = '', replaced = '' }: Readonly<Record<string, string>>): ShownValues {
  return {
    values: DayValues.safeParse(parseJson(values)).data,
    replaced: DayValues.safeParse(parseJson(replaced)).data,
  };
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
  const { sums = {} } = other;
  return (
    one.rows === other.rows &&
    Object.entries(one.sums ?? {}).every(([name, sum]) => sums[name] === undefined || sums[name] === sum)
  );
}

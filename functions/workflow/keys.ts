import type { ExportRequest } from './request/request.ts';
import type { Window } from './state-parts.ts';

/** The functions may write reports only under this prefix. */
export const EXPORTS_PREFIX = 'exports/';

/** Pages of lists that one call could not read to the end. A rule of the bucket removes them after a day. */
export const PAGES_PREFIX = '_pages/';

/** One object per account: who may renew its token. */
export const LEASES_PREFIX = 'leases/';

export const MANIFEST = '_manifest.json';

/** The latest failure report of a window or an export. */
export const FAILURE = '_failure.json';

/** The tag of each report's file: the only way for a rule of the bucket to tell it from its manifest. */
export const FILE_TAG = { name: 'kind', value: 'file' } as const;

/**
 * A folder of an export: its runs that have not delivered everything. Athena and Spark leave out `_` names.
 */
export const RUNS = '_runs/';

/** A folder of an export: an object for each time at which the list of all advertisers changed. */
export const ADVERTISER_LISTS = '_advertisers/';

export type ExportId = Pick<ExportRequest, 'account' | 'name'>;

export function exportPrefix({ account, name }: ExportId): string {
  return `${EXPORTS_PREFIX}account=${account}/export=${name}/`;
}

/**
 * The prefix of a window's objects. It is known before the export runs and consists of validated parts only.
 * Athena, Spark and Snowflake read its `name=value` parts as partitions.
 */
function windowPrefix(request: ExportId, { start_date, end_date, content }: Window): string {
  const total = content === 'total' ? TOTAL_FOLDER : '';
  return `${exportPrefix(request)}start_date=${start_date}/end_date=${end_date}/${total}`;
}

/** A folder of a window: the objects of the platform's own total of its days. */
const TOTAL_FOLDER = 'total/';

/** True if the object belongs to the platform's own total of a window instead of its rows. */
export function isOfTotal(key: string): boolean {
  return key.includes(`/${TOTAL_FOLDER}`);
}

export function objectKey(request: ExportRequest, window: Window): string {
  return `${windowPrefix(request, window)}${fileName(request)}`;
}

/** A report is the platform's file, unchanged. A list has one item per line. */
function fileName(request: ExportRequest): string {
  if (request.kind === 'report') return `report.${request.format.toLowerCase()}`;
  return request.kind === 'purchases' ? 'purchases.json' : `${request.resource}.ndjson`;
}

export function manifestKey(request: ExportId, window: Window): string {
  return `${windowPrefix(request, window)}${MANIFEST}`;
}

/** @param range of a window or of the whole export; the same if the export has one window */
export function failureKey(request: ExportId, range: Window): string {
  return `${windowPrefix(request, range)}${FAILURE}`;
}

/** The window of an object's key; undefined if the key has none. */
export function windowOf(key: string): Window | undefined {
  return rangeIn(key, /\/start_date=([\d-]+)\/end_date=([\d-]+)\//);
}

export function runsPrefix(id: ExportId): string {
  return `${exportPrefix(id)}${RUNS}`;
}

/** @param execution of one account */
export function runKey(id: ExportId, execution: string): string {
  return `${runsPrefix(id)}${execution}.json`;
}

function rangeIn(key: string, pattern: RegExp): Window | undefined {
  const [, start_date, end_date] = pattern.exec(key) ?? [];
  return start_date === undefined || end_date === undefined ? undefined : { start_date, end_date };
}

/** An execution reads one list at most. @param number counts the objects from 0 */
export function pagesKey(execution: string, number: number): string {
  return `${PAGES_PREFIX}${execution}/${String(number).padStart(6, '0')}.ndjson`;
}

export function advertisersPrefix(request: ExportId): string {
  return `${exportPrefix(request)}${ADVERTISER_LISTS}`;
}

/** In the order of their keys, the newest list comes last. */
export function advertisersKey(request: ExportId, listedAt: Date): string {
  return `${advertisersPrefix(request)}${listedAt.toISOString().replaceAll(/[:.]/g, '-')}.json`;
}

import type { ExportRequest } from './request/request.ts';
import type { Window } from './states.ts';

/** Everything we write in the bucket lies under this prefix, and the functions may write nowhere else. */
export const EXPORTS_PREFIX = 'exports/';

export const MANIFEST = '_manifest.json';

/** What failed, until it is delivered after all. */
export const FAILURE = '_failure.json';

/**
 * Where a window's objects lie. Known before the export runs, and made of validated parts only, in the `name=value`
 * form that Athena, Spark and Snowflake read as partitions.
 */
function windowPrefix({ account, name }: Pick<ExportRequest, 'account' | 'name'>, window: Window): string {
  const range = `start_date=${window.start_date}/end_date=${window.end_date}`;
  return `${EXPORTS_PREFIX}account=${account}/export=${name}/${range}/`;
}

/** The key of the window's one object. */
export function objectKey(request: ExportRequest, window: Window): string {
  return `${windowPrefix(request, window)}${fileName(request)}`;
}

/** The platform's file, unchanged, is `report.json` for format JSON and `report.csv` for CSV; a list has an item a line. */
function fileName(request: ExportRequest): string {
  if (request.kind === 'report') return `report.${request.format.toLowerCase()}`;
  return request.kind === 'purchases' ? 'purchases.json' : `${request.resource}.ndjson`;
}

export function manifestKey(request: Pick<ExportRequest, 'account' | 'name'>, window: Window): string {
  return `${windowPrefix(request, window)}${MANIFEST}`;
}

/** @param range a window's, or the export's whole one: where there is only one window, they are the same */
export function failureKey(request: Pick<ExportRequest, 'account' | 'name'>, range: Window): string {
  return `${windowPrefix(request, range)}${FAILURE}`;
}

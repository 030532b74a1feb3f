import type { ReportRequest } from './request.ts';
import type { Window } from './states.ts';

/** Everything we write in the bucket lies under this prefix, and the functions may write nowhere else. */
export const EXPORTS_PREFIX = 'exports/';

export const MANIFEST = '_manifest.json';

/**
 * Where a window's objects lie. Known before the export runs, and made of validated parts only, in the `name=value`
 * form that Athena, Spark and Snowflake read as partitions.
 */
export function windowPrefix(
  { account, name }: Pick<ReportRequest, 'account' | 'name'>,
  window: Window,
): string {
  const range = `start_date=${window.start_date}/end_date=${window.end_date}`;
  return `${EXPORTS_PREFIX}account=${account}/export=${name}/${range}/`;
}

/** The key of the platform's file, unchanged: `report.json` for format JSON, `report.csv` for CSV. */
export function reportKey(
  request: Pick<ReportRequest, 'account' | 'name' | 'format'>,
  window: Window,
): string {
  return `${windowPrefix(request, window)}report.${request.format.toLowerCase()}`;
}

export function manifestKey(request: Pick<ReportRequest, 'account' | 'name'>, window: Window): string {
  return `${windowPrefix(request, window)}${MANIFEST}`;
}

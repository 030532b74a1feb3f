import { parseJson } from '../../functions/workflow/json.ts';
import { FAILURE, MANIFEST } from '../../functions/workflow/keys.ts';
import { addDays, type DateRange } from '../../functions/workflow/request/dates.ts';
import type { FailureReport } from '../../functions/workflow/states.ts';
import type { ExportedObjects } from './bucket.ts';

/** The objects of one export. */
export interface ExportObjects {
  /** Windows that have a manifest. */
  readonly delivered: readonly DateRange[];
  /** Keys of failure reports. A later delivery deletes them. */
  readonly failures: readonly string[];
  /** A snapshot covers its own day only, so no day between two of them is missing. */
  readonly isList: boolean;
}

/** A failure report that is still there. */
export interface RemainingFailure {
  readonly at: string;
  readonly error: string;
  readonly happened: string;
  readonly todo: string;
  readonly execution: string;
  readonly key: string;
}

/** Failure reports that are read to find the latest. */
const MAX_FAILURES = 20;

/** A range of days in words, such as `2026-10-01 to 2026-10-07`: the last one is named too. */
export function describeDays({ start_date, end_date }: DateRange): string {
  const last = addDays(end_date, -1);
  return last === start_date ? last : `${start_date} to ${last}`;
}

/** The exports that have objects, as `account/name`. */
export function namesIn(keys: readonly string[]): Set<string> {
  const found = keys.map((key) => /^exports\/account=([^/]+)\/export=([^/]+)\//.exec(key));
  return new Set(found.flatMap((parts) => (parts ? [`${parts[1]}/${parts[2]}`] : [])));
}

/** @param keys of one export */
export function readKeys(keys: readonly string[]): ExportObjects {
  const named = (name: string) => keys.filter((key) => key.endsWith(`/${name}`));
  return {
    delivered: named(MANIFEST).flatMap((key) => {
      const [, start_date, end_date] = /start_date=([\d-]+)\/end_date=([\d-]+)\//.exec(key) ?? [];
      return start_date && end_date ? [{ start_date, end_date }] : [];
    }),
    failures: named(FAILURE),
    isList: keys.some((key) => key.endsWith('.ndjson')),
  };
}

/** The latest of the failure reports that can be read. */
export async function findLatestFailure(
  objects: Pick<ExportedObjects, 'getText'>,
  keys: readonly string[],
): Promise<RemainingFailure | undefined> {
  const reports = await Promise.all(
    keys.slice(-MAX_FAILURES).map(async (key) => {
      const report: Partial<FailureReport> = Object(parseJson((await objects.getText(key)) ?? ''));
      const { error = '', happened = '', todo = '', execution = '', failed_at: at = '' } = report;
      return { at, error, happened, todo, execution, key };
    }),
  );
  return reports.sort((one, other) => one.at.localeCompare(other.at)).at(-1);
}

import type { ObjectStore } from '../aws/objects.ts';
import { LIMITS } from '../contract.ts';
import { parseJson } from '../workflow/json.ts';
import {
  type ExportId,
  exportPrefix,
  FAILURE,
  failureKey,
  isOfTotal,
  MANIFEST,
  windowOf,
} from '../workflow/keys.ts';
import { isPossibleTime } from '../workflow/possible.ts';
import { addDays, type DateRange } from '../workflow/request/dates.ts';
import { FailureReport } from '../workflow/state-parts.ts';
import type { Attempt, Delivery } from './judge.ts';
import { type Manifest, parseManifest, versionOf } from './manifest.ts';
import { type ReadRecords, readAll } from './read-all.ts';
import { type Run, readRuns } from './runs.ts';

export type RecordStore = Pick<ObjectStore, 'list' | 'getText' | 'head'>;

/** A delivery and its manifest. */
export interface StoredDelivery extends Delivery {
  readonly manifest: Manifest;
}

/** The part of a failure report that a person wants to know. */
export interface StoredFailure extends Attempt {
  readonly key: string;
  readonly execution: string;
  readonly error: string;
  /** With the faults that it names. */
  readonly happened: string;
  readonly todo: string;
}

/** The records of an export: what was asked of it, and what became of it. */
export interface ExportRecords {
  readonly deliveries: readonly StoredDelivery[];
  /** The keys of manifests, failure reports and runs that cannot be read, or cannot be true. */
  readonly damaged: readonly string[];
  readonly failures: readonly StoredFailure[];
  /** The runs that have not delivered everything, of any days, the oldest first. */
  readonly runs: readonly Run[];
}

/**
 * Reads the manifests and failure reports of an export's windows that share a day with a range or border on
 * it, and all of its runs.
 *
 * @param range default: all days
 * @param listed the keys of its windows, if they are known
 * @throws AccessRefused, ServiceUnavailable
 */
export async function readRecords(
  store: RecordStore,
  request: ExportId & { readonly kind?: string },
  now: Date,
  range?: DateRange,
  listed?: readonly string[],
): Promise<ExportRecords> {
  const [keys, runs] = await Promise.all([
    listed ?? listWindows(store, request, request.kind === 'purchases' ? undefined : range?.start_date),
    readRuns(store, request, now),
  ]);
  const wanted = keys.filter((key) => {
    const window = windowOf(key);
    return window !== undefined && (range === undefined || touches(window, range));
  });
  const failed = wanted.filter((key) => key.endsWith(`/${FAILURE}`));
  // The range of a run may begin long before this one.
  const ofRuns = runs.records.map((run) => failureKey(request, run.request));
  const failureKeys = new Set([...failed, ...ofRuns]);
  const manifests = wanted.filter((key) => key.endsWith(`/${MANIFEST}`));
  const deliveries = await readDeliveries(store, manifests, now);
  const failures = await readAll(store, failureKeys, (text, key) => parseFailure(text, key, now));
  return {
    deliveries: deliveries.records,
    damaged: [...deliveries.damaged, ...failures.damaged, ...runs.damaged],
    failures: failures.records,
    runs: runs.records,
  };
}

/**
 * Lists the keys of an export's windows.
 *
 * @param from the first day that a window may have. No window has more days than a report. Default: any day
 */
export async function listWindows(
  store: Pick<RecordStore, 'list'>,
  request: ExportId,
  from?: string,
): Promise<string[]> {
  const prefix = `${exportPrefix(request)}start_date=`;
  const after = from === undefined ? undefined : `${prefix}${addDays(from, -LIMITS.days)}`;
  const keys = await store.list(prefix, after);
  return keys.filter((key) => !isOfTotal(key));
}

/** The first day of the oldest window that has a file or a manifest. @param keys sorted */
export function oldestDay(keys: readonly string[]): string | undefined {
  const oldest = keys.find((key) => !key.endsWith(`/${FAILURE}`));
  return oldest && windowOf(oldest)?.start_date;
}

async function readDeliveries(
  store: Pick<RecordStore, 'getText' | 'head'>,
  keys: readonly string[],
  now: Date,
): Promise<ReadRecords<StoredDelivery>> {
  return readAll(store, keys, async (text, key) => {
    const manifest = parseManifest(text, key, now);
    if (!manifest) return undefined;
    const { start_date, end_date, table_problem } = manifest;
    const object = await findObject(manifest, store);
    return { start_date, end_date, ...versionOf(manifest), table_problem, ...object, manifest };
  });
}

/**
 * True if a window shares a day with a range, or borders on it. So a range that ends today has today's
 * snapshot of a list, and a range has the windows without days that a query for purchases may have.
 */
function touches(window: DateRange, range: DateRange): boolean {
  return window.start_date <= range.end_date && window.end_date >= range.start_date;
}

/**
 * A bucket with versions keeps the object until its rule removes it. In a bucket without, such as a local
 * run's, a run that was killed before it wrote its manifest may have replaced it.
 */
async function findObject(
  { key, checksum, version_id }: Manifest,
  store: Pick<RecordStore, 'head'>,
): Promise<Pick<StoredDelivery, 'lost' | 'removed'>> {
  const object = await store.head(key, version_id);
  if (!object) return { removed: true };
  return version_id !== undefined || object.crc32 === checksum.value ? {} : { lost: true };
}

function parseFailure(text: string, key: string, now: Date): StoredFailure | undefined {
  const range = windowOf(key);
  const { data: report } = FailureReport.safeParse(parseJson(text));
  if (!range || !report || !isPossibleTime(report.failed_at, now)) return undefined;
  const { account, export: name, execution, error, happened, faults = [], todo } = report;
  if (account !== undefined && name !== undefined && failureKey({ account, name }, range) !== key)
    return undefined;
  const words = [happened, ...faults].join(' ');
  return { ...range, at: report.failed_at, execution, key, error, happened: words, todo };
}

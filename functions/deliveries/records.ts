import pMap, { pMapSkip } from 'p-map';
import * as z from 'zod/mini';
import type { ObjectStore } from '../aws/objects.ts';
import { parseJson } from '../workflow/json.ts';
import {
  type ExportId,
  exportPrefix,
  FAILURE,
  failureKey,
  isOfTotal,
  MANIFEST,
  manifestKey,
  plannedRange,
  plansPrefix,
  windowOf,
} from '../workflow/keys.ts';
import { addDays, type DateRange, MAX_WINDOW_DAYS } from '../workflow/request/dates.ts';
import { ExportRequest } from '../workflow/request/request.ts';
import type { FailureReport } from '../workflow/state-parts.ts';
import type { Attempt, Delivery } from './judge.ts';
import { createdAt, hashOf, type Manifest, parseManifest } from './manifest.ts';

export type RecordStore = Pick<ObjectStore, 'list' | 'getText' | 'head'>;

/** A delivery and its manifest. */
export interface StoredDelivery extends Delivery {
  /** Its object was removed, by the bucket's rule or by a person. The delivery still counts. */
  readonly removed?: true;
  readonly manifest: Manifest;
}

/** A failure report, as far as a person wants to know it. */
export interface StoredFailure extends Attempt {
  readonly key: string;
  readonly error: string;
  /** With the faults that it names. */
  readonly happened: string;
  readonly todo: string;
}

/** A range that was asked for, until a run of the same range has delivered all that it was to export. */
export interface StoredPlan extends Attempt {
  readonly request: ExportRequest;
  /** When its export started, in ISO 8601. */
  readonly started_at: string;
}

/** The object that PlanExport writes, and PublishExport removes. */
export const Plan = z.object({
  version: z.literal('1'),
  execution: z.string(),
  /** The start, or what `only_missing` names. The plan asks for a day until it is delivered later. */
  since: z.string(),
  /** When its export started. Absent in plans of older versions. */
  started_at: z.optional(z.string()),
  request_hash: z.string(),
  request: ExportRequest,
});
export type Plan = z.infer<typeof Plan>;

/** Everything that tells what was asked of an export, and what became of it. */
export interface ExportRecords {
  readonly deliveries: readonly StoredDelivery[];
  /** The keys of manifests that cannot be read. Their windows count as not delivered. */
  readonly damaged: readonly string[];
  readonly failures: readonly StoredFailure[];
  readonly plans: readonly StoredPlan[];
  /** The first day of the oldest window that has a file or a manifest. */
  readonly oldest: string | undefined;
}

/** Objects that are read at the same time. More would share the CPU of a small function. */
const PARALLEL = 10;

const ALWAYS: DateRange = { start_date: '', end_date: '9999' };

/**
 * Reads the manifests and failure reports of an export that share a day with a range, and its plans.
 *
 * @throws AccessRefused, ServiceUnavailable
 */
export async function readRecords(
  store: RecordStore,
  request: ExportId & { readonly kind?: string },
  range: DateRange = ALWAYS,
): Promise<ExportRecords> {
  const [keys, plans] = await Promise.all([
    listWindows(store, request, request.kind === 'purchases' ? ALWAYS : range),
    readPlans(store, request, range),
  ]);
  const wanted = keys.filter((key) => overlap(windowOf(key), range));
  const failed = wanted.filter((key) => key.endsWith(`/${FAILURE}`));
  // A plan may begin long before the range.
  const failures = new Set([...failed, ...plans.map((plan) => failureKey(request, plan))]);
  const manifests = wanted.filter((key) => key.endsWith(`/${MANIFEST}`));
  const deliveries = await readAll(manifests, (key) => readDelivery(store, key));
  const read = new Set(deliveries.map((each) => manifestKey(request, each)));
  return {
    deliveries,
    damaged: manifests.filter((key) => !read.has(key)),
    failures: await readAll(failures, (key) => readFailure(store, key)),
    plans,
    oldest: windowOf(wanted.find((key) => !key.endsWith(`/${FAILURE}`)) ?? '')?.start_date,
  };
}

/** Reads the manifests of these windows, as far as they exist. @throws AccessRefused, ServiceUnavailable */
export async function readWindows(
  store: Pick<RecordStore, 'getText' | 'head'>,
  request: Pick<ExportRequest, 'account' | 'name'>,
  windows: readonly DateRange[],
): Promise<readonly StoredDelivery[]> {
  return readAll(
    windows.map((window) => manifestKey(request, window)),
    (key) => readDelivery(store, key),
  );
}

async function readAll<T>(
  keys: Iterable<string>,
  read: (key: string) => Promise<T | undefined>,
): Promise<T[]> {
  return pMap(keys, async (key) => (await read(key)) ?? pMapSkip, { concurrency: PARALLEL });
}

/** The keys of windows of at most 45 days that may share a day with a range. */
export async function listWindows(
  store: Pick<RecordStore, 'list'>,
  request: ExportId,
  { start_date }: DateRange = ALWAYS,
): Promise<string[]> {
  const prefix = `${exportPrefix(request)}start_date=`;
  const keys = await store.list(prefix, start_date && `${prefix}${addDays(start_date, -MAX_WINDOW_DAYS)}`);
  return keys.filter((key) => !isOfTotal(key));
}

async function readPlans(store: RecordStore, request: ExportId, range: DateRange): Promise<StoredPlan[]> {
  const keys = await store.list(plansPrefix(request));
  const wanted = keys.filter((key) => overlap(plannedRange(key), range));
  return readAll(wanted, async (key) => {
    const { data } = Plan.safeParse(parseJson((await store.getText(key)) ?? ''));
    if (!data) return undefined;
    const { execution, since: at, started_at = at, request_hash, request } = data;
    const { start_date, end_date } = request;
    return { start_date, end_date, at, started_at, execution, request_hash, request };
  });
}

async function readDelivery(
  store: Pick<RecordStore, 'getText' | 'head'>,
  key: string,
): Promise<StoredDelivery | undefined> {
  const manifest = parseManifest(await store.getText(key));
  const folder = key.slice(0, -MANIFEST.length);
  if (!manifest?.key.startsWith(folder)) return undefined;
  const { start_date, end_date, published_at, execution, export_request } = manifest;
  return {
    start_date,
    end_date,
    request_hash: hashOf(manifest),
    created_at: createdAt(manifest),
    published_at,
    execution,
    ...(export_request && { asked: export_request }),
    ...(await findObject(manifest, store)),
    manifest,
  };
}

/** Also of windows without days, which a query for purchases may have. */
function overlap(window: DateRange | undefined, { start_date, end_date }: DateRange): boolean {
  return window !== undefined && window.start_date <= end_date && window.end_date >= start_date;
}

/**
 * A bucket with versions keeps the object until its rule removes it. In a bucket without, such as a local
 * run's, a run that was killed before it wrote its manifest may have replaced it.
 */
async function findObject(
  { key, checksum, version_id }: Manifest,
  store: Pick<RecordStore, 'head'>,
): Promise<Pick<StoredDelivery, 'lost' | 'removed'>> {
  const found = await store.head(key, version_id);
  if (!found) return { removed: true };
  return version_id !== undefined || found.crc32 === checksum.value ? {} : { lost: true };
}

async function readFailure(store: RecordStore, key: string): Promise<StoredFailure | undefined> {
  const range = windowOf(key);
  const text = await store.getText(key);
  const report: Partial<FailureReport> = Object(parseJson(text ?? ''));
  const { failed_at: at, execution, error = '', faults = [], todo = '' } = report;
  if (!range || at === undefined || execution === undefined) return undefined;
  const happened = [report.happened ?? '', ...faults].join(' ');
  return { ...range, at, execution, failed: true, key, error, happened, todo };
}

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
  planKey,
  plannedRange,
  plansPrefix,
  windowOf,
} from '../workflow/keys.ts';
import { isPossibleRequest, isPossibleTime } from '../workflow/possible.ts';
import { addDays, type DateRange, MAX_WINDOW_DAYS } from '../workflow/request/dates.ts';
import { ExportRequest } from '../workflow/request/request.ts';
import { FailureReport } from '../workflow/state-parts.ts';
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
  /** The keys of manifests, failure reports and plans that cannot be read, or tell what cannot be true. */
  readonly damaged: readonly string[];
  readonly failures: readonly StoredFailure[];
  readonly plans: readonly StoredPlan[];
  /** The first day of the oldest window that has a file or a manifest. */
  readonly oldest: string | undefined;
}

/** Objects that are read at the same time. More would share the CPU of a small function. */
export const PARALLEL = 10;

const ALWAYS: DateRange = { start_date: '', end_date: '9999' };

/**
 * Reads the manifests and failure reports of an export that share a day with a range, and its plans.
 *
 * @throws AccessRefused, ServiceUnavailable
 */
export async function readRecords(
  store: RecordStore,
  request: ExportId & { readonly kind?: string },
  now: Date,
  range: DateRange = ALWAYS,
): Promise<ExportRecords> {
  const [keys, plans] = await Promise.all([
    listWindows(store, request, request.kind === 'purchases' ? ALWAYS : range),
    readPlans(store, request, now, range),
  ]);
  const wanted = keys.filter((key) => overlap(windowOf(key), range));
  const failed = wanted.filter((key) => key.endsWith(`/${FAILURE}`));
  // A plan may begin long before the range.
  const failureKeys = new Set([...failed, ...plans.records.map((plan) => failureKey(request, plan))]);
  const manifests = wanted.filter((key) => key.endsWith(`/${MANIFEST}`));
  const deliveries = await readDeliveries(store, manifests, now);
  const failures = await readAll(store, failureKeys, (text, key) => parseFailure(text, key, now));
  return {
    deliveries: deliveries.records,
    damaged: [...deliveries.damaged, ...failures.damaged, ...plans.damaged],
    failures: failures.records,
    plans: plans.records,
    oldest: oldestDay(wanted),
  };
}

/** Reads the manifests of these windows, as far as they exist. @throws AccessRefused, ServiceUnavailable */
export async function readWindows(
  store: Pick<RecordStore, 'getText' | 'head'>,
  request: Pick<ExportRequest, 'account' | 'name'>,
  now: Date,
  windows: readonly DateRange[],
): Promise<readonly StoredDelivery[]> {
  const keys = windows.map((window) => manifestKey(request, window));
  return (await readDeliveries(store, keys, now)).records;
}

interface ReadRecords<T> {
  readonly records: T[];
  /** The keys of objects that are there, and are not such records. */
  readonly damaged: string[];
}

/** @param parse returns undefined if the text is no such record, or tells what cannot be true */
async function readAll<T>(
  store: Pick<RecordStore, 'getText'>,
  keys: Iterable<string>,
  parse: (text: string, key: string) => Promise<T | undefined> | T | undefined,
): Promise<ReadRecords<T>> {
  const damaged: string[] = [];
  const read = async (key: string) => {
    const text = await store.getText(key);
    if (text === undefined) return pMapSkip;
    const record = await parse(text, key);
    if (record === undefined) damaged.push(key);
    return record ?? pMapSkip;
  };
  return { records: await pMap(keys, read, { concurrency: PARALLEL }), damaged: damaged.sort() };
}

/** The keys of windows of at most 45 days that may share a day with a range. */
export async function listWindows(
  store: Pick<RecordStore, 'list'>,
  request: ExportId,
  { start_date }: Pick<DateRange, 'start_date'> = ALWAYS,
): Promise<string[]> {
  const prefix = `${exportPrefix(request)}start_date=`;
  const keys = await store.list(prefix, start_date && `${prefix}${addDays(start_date, -MAX_WINDOW_DAYS)}`);
  return keys.filter((key) => !isOfTotal(key));
}

/** The first day of the oldest window that has a file or a manifest. @param keys sorted */
export function oldestDay(keys: readonly string[]): string | undefined {
  return windowOf(keys.find((key) => !key.endsWith(`/${FAILURE}`)) ?? '')?.start_date;
}

async function readPlans(
  store: RecordStore,
  id: ExportId,
  now: Date,
  range: DateRange,
): Promise<ReadRecords<StoredPlan>> {
  const keys = await store.list(plansPrefix(id));
  const wanted = keys.filter((key) => overlap(plannedRange(key), range));
  return readAll(store, wanted, (text, key) => {
    const plan = parsePlan(text, key, now);
    if (!plan) return undefined;
    const { execution, since: at, started_at = at, request_hash, request } = plan;
    const { start_date, end_date } = request;
    return { start_date, end_date, at, started_at, execution, request_hash, request };
  });
}

/** @returns undefined if the text is no plan, or tells what cannot be true */
export function parsePlan(text: string, key: string, now: Date): Plan | undefined {
  const { data: plan } = Plan.safeParse(parseJson(text));
  if (!plan) return undefined;
  const { since, started_at = since, request } = plan;
  const isTrue =
    planKey(request, request) === key &&
    isPossibleRequest(request) &&
    [since, started_at].every((time) => isPossibleTime(time, now));
  return isTrue ? plan : undefined;
}

async function readDeliveries(
  store: Pick<RecordStore, 'getText' | 'head'>,
  keys: readonly string[],
  now: Date,
): Promise<ReadRecords<StoredDelivery>> {
  return readAll(store, keys, async (text, key) => {
    const manifest = parseManifest(text, key, now);
    if (!manifest) return undefined;
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
  });
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

function parseFailure(text: string, key: string, now: Date): StoredFailure | undefined {
  const range = windowOf(key);
  const { data: report } = FailureReport.safeParse(parseJson(text));
  if (!range || !report || !isPossibleTime(report.failed_at, now)) return undefined;
  const { account, export: name, execution, error, happened, faults = [], todo } = report;
  if (account !== undefined && name !== undefined && failureKey({ account, name }, range) !== key)
    return undefined;
  const words = [happened, ...faults].join(' ');
  return { ...range, at: report.failed_at, execution, failed: true, key, error, happened: words, todo };
}

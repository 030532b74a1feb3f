import * as z from 'zod/mini';
import type { ObjectStore } from '../aws/objects.ts';
import { mapParallel } from '../aws/parallel.ts';
import { parseJson } from '../workflow/json.ts';
import { exportPrefix, FAILURE, failureKey, MANIFEST, windowOf } from '../workflow/keys.ts';
import { type DateRange, daysOf, describeDays } from '../workflow/request/dates.ts';
import type { ExportRequest, OnlyMissing } from '../workflow/request/request.ts';
import type { Window } from '../workflow/state-parts.ts';
import type { ExportPlan } from '../workflow/states.ts';
import { type DayState, type Delivery, judgeDays } from './days.ts';
import { type RequestTarget, requestHash } from './request-hash.ts';

/** The parts of a manifest that tell what was delivered. */
export const Manifest = z.object({
  account: z.string(),
  export: z.string(),
  start_date: z.string(),
  end_date: z.string(),
  /** Of the platform. It differs from the configured one in what the hash leaves out, such as the format. */
  request: z.record(z.string(), z.unknown()),
  request_hash: z.string(),
  platform: z.string(),
  revision: z.string(),
  report_id: z.optional(z.string()),
  report_created_at: z.optional(z.string()),
  key: z.string(),
  version_id: z.optional(z.string()),
  bytes: z.number(),
  checksum: z.object({ value: z.string() }),
  content_type: z.string(),
  content_encoding: z.optional(z.string()),
  /** The reason why the table was not written. */
  table_problem: z.optional(z.string()),
  copied_at: z.string(),
  published_at: z.string(),
  execution: z.string(),
});
export type Manifest = z.infer<typeof Manifest>;

/** Reads the objects that exports have left. */
export type DeliveredObjects = Pick<ObjectStore, 'list' | 'getText' | 'head'>;

/** A delivery and its manifest. */
export interface StoredDelivery extends Delivery {
  readonly manifest: Manifest;
}

/** Manifests that are read at the same time. More would share the CPU of a small function. */
const PARALLEL = 10;

/**
 * The deliveries of an export that share a day with a range.
 *
 * @param range default: all
 * @throws AccessRefused, ServiceUnavailable
 */
export async function readDeliveries(
  store: DeliveredObjects,
  request: Pick<ExportRequest, 'account' | 'name'>,
  range: DateRange = { start_date: '', end_date: '9999' },
): Promise<StoredDelivery[]> {
  const keys = await store.list(exportPrefix(request));
  const failures = new Set(keys.filter((key) => key.endsWith(`/${FAILURE}`)));
  const manifests = keys.filter((key) => key.endsWith(`/${MANIFEST}`) && overlap(windowOf(key), range));
  const read = async (key: string): Promise<StoredDelivery[]> => {
    const { data: manifest } = Manifest.safeParse(parseJson((await store.getText(key)) ?? ''));
    if (!manifest) return [];
    const { start_date, end_date, request_hash, report_created_at, copied_at } = manifest;
    const failure = failureKey(request, manifest);
    const lost = !(await isObjectThere(manifest, store))
      ? 'replaced'
      : failures.has(failure) && isWindowFailure(await store.getText(failure))
        ? 'failed'
        : undefined;
    const created_at = report_created_at ?? copied_at;
    return [{ start_date, end_date, request_hash, created_at, ...(lost && { lost }), manifest }];
  };
  return (await mapParallel(manifests, PARALLEL, read)).flat();
}

/** Also of windows without days, which a query for purchases may have. */
function overlap(window: Window | undefined, { start_date, end_date }: DateRange): boolean {
  return window !== undefined && window.start_date <= end_date && window.end_date >= start_date;
}

/**
 * A later run may have replaced the object and been killed before it wrote its manifest. A bucket without versions, such
 * as a local run's, is compared by checksum.
 */
async function isObjectThere(
  { key, checksum, version_id }: Manifest,
  store: DeliveredObjects,
): Promise<boolean> {
  const object = await store.head(key);
  return version_id === undefined ? object?.crc32 === checksum.value : object?.version_id === version_id;
}

/** The only window shares its key with the export. The export may have failed after its window was delivered. */
function isWindowFailure(report = ''): boolean {
  const { window, windows_failed } = Object(parseJson(report));
  return window !== undefined || windows_failed !== undefined;
}

/** Reasons to export a delivered window again that need a warning, because a user would not expect it. */
const WARNINGS = {
  other_request: 'delivered before for another request or another platform, so they are exported again',
  unfinished: 'delivered before their last day was over, so they are exported again',
} as const satisfies Partial<Record<DayState, string>>;

interface Conditions extends RequestTarget, OnlyMissing {
  readonly store: DeliveredObjects;
}

/**
 * Finds the windows to export: those with a day that was not delivered.
 *
 * @throws AccessRefused, ServiceUnavailable
 */
export async function findMissing(
  request: ExportRequest,
  windows: readonly Window[],
  { store, since, timeZone, ...target }: Conditions,
): Promise<Required<Pick<ExportPlan, 'windows' | 'already_delivered' | 'warnings'>>> {
  const all = await readDeliveries(store, request, request);
  const deliveries = all.filter(({ manifest }) => Date.parse(manifest.published_at) >= since.getTime());
  const hash = requestHash(request, target);
  // A snapshot of a list is made during its day.
  const facts = { deliveries, hash, timeZone: request.kind === 'list' ? undefined : timeZone };
  const judged = windows.map((window) => ({ window, states: judgeDays(daysIn(window), facts) }));
  const missing = judged.filter(({ states }) => states.some((state) => state !== 'present'));
  const warnings = (Object.keys(WARNINGS) as (keyof typeof WARNINGS)[]).flatMap((reason) => {
    const [first, ...others] = missing.filter(({ states }) => states.includes(reason));
    if (!first) return [];
    const more = others.length > 0 ? ` and ${others.length} more` : '';
    return [`only_missing: ${WARNINGS[reason]}: ${describeDays(first.window)}${more}`];
  });
  return {
    windows: missing.map(({ window }) => window),
    already_delivered: windows.length - missing.length,
    warnings,
  };
}

/** The start stands for a window without days, which a query for purchases may have. */
function daysIn(window: Window): string[] {
  return window.start_date === window.end_date ? [window.start_date] : daysOf(window);
}

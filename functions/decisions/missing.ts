import { isDeepStrictEqual } from 'node:util';
import type { ObjectHead, ObjectStore } from '../aws/objects.ts';
import { readVersion } from '../workflow/day-metadata.ts';
import { type JsonObject, parseJson } from '../workflow/json.ts';
import { failureKey, manifestKey } from '../workflow/keys.ts';
import { dateIn } from '../workflow/request/dates.ts';
import type { ExportRequest, OnlyMissing } from '../workflow/request/request.ts';
import type { Window } from '../workflow/state-parts.ts';
import type { ExportPlan } from '../workflow/states.ts';
import { dayKey, tableOf } from '../workflow/table.ts';
import { platformRequest } from './platform-request.ts';
import { type RequestTarget, requestHash } from './request-hash.ts';

/** Windows that are checked at the same time, three calls each, or days, one call each. More would share the CPU of a small function. */
const BATCH = 10;

/** Reasons to export a delivered window again that need a warning, because a user would not expect it. */
const WARNINGS = {
  other: 'delivered before for another request or another platform, so they are exported again',
  early: 'delivered before their last day was over, so they are exported again',
} as const;

/** `missing`: a run failed, or wrote no manifest, or the manifest's object is no longer there. */
type Verdict = 'missing' | 'delivered' | keyof typeof WARNINGS;

/** Reads the objects of earlier exports. */
export interface DeliveredObjects extends Pick<ObjectStore, 'getText'> {
  head(key: string): Promise<Omit<ObjectHead, 'etag'> | undefined>;
}

interface Conditions extends RequestTarget, OnlyMissing {
  readonly store: DeliveredObjects;
}

/**
 * Finds what was not delivered. A window is delivered if it has a manifest of the same request, platform and revision, the
 * manifest's object is still there, and no failure was reported since. The export's name and `max_parallel` do not matter.
 *
 * @throws AccessRefused, ServiceUnavailable
 */
export async function findMissing(
  request: ExportRequest,
  windows: readonly Window[],
  conditions: Conditions,
): Promise<Required<Pick<ExportPlan, 'windows' | 'already_delivered' | 'warnings'>>> {
  const checked = await inBatches(windows, async (window) => ({
    window,
    verdict: await checkWindow(request, window, conditions),
  }));
  const windowsOf = (verdict: Verdict) =>
    checked.filter((each) => each.verdict === verdict).map(({ window }) => window);
  const delivered = windowsOf('delivered');
  return {
    windows: windows.filter((window) => !delivered.includes(window)),
    already_delivered: delivered.length,
    warnings: [...warn('other', windowsOf('other')), ...warn('early', windowsOf('early'))],
  };
}

async function checkWindow(
  request: ExportRequest,
  window: Window,
  { store, platform, revision, since, timeZone }: Conditions,
): Promise<Verdict> {
  const [text, failure] = await Promise.all([
    store.getText(manifestKey(request, window)),
    store.getText(failureKey(request, window)),
  ]);
  if (text === undefined || isWindowFailure(failure)) return 'missing';
  const manifest = parseObject(text);
  if (Date.parse(String(manifest.published_at)) < since.getTime()) return 'missing';
  const expected = {
    kind: request.kind,
    // As JSON, like the manifest's: without undefined.
    request: JSON.parse(JSON.stringify(platformRequest(request, window))),
    platform,
    revision: request.revision ?? revision,
  };
  const { kind, request: delivered, platform: from, revision: pinned } = manifest;
  if (!isDeepStrictEqual({ kind, request: delivered, platform: from, revision: pinned }, expected))
    return 'other';
  if (timeZone !== undefined && isEarly(manifest, window, timeZone)) return 'early';
  return (await isObjectThere(manifest, store)) ? 'delivered' : 'missing';
}

/** The data was made before the window's last day was over. A list is a snapshot, which is made during its day. */
function isEarly(
  { kind, report_created_at, copied_at }: JsonObject,
  { end_date }: Window,
  timeZone: string,
): boolean {
  const made = new Date(String(report_created_at ?? copied_at));
  return kind !== 'list' && !Number.isNaN(made.getTime()) && dateIn(timeZone, made) < end_date;
}

/**
 * A later run may have replaced the object and been killed before it wrote its manifest. A bucket without versions, such
 * as a local run's, is compared by checksum.
 */
async function isObjectThere(
  { key, checksum, version_id }: JsonObject,
  store: DeliveredObjects,
): Promise<boolean> {
  const object = await store.head(String(key));
  if (version_id !== undefined) return object?.version_id === version_id;
  return object?.crc32 !== undefined && object.crc32 === Object(checksum).value;
}

/** The only window shares its key with the export. The export may have failed after its window was delivered. */
function isWindowFailure(report: string | undefined): boolean {
  const { window, windows_failed } = parseObject(report);
  return window !== undefined || windows_failed !== undefined;
}

function parseObject(text = ''): JsonObject {
  return Object(parseJson(text));
}

function warn(verdict: keyof typeof WARNINGS, windows: readonly Window[]): string[] {
  const [first, ...others] = windows;
  if (!first) return [];
  const more = others.length > 0 ? ` and ${others.length} more` : '';
  return [`only_missing: ${WARNINGS[verdict]}: ${first.start_date} to ${first.end_date}${more}`];
}

/** Partitions of one call. */
const MAX_PARTITIONS = 1_000;

/** The partitions of a table that exist: a query in Athena sees the days of these only. */
export interface TablePartitions {
  /** @param values account and day of each, at most 1,000 */
  getPartitions(
    table: string,
    values: readonly (readonly string[])[],
  ): Promise<readonly { readonly values: readonly string[] }[]>;
}

interface DayConditions extends RequestTarget {
  readonly store: Pick<DeliveredObjects, 'head'>;
  /** Undefined if the stack has no tables. */
  readonly catalog: TablePartitions | undefined;
  readonly timeZone: string;
}

/** `absent`: a query does not see the day; it has no object, or no partition. `unfinished`: the report was created before the day was over. `other`: another request wrote the day. */
export type DayVerdict = 'present' | 'absent' | 'unfinished' | 'other';

/**
 * Looks for days in the export's table.
 *
 * @returns undefined if the export has no table with days
 * @throws AccessRefused, ServiceUnavailable
 */
export async function checkDays(
  request: ExportRequest,
  days: readonly string[],
  { store, catalog, timeZone, ...target }: DayConditions,
): Promise<DayVerdict[] | undefined> {
  const table = tableOf(request);
  if (request.kind !== 'report' || table === undefined || catalog === undefined) return undefined;
  const hash = requestHash(request, target);
  const registered = await readRegistered(catalog, table, request.account, days);
  return inBatches(days, async (day) => {
    if (!registered.has(day)) return 'absent';
    const object = await store.head(dayKey(table, request.account, day));
    const shown = object && readVersion(object.metadata);
    if (!shown) return 'absent';
    if (shown.request_hash !== hash) return 'other';
    return dateIn(timeZone, new Date(shown.created_at)) > day ? 'present' : 'unfinished';
  });
}

async function readRegistered(
  catalog: TablePartitions,
  table: string,
  account: string,
  days: readonly string[],
): Promise<Set<string | undefined>> {
  const registered = new Set<string | undefined>();
  for (let start = 0; start < days.length; start += MAX_PARTITIONS) {
    const values = days.slice(start, start + MAX_PARTITIONS).map((day) => [account, day]);
    for (const partition of await catalog.getPartitions(table, values)) registered.add(partition.values[1]);
  }
  return registered;
}

async function inBatches<T, R>(items: readonly T[], check: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let start = 0; start < items.length; start += BATCH)
    results.push(...(await Promise.all(items.slice(start, start + BATCH).map(check))));
  return results;
}

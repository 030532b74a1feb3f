import { isDeepStrictEqual } from 'node:util';
import type { ObjectStore } from '../aws/objects.ts';
import { readVersion } from '../workflow/day-metadata.ts';
import { AccessRefused, readMessage } from '../workflow/errors.ts';
import { type JsonObject, parseJson } from '../workflow/json.ts';
import { failureKey, manifestKey, objectKey } from '../workflow/keys.ts';
import { dateIn, daysOf, groupDays } from '../workflow/request/dates.ts';
import { type ExportRequest, MAX_WINDOWS } from '../workflow/request/request.ts';
import type { Window } from '../workflow/state-parts.ts';
import type { ExportPlan } from '../workflow/states.ts';
import { dayKey, tableOf } from '../workflow/table.ts';
import { platformRequest } from './platform-request.ts';
import { type RequestTarget, requestHash } from './request-hash.ts';

/**
 * Windows that are checked at the same time, three calls each, or days, one call each. A hundred would share the CPU of a
 * small function and exceed the 5 s that each call has.
 */
const BATCH = 10;

/** Partitions of one call. */
const MAX_PARTITIONS = 1_000;

/** Windows that a warning names; the rest are counted. */
const MAX_SHOWN = 10;

/** Reasons to export a delivered window again that need a warning, because a user would not expect it. */
const WARNINGS = {
  other: 'delivered before for another request or another platform, so they are exported again',
  early: 'delivered before their last day was over, so they are exported again',
} as const;

/**
 * `absent`: no run has left anything. `missing`: a run failed, or was killed before it wrote the manifest, or the manifest's object is
 * no longer there.
 */
type Verdict = 'absent' | 'missing' | 'delivered' | keyof typeof WARNINGS;

/** Reads the objects of earlier exports. */
export type DeliveredObjects = Pick<ObjectStore, 'getText' | 'head'>;

/** The partitions of a table that exist: a query in Athena sees the days of these only. */
export interface TablePartitions {
  /** @param values account and day of each, at most 1,000 */
  getPartitions(
    table: string,
    values: readonly (readonly string[])[],
  ): Promise<readonly { readonly values: readonly string[] }[]>;
}

interface Conditions extends RequestTarget {
  readonly store: DeliveredObjects;
  /** Undefined if the stack has no tables. */
  readonly catalog: TablePartitions | undefined;
  /** Windows that were delivered earlier count as missing. */
  readonly since: Date;
  /** If set, a window whose last day was not over in this time zone when its data was made counts as missing. */
  readonly timeZone?: string;
}

/**
 * Finds what was not delivered. A window is delivered if it has a manifest of the same request, platform and revision, the
 * manifest's object is still there, and no failure was reported since. The export's name and `max_parallel` do not matter.
 * Of a window that no run has tried, the days that queries of the export's table already see are left out: a longer range,
 * which is split in other places, asks for no day twice.
 *
 * @throws AccessRefused, ServiceUnavailable
 */
export async function findMissing(
  request: ExportRequest,
  windows: readonly Window[],
  conditions: Conditions,
): Promise<
  Required<Pick<ExportPlan, 'windows' | 'already_delivered' | 'already_delivered_windows' | 'warnings'>>
> {
  const refusals = new Set<string>();
  const catalog = conditions.catalog && tolerateRefusals(conditions.catalog, refusals);
  const checked = await inBatches(windows, async (window) => {
    const verdict = await checkWindow(request, window, conditions);
    return { window, verdict, missing: verdict === 'delivered' ? [] : [window] };
  });
  for (const each of checked) {
    if (each.verdict === 'absent')
      each.missing = await findMissingDays(request, each.window, { ...conditions, catalog });
  }
  const undelivered = checked.filter(({ missing }) => missing.length > 0);
  const windowsOf = (verdict: Verdict) =>
    undelivered.filter((each) => each.verdict === verdict).map(({ window }) => window);
  const ranges = undelivered.flatMap(({ missing }) => missing);
  return {
    // Single days all over a long range would be more windows than the export's state can hold.
    windows: ranges.length <= MAX_WINDOWS ? ranges : undelivered.map(({ window }) => window),
    already_delivered: checked.filter(({ missing }) => missing.length === 0).length,
    already_delivered_windows: checked
      .filter(({ verdict }) => verdict === 'delivered')
      .map(({ window }) => ({ window, key: objectKey(request, window) })),
    warnings: [...warn('other', windowsOf('other')), ...warn('early', windowsOf('early')), ...refusals],
  };
}

async function findMissingDays(
  request: ExportRequest,
  window: Window,
  { timeZone, ...conditions }: Conditions,
): Promise<Window[]> {
  // Without a time zone, only what was delivered since an instant counts.
  if (timeZone === undefined) return [window];
  const verdicts = await checkDays(request, daysOf(window), { ...conditions, timeZone });
  return verdicts ? groupDays(daysOf(window).filter((_, at) => verdicts[at] !== 'present')) : [window];
}

/** A refusal of Glue makes days count as missing. They are exported again, which does no harm. */
function tolerateRefusals(catalog: TablePartitions, refusals: Set<string>): TablePartitions {
  return {
    async getPartitions(table, values) {
      try {
        return await catalog.getPartitions(table, values);
      } catch (error) {
        if (!(error instanceof AccessRefused)) throw error;
        refusals.add(
          `only_missing: all days of table ${table} count as missing: ${readMessage(error.message).happened}`,
        );
        return [];
      }
    },
  };
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
  { store, catalog, timeZone, ...target }: Required<Omit<Conditions, 'since'>>,
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

export async function inBatches<T, R>(items: readonly T[], check: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let start = 0; start < items.length; start += BATCH)
    results.push(...(await Promise.all(items.slice(start, start + BATCH).map(check))));
  return results;
}

/** The request of an earlier execution, to export what was not delivered since it began. */
export function onlyMissingSince(begun: string, request: object): object {
  const { only_missing } = request as { only_missing?: unknown };
  return { ...request, only_missing: only_missing || begun };
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
  if (isWindowFailure(failure)) return 'missing';
  if (text === undefined) return (await store.head(objectKey(request, window))) ? 'missing' : 'absent';
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
  if (windows.length === 0) return [];
  const shown = windows.slice(0, MAX_SHOWN).map(({ start_date, end_date }) => `${start_date} to ${end_date}`);
  const more = windows.length > MAX_SHOWN ? ` and ${windows.length - MAX_SHOWN} more` : '';
  return [`only_missing: ${WARNINGS[verdict]}: ${shown.join(', ')}${more}`];
}

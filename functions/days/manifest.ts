import * as z from 'zod/mini';
import type { ObjectStore } from '../aws/objects.ts';
import { type RequestTarget, requestHash } from '../decisions/request-hash.ts';
import { purchaseQuery } from '../platform/purchases.ts';
import { reportBody } from '../platform/reports.ts';
import { ServiceUnavailable } from '../workflow/errors.ts';
import { type JsonObject, parseJson } from '../workflow/json.ts';
import { MANIFEST, manifestKey } from '../workflow/keys.ts';
import { isPossibleRange, isPossibleRequest, isPossibleTime } from '../workflow/possible.ts';
import { isTimeZone } from '../workflow/request/dates.ts';
import { ExportRequest } from '../workflow/request/request.ts';
import type { ReportVersion } from '../workflow/shown-days.ts';
import { Advertisers, Curated, StoredObject, Window } from '../workflow/state-parts.ts';
import type { SavedWindow } from '../workflow/states.ts';

/** The `_manifest.json` of a delivered window. */
export const Manifest = z.object({
  version: z.literal('1'),
  account: z.string(),
  export: z.string(),
  kind: z.enum(['report', 'purchases', 'list']),
  ...Window.shape,
  /** As the platform gets it. */
  request: z.record(z.string(), z.unknown()),
  /** The export's request. */
  export_request: ExportRequest,
  advertisers: z.optional(Advertisers),
  time_zone: z.optional(z.string()),
  /** See requestHash. */
  request_hash: z.string(),
  platform: z.string(),
  revision: z.string(),
  report_id: z.optional(z.string()),
  abandoned_report_ids: z.optional(z.array(z.string())),
  report_created_at: z.optional(z.string()),
  ...z.omit(StoredObject, { crc32: true }).shape,
  /** Absent if the format has no rows that we can count. */
  empty: z.optional(z.boolean()),
  ...Curated.shape,
  /** The value is Base64 of the big-endian CRC32. */
  checksum: z.object({
    algorithm: z.literal('CRC32'),
    type: z.literal('FULL_OBJECT'),
    value: z.string(),
  }),
  execution: z.string(),
  warnings: z.array(z.string()),
  bucket: z.string(),
  published_at: z.string(),
});
export type Manifest = z.infer<typeof Manifest>;

/**
 * Only {@link writeManifest} writes one.
 *
 * @param key of the manifest
 * @returns undefined if the text is no manifest, or cannot be true
 */
export function parseManifest(text: string | undefined, key: string, now: Date): Manifest | undefined {
  const { data: manifest } = Manifest.safeParse(parseJson(text));
  return manifest && canBeTrue(manifest, key, now) ? manifest : undefined;
}

/** True if it is about the window of its key, and its times have passed. */
function canBeTrue(manifest: Manifest, key: string, now: Date): boolean {
  const { account, export: name, kind, start_date, end_date, content, time_zone } = manifest;
  const { export_request: asked } = manifest;
  const window = { start_date, end_date, content };
  const times = [createdAt(manifest), manifest.copied_at, manifest.published_at];
  const isAsked =
    isPossibleRequest(asked) &&
    asked.account === account &&
    asked.name === name &&
    asked.kind === kind &&
    asked.start_date <= start_date &&
    asked.end_date >= end_date;
  return (
    manifestKey({ account, name }, window) === key &&
    manifest.key.startsWith(key.slice(0, -MANIFEST.length)) &&
    isPossibleRange(window, kind) &&
    isAsked &&
    (time_zone === undefined || isTimeZone(time_zone)) &&
    times.every((time) => isPossibleTime(time, now))
  );
}

/** When a window's report was created. A list or a query has no report: it is made when it is copied. */
export function createdAt({ report_created_at, copied_at }: Manifest): string {
  return report_created_at ?? copied_at;
}

/** The report that a manifest names. A list or a query has no report, so its execution names it. */
export function versionOf(manifest: Manifest): ReportVersion {
  const { report_id = manifest.execution, request_hash } = manifest;
  return { report_id, created_at: createdAt(manifest), request_hash };
}

interface Publishing extends RequestTarget {
  readonly store: Pick<ObjectStore, 'bucket' | 'getTagged' | 'putJson'>;
  readonly now: () => Date;
}

/**
 * Writes a window's manifest, unless another execution has written one that names a newer report. It replaces
 * one that is damaged.
 *
 * @returns the newer manifest, if nothing was written
 * @throws AccessRefused; ServiceUnavailable also if another execution writes at the same time
 */
export async function writeManifest(
  state: SavedWindow,
  table_problem: string | undefined,
  publishing: Publishing,
): Promise<Manifest | undefined> {
  const { store, now } = publishing;
  const key = manifestKey(state.request, state.window);
  const manifest = createManifest(state, table_problem, publishing);
  const old = await store.getTagged(key);
  const stored = parseManifest(old?.text, key, now());
  if (stored && Date.parse(createdAt(stored)) > Date.parse(createdAt(manifest))) return stored;
  if (await store.putJson(key, manifest, old ?? 'absent')) return undefined;
  throw new ServiceUnavailable(`Another execution wrote ${key} at the same time.`, { key });
}

/** JSON leaves out what is undefined. */
function createManifest(
  { request, window, advertisers, object, reports, ready_id, execution, warnings, curated }: SavedWindow,
  table_problem: string | undefined,
  { store, now, platform, revision }: Publishing,
): Manifest {
  const { crc32, ...stored } = object;
  const others = reports.map(({ id }) => id).filter((id) => id !== ready_id);
  return {
    version: '1',
    account: request.account,
    export: request.name,
    kind: request.kind,
    ...window,
    request: sentRequest(request, window),
    export_request: request,
    advertisers: advertisers ?? undefined,
    time_zone: request.kind === 'report' ? request.time_zone : undefined,
    request_hash: requestHash(request, { platform, revision }),
    platform,
    revision: request.revision ?? revision,
    report_id: ready_id,
    abandoned_report_ids: ready_id === undefined ? undefined : others,
    report_created_at: reports.find(({ id }) => id === ready_id)?.created_at,
    ...stored,
    empty: object.rows === undefined ? undefined : object.rows === 0,
    ...curated,
    checksum: { algorithm: 'CRC32', type: 'FULL_OBJECT', value: crc32 },
    execution,
    warnings,
    bucket: store.bucket,
    table_problem,
    published_at: now().toISOString(),
  };
}

/** The request of a window as the platform gets it. */
export function sentRequest(request: ExportRequest, window: Window): JsonObject {
  if (request.kind === 'report') return reportBody(request, window);
  if (request.kind === 'purchases') return purchaseQuery(request);
  const { resource, limit, filters, items } = request;
  return { resource, limit, filters, ...(items !== undefined && { items }) };
}

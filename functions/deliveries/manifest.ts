import * as z from 'zod/mini';
import type { ObjectStore } from '../aws/objects.ts';
import { type RequestTarget, requestHash } from '../decisions/request-hash.ts';
import { purchaseQuery } from '../platform/purchases.ts';
import { reportBody } from '../platform/reports.ts';
import { ServiceUnavailable } from '../workflow/errors.ts';
import { type JsonObject, parseJson } from '../workflow/json.ts';
import { manifestKey } from '../workflow/keys.ts';
import { ExportRequest } from '../workflow/request/request.ts';
import { Curated, StoredObject, Window } from '../workflow/state-parts.ts';
import type { SavedWindow } from '../workflow/states.ts';

/** The `_manifest.json` of a delivered window. */
export const Manifest = z.extend(z.extend(Window, Curated.shape), {
  version: z.literal('1'),
  account: z.string(),
  export: z.string(),
  kind: z.enum(['report', 'purchases', 'list']),
  /** As the platform got it. */
  request: z.record(z.string(), z.unknown()),
  /** As the export got it, with its dates. Absent in manifests of version 0.2.0 and older. */
  export_request: z.optional(ExportRequest),
  time_zone: z.optional(z.string()),
  /** Absent in manifests of version 0.1.0. */
  request_hash: z.optional(z.string()),
  platform: z.string(),
  revision: z.string(),
  report_id: z.optional(z.string()),
  abandoned_report_ids: z.optional(z.array(z.string())),
  report_created_at: z.optional(z.string()),
  bucket: z.string(),
  ...z.omit(StoredObject, { crc32: true }).shape,
  /** Absent if the format has no rows that we can count. */
  empty: z.optional(z.boolean()),
  checksum: z.object({ algorithm: z.string(), type: z.string(), value: z.string() }),
  published_at: z.string(),
  execution: z.string(),
  warnings: z.array(z.string()),
});
export type Manifest = z.infer<typeof Manifest>;

/** @returns undefined if the text is no manifest */
export function parseManifest(text: string | undefined): Manifest | undefined {
  return Manifest.safeParse(parseJson(text ?? '')).data;
}

/** When a window's report was created. A list or a query has no report: it is made when it is copied. */
export function createdAt({ report_created_at, copied_at }: Manifest): string {
  return report_created_at ?? copied_at;
}

/** The export's request. A manifest of an older version has only the parts that the platform got. */
export function requestOf(manifest: Manifest): ExportRequest | undefined {
  const { export_request, kind, account, request, time_zone, start_date, end_date } = manifest;
  if (export_request) return export_request;
  const common = { kind, account, name: manifest.export, start_date, end_date, time_zone, max_parallel: 1 };
  const { advertiser_ids, metrics, dimensions, granularity, format, ...others } = request;
  const { start_date: _, end_date: __, ...options } = others;
  const { advertiser_id, ...query } = options;
  const fields = {
    report: { advertiser_ids, metrics, dimensions, granularity, format, options },
    purchases: { advertiser_id, options: query },
    list: request,
  };
  return ExportRequest.safeParse({ ...common, ...fields[kind] }).data;
}

export function hashOf(manifest: Manifest): string {
  const { request_hash, platform, revision } = manifest;
  const request = request_hash === undefined ? requestOf(manifest) : undefined;
  return request ? requestHash(request, { platform, revision }) : (request_hash ?? '');
}

interface Publishing extends RequestTarget {
  readonly store: Pick<ObjectStore, 'bucket' | 'getTagged' | 'putJson'>;
  readonly now: () => Date;
}

/**
 * Writes a window's manifest, unless the one that is there names a newer report: another execution of the
 * window was faster.
 *
 * @returns the newer manifest, if nothing was written
 * @throws AccessRefused; ServiceUnavailable also if another execution writes at the same time
 */
export async function writeManifest(
  state: SavedWindow,
  table_problem: string | undefined,
  { store, now, ...target }: Publishing,
): Promise<Manifest | undefined> {
  const { request, window } = state;
  const key = manifestKey(request, window);
  const manifest = {
    ...describeWindow(state, target),
    bucket: store.bucket,
    table_problem,
    published_at: now().toISOString(),
  };
  const old = await store.getTagged(key);
  const other = parseManifest(old?.text);
  if (other && Date.parse(createdAt(other)) > Date.parse(createdAt(manifest))) return other;
  if (await store.putJson(key, manifest, old ?? 'absent')) return undefined;
  throw new ServiceUnavailable(`Another execution wrote ${key} at the same time.`, { key });
}

function describeWindow(
  state: SavedWindow,
  { platform, revision }: RequestTarget,
): Omit<Manifest, 'bucket' | 'published_at'> {
  const { request, window, object, reports, ready_id, execution, warnings, curated } = state;
  const { crc32, ...stored } = object;
  return {
    version: '1',
    account: request.account,
    export: request.name,
    kind: request.kind,
    ...window,
    request: sentRequest(request, window),
    export_request: request,
    time_zone: request.kind === 'report' ? request.time_zone : undefined,
    request_hash: requestHash(request, { platform, revision }),
    platform,
    revision: request.revision ?? revision,
    ...(ready_id !== undefined && {
      report_id: ready_id,
      abandoned_report_ids: reports.map(({ id }) => id).filter((id) => id !== ready_id),
      report_created_at: reports.find(({ id }) => id === ready_id)?.created_at,
    }),
    ...stored,
    ...(object.rows !== undefined && { empty: object.rows === 0 }),
    ...curated,
    checksum: { algorithm: 'CRC32', type: 'FULL_OBJECT', value: crc32 },
    execution,
    warnings,
  };
}

/** The request of a window as the platform gets it. */
export function sentRequest(request: ExportRequest, window: Window): JsonObject {
  if (request.kind === 'report') return reportBody(request, window);
  if (request.kind === 'purchases') return purchaseQuery(request);
  const { resource, limit, filters, items } = request;
  return { resource, limit, filters, ...(items !== undefined && { items }) };
}

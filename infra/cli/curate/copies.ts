import * as z from 'zod/mini';
import type { RequestTarget } from '../../../functions/decisions/request-hash.ts';
import { MAX_REPLACED_COPIES, MIN_WAIT } from '../../../functions/decisions/waits.ts';
import { parseJson } from '../../../functions/workflow/json.ts';
import { EXPORTS_PREFIX, ledgerKey, MANIFEST } from '../../../functions/workflow/keys.ts';
import { parseRequest } from '../../../functions/workflow/request/request.ts';
import type { SavedWindow } from '../../../functions/workflow/states.ts';
import type { ExportedObjects } from '../bucket.ts';

/** The parts of a manifest that tell which file was delivered, and of which request. */
const Manifest = z.object({
  account: z.string(),
  export: z.string(),
  kind: z.enum(['report', 'list']),
  start_date: z.string(),
  end_date: z.string(),
  /** The platform request. */
  request: z.record(z.string(), z.unknown()),
  time_zone: z.optional(z.string()),
  platform: z.string(),
  revision: z.string(),
  report_id: z.optional(z.string()),
  report_created_at: z.optional(z.string()),
  bucket: z.string(),
  key: z.string(),
  bytes: z.number(),
  checksum: z.object({ value: z.string() }),
  content_type: z.string(),
  content_encoding: z.optional(z.string()),
  /** The table that shows it, under the prefix `tables/`. */
  table: z.optional(z.object({ name: z.string() })),
  version_id: z.optional(z.string()),
  copied_at: z.string(),
  execution: z.string(),
});
type Manifest = z.infer<typeof Manifest>;

/** The parts of a window's ledger that a rebuilt table does not show. */
const Ledger = z.object({
  report_id: z.optional(z.string()),
  table: z.optional(z.unknown()),
  days: z.array(
    z.object({ day: z.string(), kept: z.optional(z.boolean()), written: z.optional(z.boolean()) }),
  ),
});

/** A window whose file was delivered, as it was when CurateReport got it. */
export interface Copy {
  /** The export's request for this window. */
  readonly input: unknown;
  readonly state: SavedWindow;
  readonly bucket: string;
  readonly target: RequestTarget;
  /** When the data was made, in ISO 8601. */
  readonly created_at: string;
  /** The delivery wrote all days of the table, and its ledger says what that changed. */
  readonly hasLedger: boolean;
  /** Days that kept a newer report when this one was delivered. */
  readonly keptDays: readonly string[];
}

export interface CopySelection {
  readonly name: string;
  /** Default: all. */
  readonly accounts?: readonly string[];
  /** Windows that overlap this range. Default: all */
  readonly from?: string;
  /** Exclusive. */
  readonly to?: string;
  /** The `table` of the export in the config. Default: the one that the delivery wrote. */
  readonly table: unknown;
}

/** Manifests that are read at the same time. */
const BATCH = 10;

/**
 * The files of an export that are current, the newest data first: then each day is written once, and keeps what it shows.
 *
 * @throws CommandFailed if AWS refuses a call
 * @throws InvalidInput if a manifest has a request that is no longer valid
 */
export async function readCopies(bucket: ExportedObjects, selection: CopySelection): Promise<Copy[]> {
  const keys = await findManifests(bucket, selection);
  const copies: Copy[] = [];
  for (let start = 0; start < keys.length; start += BATCH) {
    const batch = keys.slice(start, start + BATCH).map(async (key) => {
      const manifest = Manifest.safeParse(parseJson((await bucket.getText(key)) ?? '')).data;
      return manifest ? [await asCopy(bucket, manifest, selection.table)] : [];
    });
    copies.push(...(await Promise.all(batch)).flat());
  }
  return copies.sort((one, other) => Date.parse(other.created_at) - Date.parse(one.created_at));
}

async function findManifests(
  bucket: ExportedObjects,
  { name, accounts, from = '', to = '9999-12-31' }: CopySelection,
): Promise<string[]> {
  const prefixes = accounts?.map((account) => `${EXPORTS_PREFIX}account=${account}/export=${name}/`);
  const keys = await Promise.all((prefixes ?? [EXPORTS_PREFIX]).map((prefix) => bucket.list(prefix)));
  const pattern = new RegExp(`/export=${name}/start_date=([^/]+)/end_date=([^/]+)/${MANIFEST}$`);
  return keys.flat().filter((key) => {
    const [, start, end] = pattern.exec(key) ?? [];
    return start !== undefined && end !== undefined && start < to && end > from;
  });
}

async function asCopy(bucket: ExportedObjects, manifest: Manifest, table: unknown): Promise<Copy> {
  const input = asInput(manifest, table ?? manifest.table?.name);
  const state = asState(manifest, input);
  const text = await bucket.getText(ledgerKey(state.request, state.window));
  const { data } = Ledger.safeParse(parseJson(text ?? ''));
  // If CurateReport failed, the ledger is still that of the window's previous report.
  const ledger = data?.report_id === manifest.report_id ? data : undefined;
  return {
    input,
    state,
    bucket: manifest.bucket,
    target: { platform: manifest.platform, revision: manifest.revision },
    created_at: manifest.report_created_at ?? manifest.copied_at,
    hasLedger: ledger?.table !== undefined && ledger.days.every(({ written = true }) => written),
    keptDays: ledger?.days.flatMap(({ day, kept }) => (kept ? [day] : [])) ?? [],
  };
}

/** The window's state after SaveReport. CurateReport calls the platform no more, so the token does not matter. */
function asState(manifest: Manifest, input: unknown): SavedWindow {
  const { start_date, end_date, report_id, copied_at, version_id, content_encoding } = manifest;
  const created_at = manifest.report_created_at ?? copied_at;
  return {
    execution: manifest.execution,
    request: parseRequest(input, new Date(copied_at)).request,
    warnings: [],
    window: { start_date, end_date },
    status: 'saved',
    wait_seconds: MIN_WAIT,
    throttled: 0,
    reports: report_id ? [{ id: report_id, created_at, useless_answers: 0, given_up: false }] : [],
    ...(report_id !== undefined && { ready_id: report_id }),
    token: { version: '', scope: '', expires_at: copied_at, unproven: false },
    begun_at: copied_at,
    replaced_copies: MAX_REPLACED_COPIES - 1,
    object: {
      key: manifest.key,
      bytes: manifest.bytes,
      crc32: manifest.checksum.value,
      copied_at,
      content_type: manifest.content_type,
      ...(content_encoding !== undefined && { content_encoding }),
      ...(version_id !== undefined && { version_id }),
    },
  };
}

/** The export's request, from the platform request of one window. */
function asInput(
  { account, export: name, kind, revision, time_zone, ...manifest }: Manifest,
  table: unknown,
): unknown {
  const common = {
    name,
    account,
    kind,
    revision,
    ...(time_zone !== undefined && { time_zone }),
    ...(table !== undefined && { table }),
  };
  if (kind === 'list') return { ...common, ...manifest.request, snapshot_date: manifest.start_date };
  const { start_date, end_date, advertiser_ids, metrics, dimensions, granularity, format, ...options } =
    manifest.request;
  const fields = { start_date, end_date, advertiser_ids, metrics, granularity, format, options };
  return { ...common, ...fields, ...(dimensions !== undefined && { dimensions }) };
}

import { createHandler } from './aws/handler.ts';
import { createObjectStore, type ObjectStore } from './aws/objects.ts';
import { platformName, platformRequest } from './decisions/platform-request.ts';
import { isOutOfTime, MAX_WINDOW_HOURS } from './decisions/waits.ts';
import { OutOfTime } from './workflow/errors.ts';
import { failureKey, manifestKey } from './workflow/keys.ts';
import { type DeliveredWindow, SavedWindow } from './workflow/states.ts';
import type { Common } from './workflow/step.ts';

interface Dependencies extends Pick<Common, 'now'> {
  readonly store: ObjectStore;
  /** See {@link platformName}. */
  readonly platform: string;
  /** X-Service-Revision where the request names none. */
  readonly revision: string;
}

/**
 * Writes the window's manifest, the last thing that is written: who sees it can rely on the object that it names, and
 * finds no failure of a former run beside it.
 *
 * @throws OutOfTime where the object was copied too long ago; AccessRefused, ServiceUnavailable
 */
export async function publishWindow(
  state: SavedWindow,
  { store, now, ...made }: Dependencies,
): Promise<DeliveredWindow> {
  const { request, window, object, ready_id } = state;
  // It was stopped here and redriven: another run may have replaced the object meanwhile, and left a manifest of its own.
  if (isOutOfTime(object.copied_at, now())) throw tooLate(state);
  const manifest_key = manifestKey(request, window);
  // Where there was none, the versioned bucket keeps a delete marker, which its lifecycle removes.
  await store.remove(failureKey(request, window));
  await store.putJson(manifest_key, manifestOf(state, made, store.bucket, now()));
  return {
    outcome: 'delivered',
    window,
    key: object.key,
    manifest_key,
    ...(ready_id !== undefined && { report_id: ready_id }),
    bytes: object.bytes,
    ...(object.rows !== undefined && { rows: object.rows }),
  };
}

function tooLate({ object, reports }: SavedWindow): OutOfTime {
  const happened =
    `The object ${object.key} was copied at ${object.copied_at}, more than ${MAX_WINDOW_HOURS} h before its manifest: ` +
    'another run may have replaced it. Resume the export.';
  return new OutOfTime(happened, { report_ids: reports.map(({ id }) => id) });
}

function manifestOf(
  state: SavedWindow,
  { platform, revision }: Pick<Dependencies, 'platform' | 'revision'>,
  bucket: string,
  publishedAt: Date,
) {
  const { request, window, object, reports, ready_id } = state;
  const { copied_at, crc32, ...stored } = object;
  return {
    version: '1',
    account: request.account,
    export: request.name,
    kind: request.kind,
    ...window,
    request: platformRequest(request, window),
    platform,
    revision: request.revision ?? revision,
    ...(ready_id !== undefined && {
      report_id: ready_id,
      abandoned_report_ids: reports.map(({ id }) => id).filter((id) => id !== ready_id),
    }),
    bucket,
    ...stored,
    // No rows are an outcome too, and nobody should have to wonder.
    ...(object.rows !== undefined && { empty: object.rows === 0 }),
    checksum: { algorithm: 'CRC32', type: 'FULL_OBJECT', value: crc32 },
    report_created_at: reports.find(({ id }) => id === ready_id)?.created_at,
    copied_at,
    published_at: publishedAt.toISOString(),
    execution: state.execution,
    warnings: state.warnings,
  };
}

export const handler = createHandler(SavedWindow, publishWindow, (settings) => ({
  store: createObjectStore(settings),
  platform: platformName(settings.PLATFORM_BASE_URL),
  revision: settings.PLATFORM_REVISION,
}));

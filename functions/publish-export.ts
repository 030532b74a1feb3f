import { createHandler } from './aws/handler.ts';
import { createObjectStore, type ObjectStore } from './aws/objects.ts';
import { collectOutcomes } from './decisions/outcomes.ts';
import { ExportIncomplete } from './workflow/errors.ts';
import { failureKey } from './workflow/keys.ts';
import { type DeliveredWindow, type ExportResult, PublishExportInput } from './workflow/states.ts';

interface Dependencies {
  readonly store: Pick<ObjectStore, 'bucket' | 'remove'>;
}

/**
 * Sums up what the windows left: the export's result, which is what the event announces. The failure of a former run is
 * one no longer.
 *
 * @throws ExportIncomplete where a window failed, or has no result; what was delivered stays delivered
 * @throws AccessRefused, ServiceUnavailable
 */
export async function publishExport(
  { execution, request, windows: planned, results = [], warnings, already_delivered }: PublishExportInput,
  { store }: Dependencies,
): Promise<ExportResult> {
  const outcomes = collectOutcomes(planned, results);
  const delivered = outcomes.filter((one): one is DeliveredWindow => one.outcome === 'delivered');
  const failed = outcomes.length - delivered.length;
  if (failed > 0) {
    const happened = `${failed} of ${outcomes.length} windows were not delivered.`;
    throw new ExportIncomplete(happened, { failed, delivered: delivered.length });
  }
  // PublishWindow has done it where the one window is the whole range.
  if (!delivered.some(({ window }) => failureKey(request, window) === failureKey(request, request)))
    await store.remove(failureKey(request, request));
  const { account, name, kind, start_date, end_date } = request;
  const windows = delivered.map(({ outcome, ...window }) => window);
  return {
    version: '1',
    execution,
    account,
    name,
    kind,
    start_date,
    end_date,
    bucket: store.bucket,
    windows,
    ...(already_delivered !== undefined && { already_delivered }),
    bytes: windows.reduce((sum, { bytes }) => sum + bytes, 0),
    ...sumRows(delivered, already_delivered),
    warnings,
  };
}

/**
 * Rows of all that was exported, known only where every window's are; of nothing, nothing can be said. No rows do not mean
 * that there are none where other windows were delivered before.
 */
function sumRows(delivered: readonly DeliveredWindow[], before = 0): { rows?: number; empty?: boolean } {
  const rows = delivered.reduce((sum, { rows }) => sum + (rows ?? Number.NaN), 0);
  if (Number.isNaN(rows) || delivered.length === 0) return {};
  return rows === 0 && before > 0 ? { rows } : { rows, empty: rows === 0 };
}

export const handler = createHandler(PublishExportInput, publishExport, (settings) => ({
  store: createObjectStore(settings),
}));

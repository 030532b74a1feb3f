import { ExportIncomplete } from './workflow/errors.ts';
import {
  type DeliveredWindow,
  type ExportResult,
  type FailedWindow,
  PublishExportInput,
} from './workflow/states.ts';
import { step } from './workflow/step.ts';

/**
 * Sums up what the windows left: the export's result, which is what the event announces.
 *
 * @throws ExportIncomplete where a window failed; what was delivered stays delivered
 */
export async function publishExport(
  { execution, request, results, warnings }: PublishExportInput,
  { bucket }: { readonly bucket: string },
): Promise<ExportResult> {
  const failed = results.filter((result): result is FailedWindow => result.outcome === 'failed');
  if (failed.length > 0) {
    const happened = `${failed.length} of ${results.length} windows were not delivered.`;
    throw new ExportIncomplete(happened, {
      failed: failed.length,
      delivered: results.length - failed.length,
    });
  }
  const delivered = results.filter((result): result is DeliveredWindow => result.outcome === 'delivered');
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
    bucket,
    windows,
    bytes: windows.reduce((sum, { bytes }) => sum + bytes, 0),
    ...sumRows(delivered),
    warnings,
  };
}

/** Rows of the whole export, known only where every window's are. */
function sumRows(delivered: readonly DeliveredWindow[]): { rows?: number } {
  const rows = delivered.reduce((sum, { rows }) => sum + (rows ?? Number.NaN), 0);
  return Number.isNaN(rows) ? {} : { rows };
}

export const handler = step(PublishExportInput, publishExport, ({ BUCKET }) => ({ bucket: BUCKET }));

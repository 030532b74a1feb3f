import { mkdtemp, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { checksumOf } from '../../../functions/aws/objects.ts';
import type { StoredDelivery } from '../../../functions/days/records.ts';
import { stageWindow } from '../../../functions/tables/curate-file.ts';
import { type Sums, TableProblem } from '../../../functions/tables/report.ts';
import { findRows } from '../../../functions/tables/report-file.ts';
import { fieldsOfRow } from '../../../functions/tables/stage-report.ts';
import { DownloadRefused } from '../../../functions/workflow/errors.ts';
import type { ReportRequest } from '../../../functions/workflow/request/request.ts';
import { type CheckedTable, toRoundedSums } from './checked-table.ts';

/** What the file of a report says. */
export interface FileFacts {
  /** By date. None if the file was removed or replaced, or if its rows do not fit the table any more. */
  readonly days: ReadonlyMap<string, Sums>;
  /** Of the whole file: rows, sums, and the checksum if it is not the one of the manifest. */
  readonly total: Sums;
}

const UNREAD: FileFacts = { days: new Map(), total: {} };

/** Reads the file of a report as CurateReport does. */
export async function readReportFile(
  work: CheckedTable,
  { manifest, ...window }: StoredDelivery,
): Promise<FileFacts> {
  const { bucket, folder } = work;
  const copy = join(await mkdtemp(join(folder, 'file-')), 'copy');
  const stored = await bucket.toFile(manifest.key, copy, manifest.version_id);
  if (stored === undefined) return UNREAD;
  const checksum = await checksumOf(stored);
  if (checksum !== manifest.checksum.value) return { ...UNREAD, total: { checksum } };
  // The reader may write other files beside it.
  if (stored !== copy) await symlink(stored, copy);
  const request = manifest.export_request as ReportRequest;
  const { signal } = new AbortController();
  try {
    const { format, rows } = request;
    const fields = fieldsOfRow(work.schema.columns, work.schema);
    const file = await findRows(copy, { ...manifest, format, rows, fields, signal });
    const facts = await stageWindow(request, window, { ...work, file }, join(folder, 'rows.parquet'));
    return {
      days: new Map(facts.days.map((day) => [day.day, toRoundedSums(day)])),
      total: toRoundedSums(facts),
    };
  } catch (error) {
    // Without a cause, it is no limit: the file fitted the config of its time.
    const isOther = (error instanceof TableProblem || error instanceof DownloadRefused) && !error.cause;
    if (isOther) return UNREAD;
    throw error;
  }
}

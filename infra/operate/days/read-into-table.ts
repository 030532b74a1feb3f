import { mkdirSync } from 'node:fs';
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { curateReport } from '../../../functions/curate-report.ts';
import type { Rebuilding } from '../../../functions/days/rebuild.ts';
import type { StoredDelivery } from '../../../functions/days/records.ts';
import type { ExportRequest } from '../../../functions/workflow/request/request.ts';
import type { SavedWindow } from '../../../functions/workflow/states.ts';
import { SCRATCH } from '../../lab/local/lambda/lambda.ts';
import { MEMORY_MB } from '../../stack/config/memory.ts';
import type { Folder } from '../place/bucket.ts';
import { loadConfig } from '../place/load-config.ts';

/** A day, because a person may stop the command at any time. */
const READING_MS = 24 * 60 * 60 * 1000;

/**
 * Prepares this process to run CurateReport. It gets the memory of the function or more, and a temporary
 * folder of its own, because CurateReport removes what is in it. The folder is removed when the result is
 * disposed of.
 */
export async function openCurateReport({ local, out }: Folder): Promise<AsyncDisposable> {
  const parent = local ? join(out, SCRATCH) : tmpdir();
  mkdirSync(parent, { recursive: true });
  const scratch = await mkdtempDisposable(join(parent, 'rebuild-'));
  process.env.TMPDIR = scratch.path;
  // DuckDB may take more than in the function, so that this command can read a file that was too much for it.
  const quarter = Math.floor(totalmem() / 1024 ** 2 / 4);
  const { CurateReport = MEMORY_MB.CurateReport } = loadConfig().memory_mb;
  process.env.AWS_LAMBDA_FUNCTION_MEMORY_SIZE = String(Math.max(CurateReport, quarter));
  return scratch;
}

/** Runs CurateReport in this process, as if the file of a delivery came again. */
export function readIntoTable(store: Rebuilding['store']): Rebuilding['readIntoTable'] {
  return (delivery, request, { schema, acceptedAt, lost }) => {
    const { platform, revision } = delivery.manifest;
    return curateReport(savedWindowOf(delivery, request), {
      store,
      catalog: { getTable: async () => schema },
      target: { platform, revision },
      maxBytes: Number.POSITIVE_INFINITY,
      millisecondsLeft: () => READING_MS,
      acceptedAt,
      lost,
    });
  };
}

/** A window's state after SaveReport. CurateReport does not call the platform, so the token is empty. */
function savedWindowOf({ manifest, created_at }: StoredDelivery, request: ExportRequest): SavedWindow {
  const { start_date, end_date, report_id, copied_at, checksum, execution } = manifest;
  const { key, bytes, version_id, content_type, content_encoding } = manifest;
  // The hash leaves the format out, so this file may have another one.
  const { format } = manifest.request;
  return {
    execution,
    request: { ...request, start_date, end_date, ...(typeof format === 'string' && { format }) },
    warnings: [],
    window: { start_date, end_date },
    status: 'saved',
    wait_seconds: 0,
    throttled: 0,
    reports: report_id ? [{ id: report_id, created_at, useless_answers: 0, given_up: false }] : [],
    ready_id: report_id,
    token: { version: '', scope: '', expires_at: copied_at, unproven: false },
    begun_at: copied_at,
    object: { key, bytes, crc32: checksum.value, content_type, content_encoding, version_id, copied_at },
  };
}

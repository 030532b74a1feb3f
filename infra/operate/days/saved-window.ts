import type { StoredDelivery } from '../../../functions/days/records.ts';
import type { ExportRequest } from '../../../functions/workflow/request/request.ts';
import type { SavedWindow } from '../../../functions/workflow/states.ts';

/** A window's state after SaveReport. CurateReport does not call the platform, so the token is empty. */
export function savedWindowOf({ manifest, created_at }: StoredDelivery, request: ExportRequest): SavedWindow {
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

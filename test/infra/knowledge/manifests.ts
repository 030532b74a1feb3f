import { type RequestTarget, requestHash } from '../../../functions/decisions/request-hash.ts';
import { objectKey } from '../../../functions/workflow/keys.ts';
import type { ExportRequest } from '../../../functions/workflow/request/request.ts';

const TARGET = { platform: 'api.example', revision: '2026-09-01' };

/** The manifest of an export's only window, whose report was created in the morning after its last day. */
export function manifestOf(request: ExportRequest, execution = 'e', target: RequestTarget = TARGET) {
  const { account, name, kind, start_date, end_date } = request;
  const created = `${end_date}T06:00:00Z`;
  return {
    version: '1',
    account,
    export: name,
    kind,
    start_date,
    end_date,
    request: {},
    export_request: request,
    request_hash: requestHash(request, target),
    ...target,
    report_id: 'r',
    report_created_at: created,
    bucket: 'b',
    key: objectKey(request, request),
    bytes: 1,
    content_type: 'application/json',
    checksum: { algorithm: 'CRC32', type: 'FULL_OBJECT', value: 'AA' },
    copied_at: created,
    published_at: created,
    execution,
    warnings: [],
  };
}

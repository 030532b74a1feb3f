import type { ListRequest as PagesRequest } from '../platform/lists.ts';
import type { PurchaseQuery } from '../platform/purchases.ts';
import type { ReportRequest as ReportBody } from '../platform/reports.ts';
import type {
  ExportRequest,
  ListRequest,
  PurchasesRequest,
  ReportRequest,
} from '../workflow/request/request.ts';
import type { Window } from '../workflow/state-parts.ts';

/** The platform request for a window. The manifest keeps it, so that a later export can compare it. */
export function platformRequest(
  request: ExportRequest,
  window: Window,
): ReportBody | PurchaseQuery | PagesRequest {
  if (request.kind === 'report') return reportBody(request, window);
  return request.kind === 'purchases' ? purchaseQuery(request) : listQuery(request);
}

/** The platform's host and path, for the manifest. Leaves out the port: each local sandbox has another. */
export function platformName(baseUrl: string): string {
  const { hostname, pathname } = new URL(baseUrl);
  return `${hostname}${pathname}`.replace(/\/+$/, '');
}

/** The body of POST /reports (contract 2.2). */
export function reportBody(request: ReportRequest, window: Window): ReportBody {
  return {
    ...request.options,
    ...window,
    advertiser_ids: request.advertiser_ids,
    metrics: request.metrics,
    ...(request.dimensions && { dimensions: request.dimensions }),
    granularity: request.granularity,
    format: request.format,
  };
}

/** The body of POST /reports/purchases (contract 2.4). */
export function purchaseQuery({
  options,
  advertiser_id,
  start_date,
  end_date,
}: PurchasesRequest): PurchaseQuery {
  return { ...options, advertiser_id, start_date, end_date };
}

/** The parameters of a list request (contract 8). */
export function listQuery({ resource, limit, filters, items }: ListRequest): PagesRequest {
  return { resource, limit, filters, ...(items !== undefined && { items }) };
}

import type { ListRequest as PagesRequest } from '../platform/lists.ts';
import type { PurchaseQuery } from '../platform/purchases.ts';
import type { ReportRequest as ReportBody } from '../platform/reports.ts';
import type {
  ExportRequest,
  ListRequest,
  PurchasesRequest,
  ReportRequest,
} from '../workflow/request/request.ts';
import type { Window } from '../workflow/states.ts';

/** What is asked of the platform for a window, in its own words: sent, kept in the manifest, and compared with one. */
export function askedOf(request: ExportRequest, window: Window): ReportBody | PurchaseQuery | PagesRequest {
  if (request.kind === 'report') return bodyOf(request, window);
  return request.kind === 'purchases' ? queryOf(request) : listOf(request);
}

/** Of whom it is asked: host and path. A sandbox on this machine has another port each time. */
export function platformOf(baseUrl: string): string {
  const { hostname, pathname } = new URL(baseUrl);
  return `${hostname}${pathname}`.replace(/\/+$/, '');
}

/** The body of POST /reports (contract 2.2). */
export function bodyOf(request: ReportRequest, window: Window): ReportBody {
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
export function queryOf({ options, advertiser_id, start_date, end_date }: PurchasesRequest): PurchaseQuery {
  return { ...options, advertiser_id, start_date, end_date };
}

/** What is asked of a list's endpoint (contract 8). */
export function listOf({ resource, limit, filters, items }: ListRequest): PagesRequest {
  return { resource, limit, filters, ...(items !== undefined && { items }) };
}

import { InvalidInput } from '../../functions/workflow/errors.ts';
import {
  type ListRequest,
  type ParsedRequest,
  type PurchasesRequest,
  parseRequest,
  type ReportRequest,
} from '../../functions/workflow/request/request.ts';

const NOW = new Date('2026-11-21T06:00:00Z');

export const ADVERTISER = '7d2f8a54-5f0e-4a3c-9f5e-0f4b8a1c2d3e';

/** A report's input with only the fields that it needs. */
export const REPORT = {
  name: 'daily',
  account: 'acme',
  start_date: '2026-10-01',
  end_date: '2026-11-01',
  advertiser_ids: [ADVERTISER],
  metrics: ['spend'],
};

/** The inputs of the other kinds. */
export const PURCHASES = {
  name: 'purchases',
  account: 'acme',
  kind: 'purchases',
  advertiser_id: ADVERTISER,
  start_date: '2026-01-01',
  end_date: '2026-10-01',
};
export const LIST = { name: 'campaigns', account: 'acme', kind: 'list', resource: 'campaigns' };

/** {@link REPORT} with the defaults filled in. */
export const NORMALIZED_REPORT: ReportRequest = {
  ...REPORT,
  kind: 'report',
  granularity: 'DAY',
  format: 'JSON',
  options: {},
  max_parallel: 8,
};

/** {@link PURCHASES} with the defaults filled in. */
export const NORMALIZED_PURCHASES: PurchasesRequest = {
  ...PURCHASES,
  kind: 'purchases',
  options: {},
  max_parallel: 1,
};

/** {@link LIST} with the defaults filled in. */
export const NORMALIZED_LIST: ListRequest = {
  ...LIST,
  kind: 'list',
  limit: 5000,
  filters: {},
  max_parallel: 1,
  start_date: '2026-11-21',
  end_date: '2026-11-22',
};

/** Parses an input, after JSON, on 21 November 2026. @returns the request, and its warnings */
export function parsed(input: unknown): Omit<ParsedRequest, 'manner'> {
  const { manner, ...what } = parseRequest(JSON.parse(JSON.stringify(input)), NOW);
  return what;
}

/** The faults of an input; empty if it is valid. */
export function faultsOf(input: unknown): readonly string[] {
  try {
    parsed(input);
  } catch (error) {
    if (error instanceof InvalidInput) return error.facts.faults as string[];
    throw error;
  }
  return [];
}

import type * as Ours from '../../../functions/contract.ts';

/**
 * Another contract, in place of functions/contract.ts: the shape of Amazon Ads' reporting API, version 3, as
 * far as its public documents show it. It proves that one file is enough. It is not tried against that API,
 * and not supported.
 */

export const LIMITS: Ours.Limits = {
  /** The end of a range is inclusive. */
  days: 31,
  /** A report is for one profile. */
  advertisers: 1,
  pollSeconds: 10,
  /** Reports may take three hours. */
  stuckMinutes: 180,
  /** Each poll names a new URL, as long as the report is kept. */
  urlHours: 30 * 24,
  tokenSeconds: 3600,
};

export const ADVERTISER_ID: Ours.AdvertiserId = { form: /\d{10,20}/, name: 'profile id' };

export const RENAMED_DIMENSIONS = {};

/** The host of tokens, by the host of base_url. The last one is the test's. */
const SIGN_IN: Readonly<Record<string, string>> = {
  'advertising-api.amazon.com': 'api.amazon.com',
  'advertising-api-eu.amazon.com': 'api.amazon.co.uk',
  'advertising-api-fe.amazon.com': 'api.amazon.co.jp',
  '127.0.0.1': 'localhost',
};

export function tokenEndpoint(baseUrl: string): Ours.Endpoint {
  const url = new URL(baseUrl);
  url.hostname = SIGN_IN[url.hostname] ?? url.hostname;
  return { base: url.origin, path: '/auth/o2/token' };
}

export const CLIENT_BY: typeof Ours.CLIENT_BY = 'form';

export const TOKEN_FORMS: Ours.TokenForms = {
  clientCredentials: (scope) => ({ grant_type: 'client_credentials', ...(scope && { scope }) }),
  refresh: (refresh_token) => ({ grant_type: 'refresh_token', refresh_token }),
  code: (code, redirect_uri) => ({ grant_type: 'authorization_code', code, redirect_uri }),
};

export function consentPage({ baseUrl: _, ...asked }: Ours.Consent): Ours.Page {
  return { base: 'https://www.amazon.com', path: '/ap/oa', query: { response_type: 'code', ...asked } };
}

export const SCOPES: Ours.Scopes = {
  reports: 'advertising::campaign_management',
  advertisers: undefined,
  list: () => undefined,
};

export const API_KEY = undefined;

export function tokenHeaders({ token, clientId }: Ours.IssuedToken): Ours.Headers {
  return { Authorization: `Bearer ${token}`, 'Amazon-Advertising-API-ClientId': clientId };
}

/** The version is in the media type of the body. */
export const REVISION_HEADER = undefined;

export function callHeaders({ advertiserIds: [profile] }: Ours.Caller): Ours.Headers {
  return profile === undefined ? {} : { 'Amazon-Advertising-API-Scope': profile };
}

const CREATE_TYPE = 'application/vnd.createasyncreportrequest.v3+json';

/** `options` has adProduct, reportTypeId, groupBy and filters. */
export function reportRequest(report: Ours.Report): Ours.Request {
  const { start_date, last_date, metrics, dimensions = [], options } = report;
  const columns = ['date', ...dimensions, ...metrics];
  return {
    method: 'POST',
    path: '/reporting/reports',
    headers: { 'Content-Type': CREATE_TYPE },
    body: {
      startDate: start_date,
      endDate: last_date,
      configuration: { ...options, columns, timeUnit: 'DAILY', format: 'GZIP_JSON' },
    },
  };
}

/** 425 refuses a report because there is the same one already, and names it. */
export const CREATE_STATUSES: readonly number[] = [200, 425];

export function readCreated({ status, body }: Ours.Answer): unknown {
  return status === 425 ? /duplicate of *: *(\S+)/.exec(String(body.detail))?.[1] : body.reportId;
}

export function pollRequest(id: string): Ours.Request {
  return { method: 'GET', path: `/reporting/reports/${encodeURIComponent(id)}` };
}

export function readReport({ body }: Ours.Polled): Ours.ReportFacts {
  return { id: body.reportId, status: body.status, url: body.url, reason: body.failureReason };
}

export const STATUSES: Readonly<Record<string, Ours.Meaning>> = {
  PENDING: 'generating',
  PROCESSING: 'generating',
  COMPLETED: 'ready',
  FAILED: 'failed',
};

export const PURCHASES = undefined;
export const LISTS = undefined;

export function readError({ body }: Ours.Answer): Ours.ErrorFacts {
  return { type: body.code, message: body.details ?? body.detail };
}

export const REQUEST_ID_HEADER = 'x-amzn-RequestId';

export const REFUSED_FIELDS: Ours.RefusedFields = { advertisers: 'profileId', others: [] };

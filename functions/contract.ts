/**
 * The contract with the platform: its limits, requests and answers, and every word of them. "Contract 4.4" is
 * a row of CONTRACT.md, which says what the product does with it. For another API of this shape, write
 * another file in place of this one: see CONTRACT.md.
 *
 * This file imports nothing. It has values, functions from values to requests, and functions from answers to
 * facts. The code that sends, checks, retries, waits, stores and copies takes its words from here. `account`,
 * `advertiser_ids`, `metrics`, `dimensions`, `start_date`, `end_date`, `granularity`, `format` and `revision`
 * of a request, a state or a manifest are words of the product, and stay the same for every platform.
 */

// Limits

export const LIMITS: Limits = {
  /** Days of one report (contract 8). */
  days: 45,
  /** Advertisers of one report. The contract names no limit (2.2). */
  advertisers: Number.POSITIVE_INFINITY,
  /** The least time between two polls of a report (contract 4.4). */
  pollSeconds: 10,
  /** A report that is not ready after this time is created again (contract 3). */
  stuckMinutes: 30,
  /** The life of a download's URL (contract 2.3). */
  urlHours: 24,
  /** The life of a token whose answer names none (contract 2.1). */
  tokenSeconds: 3600,
};

/** The form of an advertiser's id (contract 2.2), and its name in messages. */
export const ADVERTISER_ID: AdvertiserId = {
  form: /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/i,
  name: 'UUID',
};

/** Dimensions that have another name now (contract 9.5). */
export const RENAMED_DIMENSIONS: Readonly<Record<string, string>> = {
  conv_integration_id: 'event_source_id',
  conv_integration_os: 'event_source_platform',
};

// Tokens

/** The address of token requests (contract 4.1). */
export function tokenEndpoint(baseUrl: string): Endpoint {
  return { base: baseUrl, path: '/oauth2/token' };
}

/** The client's id and secret are sent as HTTP Basic (contract 4.1), or else in the form. */
export const CLIENT_BY: 'basic' | 'form' = 'basic';

/**
 * The form of each grant (contract 4.1). The contract does not show a refresh, so its form is RFC 6749's. The
 * answer (contract 2.1) has OAuth's fields for every platform, so they are not here.
 */
export const TOKEN_FORMS: TokenForms = {
  clientCredentials: (scope) => ({ grant_type: 'client_credentials', ...(scope && { scope }) }),
  refresh: (refresh_token) => ({ grant_type: 'refresh_token', refresh_token }),
  code: (code, redirect_uri) => ({ grant_type: 'authorization_code', code, redirect_uri }),
};

/** The page on which a user consents (contract 4.2). */
export function consentPage({ baseUrl, ...parameters }: Consent): Page {
  return { base: baseUrl, path: '/oauth2/auth', query: { response_type: 'code', ...parameters } };
}

/** The scopes that exports need (contract 5.3). Undefined: a token without a named scope has all of them. */
export const SCOPES: Scopes = {
  /** Reports and purchases. */
  reports: 'reporting:read',
  /** In addition, to list all advertisers. */
  advertisers: 'advertisers:read',
  list: (resource) => (RESOURCES.includes(resource) ? `${resource}:read` : undefined),
};

const RESOURCES = ['account', 'advertisers', 'audiences', 'campaigns', 'creatives', 'impression_tracking'];

/** The header of an API key, and the day from which on the platform refuses it (contract 5.7, 9.6). */
export const API_KEY: ApiKey | undefined = { header: 'X-API-Key', until: '2027-01-01' };

// Headers

/** The headers that a token gives to a call (contract 5.1). */
export function tokenHeaders({ token }: IssuedToken): Headers {
  return { Authorization: `Bearer ${token}` };
}

/**
 * The header of the revision (contract 9.1), which a message about a 400 names too (9.2). Undefined: the
 * platform has no revisions.
 */
export const REVISION_HEADER: string | undefined = 'X-Service-Revision';

/** The headers of every call but a token's (contract 9.1, 9.3). */
export function callHeaders({ revision }: Caller): Headers {
  return REVISION_HEADER === undefined ? {} : { [REVISION_HEADER]: revision };
}

// Reports

/** Creates a report (contract 2.2, 4.3). The end of its range is exclusive. */
export function reportRequest(report: Report): Request {
  const { options, start_date, end_date, advertiser_ids, metrics, dimensions, granularity, format } = report;
  return {
    method: 'POST',
    path: '/reports',
    body: {
      ...options,
      start_date,
      end_date,
      advertiser_ids,
      metrics,
      ...(dimensions && { dimensions }),
      granularity,
      format,
    },
  };
}

/** The HTTP statuses of an answer that names the new report (contract 4.3). */
export const CREATE_STATUSES: readonly number[] = [201];

/** The id of the report that was created (contract 2.3). */
export function readCreated({ body }: Answer): unknown {
  return body.id;
}

/** Polls a report (contract 4.4). Another platform may want the caller's ad account too. */
export function pollRequest(id: string, _caller: Caller): Request {
  return { method: 'GET', path: `/reports/${encodeURIComponent(id)}` };
}

/** The facts in the answer of a poll (contract 2.3). */
export function readReport({ body }: Polled): ReportFacts {
  return { id: body.id, status: body.status, url: body.download_url };
}

/**
 * The meaning of each status (contract 3). Any other one is waited for until the report counts as stuck. The
 * rule in contract-words.grit, which refuses these words elsewhere, lists them too.
 */
export const STATUSES: Readonly<Record<string, Meaning>> = {
  CREATED: 'generating',
  PROCESSING: 'generating',
  READY: 'ready',
};

// Purchases and lists

/** The query of purchases (contract 2.4, 4.5). Undefined: there is none. */
export const PURCHASES: Purchases | undefined = {
  request: ({ options, advertiser_id, start_date, end_date }) => ({
    method: 'POST',
    path: '/reports/purchases',
    body: { ...options, advertiser_id, start_date, end_date },
  }),
};

/** Lists by offset (contract 4.6, 8). Undefined: there are none, and no report of all advertisers. */
export const LISTS: Lists | undefined = {
  request: ({ resource, filters, limit, offset }) => ({
    method: 'GET',
    path: `/${encodeURIComponent(resource)}`,
    query: { ...filters, limit: String(limit), offset: String(offset) },
  }),
  /** Parameters that no filter may have. */
  parameters: ['limit', 'offset'],
  /** Items of the largest page. */
  maxLimit: 5_000,
  /** The path of the items. The wrapper is not shown: they are looked for. */
  items: undefined,
  /** The field by which a filter makes a list consistent. */
  created: 'created_at',
  /** The list of all advertisers, and the field of an item that has the id. */
  advertisers: { resource: 'advertisers', id: 'id' },
};

// Errors

/** The facts in the answer of a refusal or a failure (contract 7.1). */
export function readError({ body: { error } }: Answer): ErrorFacts {
  return {
    type: error?.type,
    message: error?.message,
    request_id: error?.request_id,
    detail: error?.detail,
    validation: error?.detail?.validation,
  };
}

/** The header of the request id, for answers whose body has none. The contract does not show it. */
export const REQUEST_ID_HEADER: string = 'X-Request-Id';

/**
 * The fields of a report's request that a refusal may name: the advertisers, and others (contract 2.2, 7.1).
 */
export const REFUSED_FIELDS: RefusedFields = {
  advertisers: 'advertiser_ids',
  // Without `format`, which has another meaning in a sentence too.
  others: ['metrics', 'dimensions', 'granularity', 'start_date', 'end_date'],
};

// Types, which are the same for every platform

export type Meaning = 'generating' | 'ready' | 'failed';
export type Headers = Readonly<Record<string, string>>;

/**
 * The JSON of an answer. Nothing of it is checked: a field may have any value, or none. To compare a field or
 * to search in it, make a text of it: `String(body.code) === '4'`.
 */
export interface Fields {
  readonly [name: string]: Fields | undefined;
}

export interface Answer {
  readonly status: number;
  readonly body: Fields;
}

export interface Polled {
  /** The id of the report that was polled, for answers that do not have it. */
  readonly id: string;
  readonly body: Fields;
}

export interface ReportFacts {
  /** A text, or a whole number. It has to be the id that was polled. */
  readonly id: unknown;
  /** A text. */
  readonly status: unknown;
  /** The pre-signed URL of a report that is ready, as a text. */
  readonly url?: unknown;
  /** The reason of a failure: a text, or any JSON about it. */
  readonly reason?: unknown;
}

export interface ErrorFacts {
  readonly type: unknown;
  readonly message: unknown;
  readonly request_id?: unknown;
  readonly detail?: unknown;
  /** A sentence for each fault of the request, or any JSON about it. */
  readonly validation?: unknown;
}

export interface Request {
  readonly method: 'GET' | 'POST';
  /** Begins with a slash, and goes on where base_url ends. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  /** In addition to, or in place of, the headers of every call. */
  readonly headers?: Headers;
  /** Sent as JSON. */
  readonly body?: Readonly<Record<string, unknown>>;
}

export interface Endpoint {
  /** base_url, or another address. */
  readonly base: string;
  readonly path: string;
}

/** A page for the user's browser. */
export interface Page extends Endpoint {
  readonly query: Readonly<Record<string, string>>;
}

export interface Limits {
  readonly days: number;
  readonly advertisers: number;
  readonly pollSeconds: number;
  readonly stuckMinutes: number;
  readonly urlHours: number;
  readonly tokenSeconds: number;
}

export interface AdvertiserId {
  /** Without anchors, because it also finds ids in a sentence. */
  readonly form: RegExp;
  readonly name: string;
}

type Form = Readonly<Record<string, string>>;

export interface TokenForms {
  readonly clientCredentials: (scope: string | undefined) => Form;
  readonly refresh: (refreshToken: string) => Form;
  readonly code: (code: string, redirectUri: string) => Form;
}

export interface Consent {
  readonly baseUrl: string;
  readonly client_id: string;
  readonly redirect_uri: string;
  readonly scope: string;
  readonly state: string;
}

export interface Scopes {
  readonly reports: string | undefined;
  readonly advertisers: string | undefined;
  readonly list: (resource: string) => string | undefined;
}

export interface ApiKey {
  readonly header: string;
  readonly until: string;
}

export interface IssuedToken {
  readonly token: string;
  readonly clientId: string;
}

export interface Caller {
  readonly revision: string;
  /** The advertisers that the export names. */
  readonly advertiserIds: readonly string[];
}

export interface Report {
  readonly start_date: string;
  /** Exclusive. */
  readonly end_date: string;
  /** The day before `end_date`, for a range whose end is inclusive. */
  readonly last_date: string;
  /** `all` only in a manifest, beside the key of the list. */
  readonly advertiser_ids: readonly string[] | 'all';
  readonly metrics: readonly string[];
  readonly dimensions?: readonly string[] | undefined;
  readonly granularity: string;
  readonly format: string;
  /** Fields that the request adds for this platform. */
  readonly options: Readonly<Record<string, unknown>>;
}

export interface PurchaseQuery {
  readonly advertiser_id: string;
  readonly start_date: string;
  readonly end_date: string;
  readonly options: Readonly<Record<string, unknown>>;
}

export interface Purchases {
  readonly request: (query: PurchaseQuery) => Request;
}

export interface ListQuery {
  readonly resource: string;
  readonly filters: Readonly<Record<string, string>>;
  readonly limit: number;
  readonly offset: number;
}

export interface Lists {
  readonly request: (query: ListQuery) => Request;
  readonly parameters: readonly string[];
  readonly maxLimit: number;
  readonly items: string | undefined;
  readonly created: string;
  readonly advertisers: { readonly resource: string; readonly id: string };
}

export interface RefusedFields {
  readonly advertisers: string;
  readonly others: readonly string[];
}

import { randomBytes } from 'node:crypto';
import type { Fault } from './faults/faults.ts';
import type { ReportRequest } from './reporting/report-request.ts';

/** Contract 5.3. */
export const SCOPES = [
  'account:read',
  'account:write',
  'advertisers:read',
  'advertisers:write',
  'audiences:read',
  'audiences:write',
  'campaigns:read',
  'campaigns:write',
  'creatives:read',
  'creatives:write',
  'impression_tracking:read',
  'impression_tracking:write',
  'reporting:read',
] as const;

/** Contract 5.5: fixed when the credential is installed or authorized; "current" is judged at that moment. */
export type AdvertiserScope =
  | { kind: 'specific'; ids: readonly string[] }
  | { kind: 'all_current' }
  | { kind: 'all_current_and_future' };

export type Credential = {
  clientId: string;
  clientSecret: string;
  account: string;
  scopes: readonly string[];
  advertisers: AdvertiserScope;
  /** Redirect URIs registered for the code grant, matched exactly. Any http URI on loopback is accepted as well. */
  redirectUris: readonly string[];
  /** Consent by arrangement: the consent screen is skipped (contract 4.2). */
  consentGranted: boolean;
  /** The value of X-API-Key that belongs to this credential's account (contract 5.7). */
  apiKey: string;
};

/** A number, or one worked out for each report from its request and its ordinal (1 for the first created). */
export type PerReport = number | ((request: ReportRequest, ordinal: number) => number);

export type ReportSettings = {
  /** Rows of the file. Default: a few for each day, advertiser and combination of dimensions. */
  rows?: PerReport;
  /** Exact size of the file instead of `rows`: as many rows as fit, then blank lines. */
  bytes?: PerReport;
  /** Seconds from creation to PROCESSING. Default: about 5, different for each report. */
  secondsToProcessing?: PerReport;
  /** Seconds from creation to READY. Default: about 25, different for each report. */
  secondsToReady?: PerReport;
  /** A GET sooner than this after the last one of the same report is answered 429 (contract 4.4). Default 10. */
  secondsBetweenGets?: number;
  /** Validity of a download_url (contract 2.3). Default 24 hours. */
  urlSeconds?: number;
};

export type ListSettings = {
  /** Items at the start; of advertisers there are as many as the account has. Default 57. */
  count?: number;
  /** Items created after each page is answered, at the sandbox's time: data that moves between pages. */
  growPerPage?: number;
  /** Which item comes first. Default newest, where growth repeats items on the next page. */
  order?: 'newest' | 'oldest';
};

export type SandboxOptions = {
  port?: number;
  storagePort?: number;
  /** Epoch ms. Every time in the sandbox comes from it. */
  now?: () => number;
  /** A prefix of every path of the platform, such as '/v1'. */
  basePath?: string;
  credentials?: readonly Partial<Credential>[];
  /** Advertisers of every account. */
  advertiserIds?: readonly string[];
  revisions?: readonly string[];
  report?: ReportSettings;
  tokenSeconds?: number;
  codeSeconds?: number;
  /** A refresh answers with a new refresh token and the old one dies. */
  rotateRefreshTokens?: boolean;
  /** The property that holds a page's items, or null for a bare array (contract 4.6 does not show it). */
  listWrapper?: string | null;
  /** The query parameter that bounds created_at from above, inclusive (contract 8 does not name it). */
  createdAtParameter?: string;
  lists?: Readonly<Record<string, ListSettings>>;
  /** The body of a purchases answer (contract 4.5 does not show it). */
  purchases?: (request: Readonly<Record<string, unknown>>) => unknown;
  /** Error envelopes carry only their required fields (contract 7.1). */
  bareEnvelope?: boolean;
  /** As text (see parseFault) or as objects. */
  faults?: readonly (string | Fault)[];
};

/** The same for every start, so that an example request works without looking anything up. */
export const EXAMPLE_ADVERTISERS: readonly string[] = [
  '5f0c1b9e-3a74-4d1b-9c52-7e8d2f6a1b01',
  '8a2d4c6f-1b3e-4f5a-8d7c-9e0f1a2b3c02',
  'c3e5a7b9-2d4f-4a6c-9b8d-0e1f2a3b4c03',
];

export const EXAMPLE_REVISION = '2026-09-01';

/** Fills in what a credential leaves open. Prefixes make a leaked value easy to find. */
export function credential(options: Partial<Credential> = {}): Credential {
  return {
    clientId: `sbx_client_${randomBytes(6).toString('hex')}`,
    clientSecret: `sbx_cs_${randomBytes(24).toString('base64url')}`,
    account: 'sandbox',
    scopes: SCOPES,
    advertisers: { kind: 'all_current' },
    redirectUris: [],
    consentGranted: false,
    apiKey: `sbx_ak_${randomBytes(24).toString('base64url')}`,
    ...options,
  };
}

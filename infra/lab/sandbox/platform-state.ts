import type { Call } from './exchange.ts';
import type { ReportRequest } from './reporting/report-request.ts';
import type { Credential, SandboxOptions } from './sandbox-options.ts';

export type Advertiser = { id: string; name: string; created_at: string };

/** The permissions of a token. */
export type Grant = { credential: Credential; scopes: readonly string[] };

/** Times in epoch ms. */
export type Report = {
  id: string;
  account: string;
  request: ReportRequest;
  createdAt: number;
  readyAt: number;
};

/**
 * Everything besides the request that an answer of the platform depends on. Two hosts have it: the server of
 * this machine keeps it in memory (state.ts), and the Lambda function in signed tokens and a bucket
 * (deployed/).
 */
export interface PlatformState {
  readonly options: Pick<SandboxOptions, 'addedAdvertisers' | 'refusedAdvertisers' | 'tokenSeconds'>;
  /** Epoch ms. */
  readonly now: () => number;
  /** Epoch ms. The items of all lists were created before. */
  readonly startedAt: number;
  readonly credentials: readonly Credential[];
  /** Every account has them. */
  readonly advertisers: readonly Advertiser[];
  readonly accessTokens: AccessTokens;
  readonly reports: Reports;
  /** Absent for a host whose memory is large. */
  readonly limits?: HostLimits;
  /** Absent if the host forgets which codes were used. It then has no consent page. */
  readonly consents?: Consents;
}

/** What fits into the memory of a host. A request for more is refused. */
export interface HostLimits {
  /** Of the file of a report. */
  readonly reportBytes: number;
}

export interface AccessTokens {
  /** @param expiresAt in epoch ms @returns a new token */
  issue(grant: Grant, expiresAt: number): string;
  /** @returns undefined if the token is unknown or has expired */
  read(token: string): Grant | undefined;
}

export interface Reports {
  create(report: Pick<Report, 'account' | 'request'>): Promise<Report>;
  find(id: string): Promise<Report | undefined>;
  /**
   * The time of the GET of the same report before this one; undefined if there was none, or it is forgotten.
   */
  previousPoll(call: Call): number | undefined;
  /** Makes another pre-signed URL of the report's file each time. */
  createDownloadUrl(report: Report): Promise<string>;
}

export interface Consents {
  readonly codes: Map<string, Grant & { redirectUri: string; expiresAt: number }>;
  readonly refreshTokens: Map<string, Grant>;
  readonly rotatesRefreshTokens: () => boolean;
}

/** Creates the advertisers a day apart, the last one a day before the start. */
export function createAdvertisers(ids: readonly string[], startedAt: number): Advertiser[] {
  return ids.map((id, index) => ({
    id,
    name: `Advertiser ${index + 1}`,
    created_at: new Date(startedAt - (ids.length - index) * 86_400_000).toISOString(),
  }));
}

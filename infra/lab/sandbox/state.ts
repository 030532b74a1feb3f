import type { Call } from './exchange.ts';
import { createFaultList } from './faults.ts';
import type { ReportFile } from './reporting/report-file.ts';
import type { ReportRequest } from './reporting/report-request.ts';
import { type Credential, createCredential, EXAMPLE_ADVERTISERS, type SandboxOptions } from './settings.ts';

export type Advertiser = { id: string; name: string; created_at: string };

/** The permissions of a token. */
export type Grant = { credential: Credential; scopes: readonly string[] };

export type Report = {
  id: string;
  /** 1 for the first report that this sandbox created. */
  ordinal: number;
  account: string;
  request: ReportRequest;
  createdAt: number;
  readyAt: number;
  file: ReportFile;
  /** Counts the replacements of the file by the fault `changed`. */
  version: number;
};

/** Everything that the sandbox keeps from one request to the next. */
export type SandboxState = ReturnType<typeof createState>;

export function createState(options: SandboxOptions) {
  const now = options.now ?? Date.now;
  const startedAt = now();
  const credentials: readonly Credential[] = (options.credentials ?? [{}]).map(createCredential);
  return {
    options,
    now,
    startedAt,
    credentials,
    /** Every account has them. */
    advertisers: createAdvertisers(options.advertiserIds ?? EXAMPLE_ADVERTISERS, startedAt),
    accessTokens: new Map<string, Grant & { expiresAt: number }>(),
    refreshTokens: new Map<string, Grant>(),
    codes: new Map<string, Grant & { redirectUri: string; expiresAt: number }>(),
    reports: new Map<string, Report>(),
    /** Every request to either server, in order of arrival. */
    journal: [] as Call[],
    faults: createFaultList(options.faults ?? []),
    storageUrl: '',
    /** When each download_url expires, by its path and query. */
    downloadUrls: new Map<string, number>(),
  };
}

/** Creates the advertisers a day apart, the last one a day before the start. */
export function createAdvertisers(ids: readonly string[], startedAt: number): Advertiser[] {
  return ids.map((id, index) => ({
    id,
    name: `Advertiser ${index + 1}`,
    created_at: new Date(startedAt - (ids.length - index) * 86_400_000).toISOString(),
  }));
}

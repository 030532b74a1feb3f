import type { Fault } from './faults.ts';

export type Credential = {
  clientId: string;
  clientSecret: string;
  account: string;
  scopes: readonly string[];
  /** The ids of the advertisers that it covers (contract 5.5). */
  advertisers: 'all' | readonly string[];
  /** The X-API-Key of this credential's account (contract 5.7). */
  apiKey: string;
};

/** By default, a report's days do not depend on its creation time, and no day is empty. */
export type ReportSettings = {
  /**
   * The metrics of a day grow until this many days after its end, because conversions come late. They grow
   * every `everyHours` (default: 24).
   */
  restated?: { days: number; everyHours?: number };
  /** The rows of a day and advertiser, if fewer than usual. @param createdAt of the report, in epoch ms */
  rowsOn?: (day: string, advertiser: string, createdAt: number) => number;
  /** Rows in the file, spread over its dates that have some. Default: a few for each date and advertiser. */
  rows?: number;
  /**
   * Seconds from creation to READY, of each report or of the Nth one. Default: 25. It is PROCESSING after a
   * fifth of them.
   */
  secondsToReady?: number | ((ordinal: number) => number);
  /** Validity of a download_url (contract 2.3). Default: 24 hours. */
  urlSeconds?: number;
};

export type SandboxOptions = {
  /** Port of the platform. Default: any free port. */
  port?: number;
  /** The storage host in a download_url, behind a proxy. Default: its own address. */
  storageUrl?: string;
  /** Epoch ms. Default: the real time. */
  now?: () => number;
  credentials?: readonly Partial<Credential>[];
  /** The advertisers of every account. */
  advertiserIds?: readonly string[];
  /** Advertisers that every account has got since the start. */
  addedAdvertisers?: readonly string[];
  /** Advertisers that are listed, and refused in a report. */
  refusedAdvertisers?: readonly string[];
  report?: ReportSettings;
  tokenSeconds?: number;
  /** A refresh returns a new refresh token and invalidates the old one. */
  rotateRefreshTokens?: boolean;
  /** Objects, or lines of text that `parseFault` reads. */
  faults?: readonly (string | Fault)[];
};

/** The same for every sandbox, so that the example request works without changes. */
export const EXAMPLE_ADVERTISERS: readonly string[] = [
  '5f0c1b9e-3a74-4d1b-9c52-7e8d2f6a1b01',
  '8a2d4c6f-1b3e-4f5a-8d7c-9e0f1a2b3c02',
  'c3e5a7b9-2d4f-4a6c-9b8d-0e1f2a3b4c03',
];

export const EXAMPLE_REVISION = '2026-09-01';

import { randomBytes } from 'node:crypto';
import type { Call } from './exchange.ts';
import { type FaultControl, faultControl } from './faults/faults.ts';
import type { Authorizations } from './oauth/tokens.ts';
import type { Report } from './reporting/reports.ts';
import {
  type Credential,
  credential,
  EXAMPLE_ADVERTISERS,
  EXAMPLE_REVISION,
  type SandboxOptions,
} from './settings.ts';

export type Advertiser = { id: string; name: string; created_at: string };

/** What the sandbox remembers from one request to the next. */
export type World = {
  options: SandboxOptions;
  now: () => number;
  revisions: readonly string[];
  credentials: readonly Credential[];
  /** By account name. */
  advertisers: Map<string, Advertiser[]>;
  authorizations: Authorizations;
  reports: Map<string, Report>;
  /** When each report was last asked for, whatever was answered. */
  lastGet: Map<string, number>;
  /** Items that each list has gained since the start: the time each was created at. */
  growth: Map<string, number[]>;
  journal: Call[];
  faults: FaultControl;
  signingKey: string;
  storageUrl: string;
};

export function createWorld(options: SandboxOptions): World {
  const now = options.now ?? Date.now;
  const credentials = (options.credentials ?? [{}]).map(credential);
  return {
    options,
    now,
    revisions: options.revisions ?? [EXAMPLE_REVISION],
    credentials,
    advertisers: advertisersOf(credentials, options.advertiserIds ?? EXAMPLE_ADVERTISERS, now()),
    authorizations: {
      access: new Map(),
      refresh: new Map(),
      codes: new Map(),
      pending: new Map(),
      consents: new Map(),
      installedAt: now(),
    },
    reports: new Map(),
    lastGet: new Map(),
    growth: new Map(),
    journal: [],
    faults: faultControl(options.faults ?? []),
    signingKey: randomBytes(32).toString('hex'),
    storageUrl: '',
  };
}

function advertisersOf(
  credentials: readonly Credential[],
  ids: readonly string[],
  now: number,
): Map<string, Advertiser[]> {
  const created = (index: number) => new Date(now - (ids.length - index) * 86_400_000).toISOString();
  return new Map(
    credentials.map(({ account }) => [
      account,
      ids.map((id, index) => ({ id, name: `Advertiser ${index + 1}`, created_at: created(index) })),
    ]),
  );
}

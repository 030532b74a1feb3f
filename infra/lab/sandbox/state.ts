import { createCredential } from './credentials.ts';
import type { Call } from './exchange.ts';
import { createFaultList } from './faults.ts';
import { createTokenMemory } from './oauth/token-memory.ts';
import { type Consents, createAdvertisers, type PlatformState } from './platform-state.ts';
import { createReportMemory } from './reporting/report-memory.ts';
import { type Credential, EXAMPLE_ADVERTISERS, type SandboxOptions } from './sandbox-options.ts';

/** Everything that the server of this machine keeps from one request to the next. */
export type SandboxState = ReturnType<typeof createState>;

export function createState(options: SandboxOptions) {
  const now = options.now ?? Date.now;
  const startedAt = now();
  const credentials: readonly Credential[] = (options.credentials ?? [{}]).map(createCredential);
  /** Every request to either server, in order of arrival. */
  const journal: Call[] = [];
  const consents: Consents = {
    codes: new Map(),
    refreshTokens: new Map(),
    rotatesRefreshTokens: () => options.rotateRefreshTokens === true,
  };
  return {
    options,
    now,
    startedAt,
    credentials,
    advertisers: createAdvertisers(options.advertiserIds ?? EXAMPLE_ADVERTISERS, startedAt),
    accessTokens: createTokenMemory(now),
    reports: createReportMemory(options, now, journal),
    consents,
    journal,
    faults: createFaultList(options.faults ?? []),
  } satisfies PlatformState & Record<string, unknown>;
}

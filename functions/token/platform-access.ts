import { createSecrets } from '../aws/secrets.ts';
import type { Connection, Platform } from '../platform/connection.ts';
import { safeAgent } from '../platform/safe-agent.ts';
import type { PlatformSettings } from '../workflow/settings.ts';
import { createTokenCache } from './cached-tokens.ts';
import type { PlatformAccess } from './call-platform.ts';

/** Milliseconds. TCP and TLS within one region take well under 1 s; a SYN lost twice is sent again after 1 + 2 = 3 s. */
const CONNECT_TIMEOUT = 4_000;

/**
 * The connection to the platform of the settings. Each call opens a new connection (`pipelining: 0`): calls are 10 s or
 * more apart, and an idle connection may be dead after the function was frozen; nobody could tell whether a POST arrived.
 */
export function createConnection({
  PLATFORM_BASE_URL,
  ALLOW_LOOPBACK,
}: Pick<PlatformSettings, 'PLATFORM_BASE_URL' | 'ALLOW_LOOPBACK'>): Connection {
  const hosts = { allowLoopback: ALLOW_LOOPBACK === 'true' };
  return {
    baseUrl: PLATFORM_BASE_URL,
    dispatcher: safeAgent(hosts, { connectTimeout: CONNECT_TIMEOUT, pipelining: 0 }),
  };
}

export function createPlatformAccess(settings: PlatformSettings): Omit<PlatformAccess, 'log' | 'now'> {
  const endpoint = createConnection(settings);
  const { readToken } = createTokenCache(createSecrets(), settings.SECRET_PREFIX);
  return {
    readToken,
    platform: (revision): Platform => ({ ...endpoint, revision: revision ?? settings.PLATFORM_REVISION }),
  };
}

import { createSecrets } from '../aws/secrets.ts';
import type { Connection, Platform } from '../platform/connection.ts';
import { safeAgent } from '../platform/safe-hosts.ts';
import type { Settings } from '../workflow/settings.ts';
import type { PlatformAccess } from './call-platform.ts';

// TCP and TLS within one region take well under 1 s; a SYN lost twice is sent again after 1 + 2 = 3 s. undici's timer
// adds up to 0.8 s, and turns.ts has 5 s for both. Milliseconds.
const CONNECT_TIMEOUT = 4_000;

/**
 * The platform as the environment names it. A connection per call (`pipelining: 0`): calls are 10 s or more apart, so
 * that a kept one would rarely be used, and after a function was frozen it may be dead: then nobody could tell whether
 * a POST arrived.
 */
export function createConnection({ PLATFORM_BASE_URL, ALLOW_LOOPBACK }: Settings): Connection {
  const hosts = { allowLoopback: ALLOW_LOOPBACK === 'true' };
  return {
    baseUrl: PLATFORM_BASE_URL,
    dispatcher: safeAgent(hosts, { connectTimeout: CONNECT_TIMEOUT, pipelining: 0 }),
  };
}

/** What a step needs to call the API: the platform, and the account's token by its version. */
export function createPlatformAccess(settings: Settings): Omit<PlatformAccess, 'log' | 'now'> {
  const endpoint = createConnection(settings);
  const { readToken } = createSecrets(settings.SECRET_PREFIX);
  return {
    readToken,
    platform: (revision): Platform => ({ ...endpoint, revision: revision ?? settings.PLATFORM_REVISION }),
  };
}

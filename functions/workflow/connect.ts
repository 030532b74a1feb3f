import { openSecrets } from '../aws/secrets.ts';
import { openDispatcher, type Platform } from '../platform/connection.ts';
import type { TokenEndpoint } from '../platform/token.ts';
import type { Settings } from './settings.ts';
import type { PlatformAccess } from './watch.ts';

/** The platform as the environment names it. */
export function openTokenEndpoint({ PLATFORM_BASE_URL }: Settings): TokenEndpoint {
  return { baseUrl: PLATFORM_BASE_URL, dispatcher: openDispatcher() };
}

/** What a step needs to call the API: the platform, and the account's token by its version. */
export function openPlatform(settings: Settings): Omit<PlatformAccess, 'log' | 'now'> {
  const endpoint = openTokenEndpoint(settings);
  const { readToken } = openSecrets(settings.SECRET_PREFIX);
  return {
    readToken,
    platform: (revision): Platform => ({ ...endpoint, revision: revision ?? settings.PLATFORM_REVISION }),
  };
}

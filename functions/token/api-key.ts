import * as z from 'zod/mini';
import type { Authorization } from '../platform/connection.ts';
import { count } from '../workflow/count.ts';
import { CredentialUnusable, type Facts } from '../workflow/errors.ts';
import { REPORTING } from './scope.ts';

// The legacy API key (contract 5.7). GetToken caches its header as if it were a token's, and no other step
// sees it.

/** The platform answers 401 to X-API-Key from this day on, in UTC (contract 9.6). */
const SUNSET = '2027-01-01';
const API_KEY_SUNSET = new Date(SUNSET);

const DAY_MS = 24 * 60 * 60 * 1000;
const INSTEAD = 'Store {"client_id","client_secret"} in its credential secret instead.';

export const ApiKeyCredential = z.object({
  api_key: z
    .string('is missing or not a string')
    .check(z.regex(/^[\x21-\x7e]+$/, 'is empty, or contains a space, a line break or a non-ASCII character')),
});
export type ApiKeyCredential = z.infer<typeof ApiKeyCredential>;

interface KeyUse {
  readonly account: string;
  readonly scope: string | undefined;
  /** The header's value that the platform refused, if it refused one. */
  readonly refused?: string | undefined;
  readonly facts?: Facts;
}

/**
 * The header that authorizes calls with this key.
 *
 * @throws CredentialUnusable after the sunset, for a request that lists, and if the platform refused this key
 */
export function useApiKey(
  { api_key }: ApiKeyCredential,
  { account, scope, refused, facts }: KeyUse,
  now: Date,
): Authorization & { expires_at: string } {
  const refuse = (why: string) => {
    const happened = `Account ${account} uses an API key, which ${why}. ${INSTEAD}`;
    throw new CredentialUnusable(happened, { account, ...facts });
  };
  if (now >= API_KEY_SUNSET) refuse(`the platform disabled on ${SUNSET}`);
  if (scope !== REPORTING)
    refuse('works only for reports and purchases, neither for lists nor for all advertisers');
  if (refused === api_key) refuse('the platform does not accept');
  return { header: 'x-api-key', value: api_key, expires_at: API_KEY_SUNSET.toISOString() };
}

/** For logs and results, before the sunset. */
export function apiKeyWarning(account: string, now: Date): string {
  const days = Math.ceil((API_KEY_SUNSET.getTime() - now.getTime()) / DAY_MS);
  const left = `${count(days, 'day')} ${days === 1 ? 'is' : 'are'} left`;
  return `account ${account} uses an API key, which the platform disables on ${SUNSET}: ${left}. ${INSTEAD}`;
}

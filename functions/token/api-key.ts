import * as z from 'zod/mini';
import { API_KEY, SCOPES } from '../contract.ts';
import type { Authorization } from '../platform/connection.ts';
import { count } from '../workflow/count.ts';
import { CredentialUnusable, type Facts } from '../workflow/errors.ts';
import { DAY_MS } from '../workflow/request/dates.ts';

// An API key in place of a login. GetToken caches its header as if it were a token's, and no other step sees
// it.

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
  /** The key that the platform refused. */
  readonly refused?: string | undefined;
  readonly facts?: Facts;
}

/**
 * The header that authorizes calls with this key.
 *
 * @throws CredentialUnusable if the platform takes no keys (any more), for a request that lists, and if the
 *   platform refused this key
 */
export function useApiKey(
  { api_key }: ApiKeyCredential,
  { account, scope, refused, facts }: KeyUse,
  now: Date,
): Authorization & { expires_at: string } {
  const refuse = (why: string): never => {
    const happened = `Account ${account} uses an API key, which ${why}. ${INSTEAD}`;
    throw new CredentialUnusable(happened, { account, ...facts });
  };
  if (!API_KEY) return refuse('the platform does not have');
  const { header, until } = API_KEY;
  if (now >= new Date(until)) refuse(`the platform disabled on ${until}`);
  if (scope !== SCOPES.reports)
    refuse('works only for reports and purchases, neither for lists nor for all advertisers');
  if (refused === api_key) refuse('the platform does not accept');
  return { headers: { [header]: api_key }, secret: api_key, expires_at: new Date(until).toISOString() };
}

/** For logs and results, while the platform takes keys. */
export function apiKeyWarning(account: string, now: Date): string {
  if (!API_KEY) throw new TypeError('The contract has no API keys');
  const { until } = API_KEY;
  const days = Math.ceil((Date.parse(until) - now.getTime()) / DAY_MS);
  const left = `${count(days, 'day')} ${days === 1 ? 'is' : 'are'} left`;
  return `account ${account} uses an API key, which the platform disables on ${until}: ${left}. ${INSTEAD}`;
}

import * as z from 'zod/mini';
import { NO_HOST, noSuchHost } from '../decisions/platform-failure.ts';
import { CredentialUnusable, readCause } from '../workflow/errors.ts';
import type { TokenRef } from '../workflow/state-parts.ts';
import type { TokenRequest } from '../workflow/states.ts';
import type { Common } from '../workflow/step.ts';
import { cachedValue, isRefused, type TokenCache } from './cached-tokens.ts';

// The legacy API key (contract 5.7). It is used like a token: GetToken caches it, and the other steps read it there.

/** The platform answers 401 to X-API-Key from this moment (contract 9.6). */
const API_KEY_SUNSET = new Date('2027-01-01T00:00:00Z');

/** The key's name among the account's cached tokens, in place of a scope. */
const CACHED_AS = 'X-API-Key';

const DAY_MS = 24 * 60 * 60 * 1000;
const INSTEAD = 'Store {"client_id","client_secret"} in its credential secret instead.';

/** A credential secret that holds a key. */
export const ApiKeyCredential = z.object({
  api_key: z
    .string('is missing or not a string')
    .check(z.regex(/^[\x21-\x7e]+$/, 'is empty, or contains a space, a line break or a non-ASCII character')),
});
export type ApiKeyCredential = z.infer<typeof ApiKeyCredential>;

/** Whole days, today included; 0 or less after the sunset. */
export function apiKeyDaysLeft(now: Date): number {
  return Math.ceil((API_KEY_SUNSET.getTime() - now.getTime()) / DAY_MS);
}

/** For logs, results and the synth. */
export function apiKeyWarning(account: string, now: Date): string {
  const uses = `account ${account} uses an API key, which the platform`;
  const days = apiKeyDaysLeft(now);
  if (days <= 0) return `${uses} disabled on ${sunset()}. ${INSTEAD}`;
  const left = days === 1 ? '1 day is left' : `${days} days are left`;
  return `${uses} disables on ${sunset()}: ${left}. ${INSTEAD}`;
}

interface Dependencies extends Pick<Common, 'log' | 'now' | 'measure'> {
  readonly tokens: TokenCache;
  /** The platform's URL. */
  readonly baseUrl: string;
  /** Fails with a `code` if the host has no address. */
  readonly resolveHost: (hostname: string) => Promise<unknown>;
}

/**
 * Caches the key and returns a reference to it, with a warning.
 *
 * @param refused the reference that the platform refused
 * @throws CredentialUnusable after the sunset, for a list, and if the platform refused this key
 * @throws RequestRefused at the start of an export if the platform's host does not exist
 */
export async function useApiKey(
  { request, warnings, caught, token, reports }: TokenRequest,
  { api_key }: ApiKeyCredential,
  refused: TokenRef | undefined,
  { tokens, log, now, measure, baseUrl, resolveHost }: Dependencies,
): Promise<{ warnings: string[]; token: TokenRef }> {
  const { account, kind } = request;
  requireUsable(account, kind, now());
  if (reports === undefined) await requireHost(baseUrl, account, resolveHost);
  if ((await cachedValue(tokens, account, refused)) === api_key) {
    const { request_id } = readCause(caught?.Cause ?? '').facts;
    const happened = `The platform does not accept the API key of account ${account}. ${INSTEAD}`;
    throw new CredentialUnusable(happened, { account, request_id });
  }
  const warning = apiKeyWarning(account, now());
  log.warn(warning, { account });
  if (!token) measure({ values: { ApiKeyDaysLeft: apiKeyDaysLeft(now()) }, dimensions: {} });
  const expires_at = API_KEY_SUNSET.toISOString();
  const newest = await tokens.read(account);
  const cached = newest?.tokens[CACHED_AS];
  const isCached = cached && !isRefused(cached) && cached.value === api_key;
  const entry = { scheme: 'ApiKey' as const, value: api_key, expires_at, issued_for: 'an API key' };
  const version = isCached
    ? newest.version
    : await tokens.write(account, { ...newest?.tokens, [CACHED_AS]: entry });
  return {
    warnings: [...new Set([...warnings, warning])],
    token: { version, scope: CACHED_AS, expires_at, unproven: false },
  };
}

function requireUsable(account: string, kind: string, now: Date): void {
  const refuse = (why: string) => {
    throw new CredentialUnusable(`Account ${account} uses an API key, which ${why}. ${INSTEAD}`, { account });
  };
  if (now >= API_KEY_SUNSET) refuse(`the platform disabled on ${sunset()}`);
  if (kind === 'list') refuse('works only for reports and purchases, not for lists');
}

/** With OAuth, the first request is for a token and shows that the host exists. A key needs no request. */
async function requireHost(baseUrl: string, account: string, resolveHost: Dependencies['resolveHost']) {
  const host = new URL(baseUrl).hostname.replaceAll(/[[\]]/g, '');
  await resolveHost(host).catch(({ code }: NodeJS.ErrnoException) => {
    if (code === NO_HOST) throw noSuchHost(baseUrl, account);
  });
}

function sunset(): string {
  return API_KEY_SUNSET.toISOString().slice(0, 10);
}

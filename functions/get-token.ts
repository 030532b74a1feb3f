import { createHandler } from './aws/handler.ts';
import { createObjectStore } from './aws/objects.ts';
import { createSecrets } from './aws/secrets.ts';
import { MAX_RENEWALS, MIN_WAIT, TOKEN_SECONDS } from './decisions/waits.ts';
import { authorizationOf } from './platform/connection.ts';
import { createTokenRequest, type RequestToken } from './platform/oauth.ts';
import { apiKeyWarning, useApiKey } from './token/api-key.ts';
import {
  type CachedToken,
  type CachedTokens,
  createTokenCache,
  isRefused,
  refusalOf,
  type TokenCache,
} from './token/cached-tokens.ts';
import { createConnection } from './token/call-platform.ts';
import {
  type CredentialStore,
  createCredentialStore,
  grantToken,
  isOAuth,
  readCredential,
} from './token/credential.ts';
import { type LeaseAccess, underLease } from './token/lease.ts';
import { scopeOf } from './token/scope.ts';
import {
  errors,
  type Facts,
  PlatformUnavailable,
  RequestRefused,
  readCause,
  readMessage,
  TokenRefusedAgain,
} from './workflow/errors.ts';
import { READS, readSettingObject } from './workflow/settings.ts';
import type { TokenRef } from './workflow/state-parts.ts';
import { TokenRequest } from './workflow/states.ts';

/** Milliseconds: half the shortest life. A token that ends sooner is not used, as a call takes a minute. */
const MARGIN_MS = 30_000;

interface Dependencies extends LeaseAccess {
  readonly credentialOf: (account: string) => CredentialStore;
  readonly tokens: TokenCache;
  readonly requestToken: RequestToken;
  /** The platform's URL. A token of another platform is not used. */
  readonly baseUrl: string;
}

/** The token that this call needs, and what the account's secrets held when it looked. */
type Looked = Awaited<ReturnType<typeof lookUp>>;

type Found = Pick<TokenRef, 'version' | 'scope' | 'expires_at'>;

/**
 * Makes sure that a valid token is cached and returns a reference to it. Requests a token only if no cached
 * one is valid, or if the platform refused the one that is cached, and only with the account's
 * lease. If the platform has refused the credential, the windows of an export fail with the same error
 * without another request; a new export tries again. Runs as GetToken (once per export), GetWindowToken (once
 * per window) and RenewToken.
 *
 * @throws TokenRefusedAgain if the platform refused a token that was itself a renewal
 * @throws ServiceUnavailable while another call renews the token of this account; the Retry waits
 * @throws RateLimited while the token endpoint asks to wait; the Retry waits
 * @throws CredentialUnusable, LoginRequired, RequestRefused, PlatformUnavailable, AnswerUnreadable
 */
export async function getToken(
  state: TokenRequest,
  dependencies: Dependencies,
): Promise<TokenRequest & { token: TokenRef }> {
  const { request, caught, warnings } = state;
  const { account } = request;
  const { now, log } = dependencies;
  const refused = caught?.Error === 'TokenRefused' ? state.token : undefined;
  const { request_id, status } = readCause(caught?.Cause ?? '').facts;
  const facts = { request_id };
  // Without a status, the token was not stored any more, and the platform has refused nothing.
  requireRenewable(state, refused, facts, now(), status !== undefined);
  const look = () => lookUp(state, refused, facts, dependencies);
  const { stored, found: cached } = await look();
  const found =
    cached ??
    (await underLease(account, dependencies, async () => {
      // The call that had the lease before may have renewed the token and replaced the refresh token.
      const again = await look();
      return again.found ?? renew(again, dependencies);
    }));
  const own = isOAuth(stored.credential) ? [] : [apiKeyWarning(account, now())];
  for (const warning of own) log.warn(warning, { account });
  return {
    ...nextState(state, refused, now()),
    warnings: [...new Set([...warnings, ...own])],
    token: { ...found, unproven: refused !== undefined },
  };
}

/**
 * Counts a renewal. For a window, which has reports, the shortest wait follows it, and the time at which the
 * window began is set.
 */
function nextState(
  { caught, renewals = 0, ...state }: TokenRequest,
  refused: TokenRef | undefined,
  now: Date,
): TokenRequest {
  const counted = { ...state, renewals: refused ? renewals + 1 : renewals };
  if (!state.reports) return counted;
  const begun = { ...counted, begun_at: state.begun_at ?? now.toISOString() };
  return refused ? { ...begun, throttled: 0, wait_seconds: MIN_WAIT } : begun;
}

/** @throws TokenRefusedAgain */
function requireRenewable(
  state: TokenRequest,
  refused: TokenRef | undefined,
  facts: Facts,
  now: Date,
  byPlatform: boolean,
): void {
  const { request, reports = [], renewals = 0 } = state;
  if (!refused) return;
  // An export calls the platform to list advertisers, once if the list does not take long.
  const isLimit = renewals >= (state.reports || state.listing || !byPlatform ? MAX_RENEWALS : 1);
  // A renewed token that has expired since says nothing against the credential.
  const isRenewed = byPlatform && refused.unproven && Date.parse(refused.expires_at) > now.getTime();
  if (!isLimit && !isRenewed) return;
  const happened =
    `The platform refused ${isLimit ? `${renewals + 1} tokens` : 'a token'} of account ${request.account} ` +
    'that it had just issued. ' +
    'Check that the credential may use the reporting API, and that base_url is the platform that issued it.';
  const report_ids = reports.map(({ id }) => id);
  throw new TokenRefusedAgain(happened, { account: request.account, report_ids, ...facts });
}

/**
 * Reads the account's secrets.
 *
 * @throws the cached refusal of the credential, unless an export starts
 */
async function lookUp(
  { request, reports }: TokenRequest,
  ref: TokenRef | undefined,
  facts: Facts,
  { credentialOf, tokens, now, baseUrl }: Dependencies,
) {
  const { account } = request;
  const stored = await readCredential(credentialOf(account), account);
  const { credential } = stored;
  const { tokens: cached = {}, version } = (await tokens.read(account)) ?? {};
  // A refresh without a scope renews all scopes of the login; the contract shows no way to ask for fewer.
  const hasLogin = isOAuth(credential) && credential.refresh_token !== undefined;
  const scope = hasLogin ? undefined : scopeOf(request);
  const name = scope ?? '';
  const issued_for = `${isOAuth(credential) ? credential.client_id : stored.version} ${baseUrl}`;
  const given = ref && (await tokens.read(account, ref.version))?.tokens[ref.scope];
  const refused = given && !isRefused(given) ? given.secret : undefined;
  const token = cached[name];
  const known = token && isRefused(token) && token.credential === stored.version ? token : undefined;
  if (known && reports) {
    const refusal = readMessage(known.message);
    throw new errors[known.error](refusal.happened, refusal.facts);
  }
  const isUsable = token && !isRefused(token) && token.secret !== refused && token.issued_for === issued_for;
  const found: Found | undefined =
    isUsable && version !== undefined && !endsSoon(token, now())
      ? { version, scope: name, expires_at: token.expires_at }
      : undefined;
  return { account, scope, name, issued_for, refused, facts, stored, cached, known, found };
}

/** Requests a token, and caches it, or the refusal of the credential, beside what is still valid. */
async function renew(wanted: Looked, dependencies: Dependencies): Promise<Found> {
  const { account, name, issued_for, stored, cached, known } = wanted;
  const { tokens, now, log } = dependencies;
  const write = (entry: CachedTokens[string]) => {
    const valid = Object.entries(cached).filter(([, token]) => isRefused(token) || !endsSoon(token, now()));
    return tokens.write(account, { ...Object.fromEntries(valid), [name]: entry });
  };
  const issued = await authorize(wanted, dependencies).catch(async (failure) => {
    const refusal = refusalOf(failure, stored.version);
    // Not written again if it is known: a secret has room for about a hundred versions a day. If the write
    // fails, the next window sends one more token request, and nothing else is lost.
    if (refusal && !known)
      await write(refusal).catch(({ name: error }) =>
        log.warn('the refusal of the credential could not be cached', { account, error }),
      );
    throw failure;
  });
  const version = await write({ ...issued, issued_for });
  return { version, scope: name, expires_at: issued.expires_at };
}

/** Requests a token, unless the credential needs none. */
async function authorize(
  wanted: Looked,
  dependencies: Dependencies,
): Promise<Omit<CachedToken, 'issued_for'>> {
  const { account, scope, stored, cached } = wanted;
  const { credential } = stored;
  const { now, log, baseUrl } = dependencies;
  const requestedAt = now();
  if (!isOAuth(credential)) return useApiKey(credential, wanted, requestedAt);
  const access = { ...dependencies, store: dependencies.credentialOf(account) };
  const token = await grantToken(account, credential, scope, access).catch((error: unknown) => {
    if (!(error instanceof PlatformUnavailable) || error.facts.code !== 'ENOTFOUND') throw error;
    const isOfHost = (each: CachedTokens[string]) =>
      !isRefused(each) && each.issued_for.endsWith(` ${baseUrl}`);
    if (Object.values(cached).some(isOfHost)) throw error;
    // The host never gave this account a token: a mistyped name, and not an outage.
    const { host } = error.facts;
    throw new RequestRefused(`There is no host ${host} (ENOTFOUND). Correct base_url.`, { account, host });
  });
  const expires_at = new Date(requestedAt.getTime() + token.expiresIn * 1000).toISOString();
  log.info('a token was issued', { account, expires_at, scope: token.scope });
  return { ...authorizationOf(token.accessToken, credential.client_id), expires_at };
}

function endsSoon({ expires_at }: CachedToken, now: Date): boolean {
  return Date.parse(expires_at) - now.getTime() <= MARGIN_MS;
}

export const handler = createHandler(READS.GetToken, TokenRequest, getToken, (settings, log) => {
  const timeouts = { total: TOKEN_SECONDS * 1000 };
  const connection = { ...createConnection(settings), timeouts, log };
  const secrets = createSecrets();
  const prefix = settings.SECRET_PREFIX;
  return {
    objects: createObjectStore(settings),
    credentialOf: (account: string) => createCredentialStore(secrets, prefix, account),
    tokens: createTokenCache(secrets, prefix),
    requestToken: createTokenRequest(connection, readSettingObject(settings.REFRESH_PARAMETERS)),
    baseUrl: settings.PLATFORM_BASE_URL,
  };
});

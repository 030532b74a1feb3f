import { createHandler } from './aws/handler.ts';
import { createObjectStore } from './aws/objects.ts';
import { createSecrets } from './aws/secrets.ts';
import { MAX_RENEWALS, MIN_WAIT, TOKEN_SECONDS } from './decisions/waits.ts';
import { authorizationOf } from './platform/connection.ts';
import { createTokenRequest, MIN_TOKEN_LIFE, type RequestToken } from './platform/oauth.ts';
import { apiKeyWarning, useApiKey } from './token/api-key.ts';
import {
  type CachedToken,
  type CachedTokens,
  createTokenCache,
  isRefused,
  type RefusedCredential,
  refusalOf,
  type TokenCache,
} from './token/cached-tokens.ts';
import { createConnection } from './token/call-platform.ts';
import {
  type CredentialStore,
  createCredentialStore,
  grantToken,
  isOAuth,
  type OAuthCredential,
  readCredential,
} from './token/credential.ts';
import { type LeaseAccess, underLease } from './token/lease.ts';
import { scopeOf } from './token/scope.ts';
import {
  type ExportError,
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

/** A token that ends within this time is renewed, because a call may take as long. Seconds. */
const RENEW_BEFORE_SECONDS = MIN_TOKEN_LIFE / 2;

interface Dependencies extends LeaseAccess {
  readonly credentialOf: (account: string) => CredentialStore;
  readonly tokens: TokenCache;
  readonly requestToken: RequestToken;
  /** The platform's URL. A token of another platform is not used. */
  readonly baseUrl: string;
}

/** The token that the platform refused, or that was not stored any more. */
interface RefusedToken {
  readonly ref: TokenRef;
  /** False if the token was not stored any more, so the platform has refused nothing. */
  readonly byPlatform: boolean;
  readonly facts: Facts;
}

/** An account's secrets, as one call reads them, and which of its tokens the request needs. */
type AccountTokens = Awaited<ReturnType<typeof readTokens>>;

type CachedRef = Pick<TokenRef, 'version' | 'scope' | 'expires_at'>;

/** The name in the cache of a token that is requested without a scope, so that it has all of them. */
const ALL_SCOPES = '';

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
  const { request, warnings } = state;
  const { account } = request;
  const { now, log } = dependencies;
  const refused = refusedTokenOf(state);
  if (refused) requireRenewable(state, refused, now());
  const refusedSecret = refused && (await readSecretOf(account, refused.ref, dependencies));
  const read = async () => {
    const tokens = await readTokens(request, dependencies);
    // An export tries again, because a person may have mended the credential at the platform.
    if (state.reports && tokens.refusal) throw errorOf(tokens.refusal);
    return { tokens, usable: findUsable(tokens, refusedSecret, now()) };
  };
  const { tokens, usable } = await read();
  const ref =
    usable ??
    (await underLease(account, dependencies, async () => {
      // The call that had the lease before may have renewed the token and replaced the refresh token.
      const current = await read();
      return current.usable ?? renew(current.tokens, refused, refusedSecret, dependencies);
    }));
  const keyWarnings = isOAuth(tokens.credential) ? [] : [apiKeyWarning(account, now())];
  for (const warning of keyWarnings) log.warn(warning, { account });
  return {
    ...nextState(state, refused, now()),
    warnings: [...new Set([...warnings, ...keyWarnings])],
    token: { ...ref, unproven: refused !== undefined },
  };
}

/** The token because of which the state machine asks for another one; undefined if it asks for its first. */
function refusedTokenOf({ token, caught }: TokenRequest): RefusedToken | undefined {
  if (token === undefined || caught?.Error !== 'TokenRefused') return undefined;
  const { request_id, status } = readCause(caught.Cause).facts;
  return { ref: token, byPlatform: status !== undefined, facts: { request_id } };
}

/**
 * Counts a renewal. For a window, which has reports, the shortest wait follows it, and the time at which the
 * window began is set.
 */
function nextState(
  { caught, renewals = 0, ...state }: TokenRequest,
  refused: RefusedToken | undefined,
  now: Date,
): TokenRequest {
  const counted = { ...state, renewals: refused ? renewals + 1 : renewals };
  if (!state.reports) return counted;
  const begun = { ...counted, begun_at: state.begun_at ?? now.toISOString() };
  return refused ? { ...begun, throttled: 0, wait_seconds: MIN_WAIT } : begun;
}

/** @throws TokenRefusedAgain */
function requireRenewable(state: TokenRequest, { ref, byPlatform, facts }: RefusedToken, now: Date): void {
  const { request, reports = [], renewals = 0 } = state;
  // An export calls the platform to list advertisers, once if the list does not take long.
  const isLimit = renewals >= (state.reports || state.listing || !byPlatform ? MAX_RENEWALS : 1);
  // A renewed token that has expired since says nothing against the credential.
  const isRenewed = byPlatform && ref.unproven && Date.parse(ref.expires_at) > now.getTime();
  if (!isLimit && !isRenewed) return;
  const happened =
    `The platform refused ${isLimit ? `${renewals + 1} tokens` : 'a token'} of account ${request.account} ` +
    'that it had just issued. ' +
    'Check that the credential may use the reporting API, and that base_url is the platform that issued it.';
  const report_ids = reports.map(({ id }) => id);
  throw new TokenRefusedAgain(happened, { account: request.account, report_ids, ...facts });
}

async function readTokens(request: TokenRequest['request'], { credentialOf, tokens, baseUrl }: Dependencies) {
  const { account } = request;
  const { credential, version } = await readCredential(credentialOf(account), account);
  const cache = await tokens.read(account);
  // A refresh without a scope renews all scopes of the login; the contract shows no way to ask for fewer.
  const hasLogin = isOAuth(credential) && credential.refresh_token !== undefined;
  const scope = hasLogin ? undefined : scopeOf(request);
  const name = scope ?? ALL_SCOPES;
  const entry = cache?.tokens[name];
  return {
    account,
    credential,
    credentialVersion: version,
    cache,
    scope,
    /** The name of the token in the cache. */
    name,
    /** The client and the platform. A token for another one is not used. */
    issued_for: `${isOAuth(credential) ? credential.client_id : version} ${baseUrl}`,
    /** The platform refused this version of the credential before. */
    refusal: entry && isRefused(entry) && entry.credential === version ? entry : undefined,
  };
}

/** @returns undefined if the token is not stored any more */
async function readSecretOf(
  account: string,
  { version, scope }: TokenRef,
  { tokens }: Dependencies,
): Promise<string | undefined> {
  const token = (await tokens.read(account, version))?.tokens[scope];
  return token && !isRefused(token) ? token.secret : undefined;
}

function errorOf({ error, message }: RefusedCredential): ExportError {
  const { happened, facts } = readMessage(message);
  return new errors[error](happened, facts);
}

/** @returns the cached token, if it does not end soon */
function findUsable(
  { cache, name, issued_for }: AccountTokens,
  refusedSecret: string | undefined,
  now: Date,
): CachedRef | undefined {
  const token = cache?.tokens[name];
  if (!cache || !token || isRefused(token)) return undefined;
  const isUsable = token.secret !== refusedSecret && token.issued_for === issued_for && !endsSoon(token, now);
  return isUsable ? { version: cache.version, scope: name, expires_at: token.expires_at } : undefined;
}

/** Requests a token, and caches it, or the refusal of the credential, beside what is still valid. */
async function renew(
  account: AccountTokens,
  refused: RefusedToken | undefined,
  refusedSecret: string | undefined,
  dependencies: Dependencies,
): Promise<CachedRef> {
  const { name, issued_for, cache, credential, credentialVersion } = account;
  const { tokens, now, log } = dependencies;
  const write = (entry: CachedTokens[string]) => {
    const entries = Object.entries(cache?.tokens ?? {});
    const valid = entries.filter(([, token]) => isRefused(token) || !endsSoon(token, now()));
    return tokens.write(account.account, { ...Object.fromEntries(valid), [name]: entry });
  };
  const cacheRefusal = async (failure: unknown) => {
    const refusal = refusalOf(failure, credentialVersion);
    // Not written again if it is known: a secret has room for about a hundred versions a day. If the write
    // fails, the next window sends one more token request, and nothing else is lost.
    if (refusal && !account.refusal)
      await write(refusal).catch(({ name: error }) =>
        log.warn('the refusal of the credential could not be cached', { account: account.account, error }),
      );
    throw failure;
  };
  const keyUse = { ...account, refused: refusedSecret, facts: refused?.facts ?? {} };
  const issue = async () =>
    isOAuth(credential)
      ? issueToken(account, credential, dependencies)
      : useApiKey(credential, keyUse, now());
  const issued = await issue().catch(cacheRefusal);
  const version = await write({ ...issued, issued_for });
  return { version, scope: name, expires_at: issued.expires_at };
}

async function issueToken(
  { account, scope, cache }: AccountTokens,
  credential: OAuthCredential,
  dependencies: Dependencies,
): Promise<Omit<CachedToken, 'issued_for'>> {
  const { now, log, baseUrl } = dependencies;
  const requestedAt = now();
  const access = { ...dependencies, store: dependencies.credentialOf(account) };
  const token = await grantToken(account, credential, scope, access).catch((error: unknown) => {
    if (!(error instanceof PlatformUnavailable) || error.facts.code !== 'ENOTFOUND') throw error;
    const isOfHost = (entry: CachedTokens[string]) =>
      !isRefused(entry) && entry.issued_for.endsWith(` ${baseUrl}`);
    if (Object.values(cache?.tokens ?? {}).some(isOfHost)) throw error;
    // The host never gave this account a token: a mistyped name, and not an outage.
    const { host } = error.facts;
    throw new RequestRefused(`There is no host ${host} (ENOTFOUND). Correct base_url.`, { account, host });
  });
  const expires_at = new Date(requestedAt.getTime() + token.expiresIn * 1000).toISOString();
  log.info('a token was issued', { account, expires_at, scope: token.scope });
  return { ...authorizationOf(token.accessToken, credential.client_id), expires_at };
}

function endsSoon({ expires_at }: CachedToken, now: Date): boolean {
  return Date.parse(expires_at) - now.getTime() <= RENEW_BEFORE_SECONDS * 1000;
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

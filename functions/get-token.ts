import { createHandler } from './aws/handler.ts';
import { createSecrets } from './aws/secrets.ts';
import { toGrantError } from './decisions/platform-failure.ts';
import { MAX_RENEWALS, MIN_WAIT } from './decisions/waits.ts';
import { bearer } from './platform/connection.ts';
import { apiKeyWarning, useApiKey } from './token/api-key.ts';
import {
  type CachedToken,
  type CachedTokens,
  cachedValue,
  createTokenCache,
  isRefused,
  refusalOf,
  type TokenCache,
} from './token/cached-tokens.ts';
import { createConnection } from './token/call-platform.ts';
import {
  type CredentialStore,
  createCredentialStore,
  isOAuth,
  readCredential,
  type StoredCredential,
} from './token/credential.ts';
import { createTokenRequest, grantToken, type RequestToken } from './token/grant.ts';
import { scopeOf } from './token/scope.ts';
import { errors, type Facts, readCause, readMessage, TokenRefusedAgain } from './workflow/errors.ts';
import { READS, readSettingObject } from './workflow/settings.ts';
import type { TokenRef } from './workflow/state-parts.ts';
import { TokenRequest } from './workflow/states.ts';
import type { Common } from './workflow/step.ts';

/**
 * Milliseconds. A token that expires sooner is not used: a call may take a minute. Half the shortest life.
 */
const MARGIN_MS = 30_000;

interface Dependencies extends Pick<Common, 'log' | 'now'> {
  readonly credentialOf: (account: string) => CredentialStore;
  readonly tokens: TokenCache;
  readonly requestToken: RequestToken;
  /** The platform's URL. A token of another platform is not used. */
  readonly baseUrl: string;
}

/** The token that this call needs. */
interface Wanted {
  readonly account: string;
  /** The kind of the request. */
  readonly kind: string;
  /** Undefined: all that the client has. */
  readonly scope: string | undefined;
  /** The token's name in the cache: its scope, or '' if it was requested without one. */
  readonly name: string;
  readonly issued_for: string;
  /** The value of the token that the platform refused, if it refused one. */
  readonly refused: string | undefined;
  /** The request_id of that refusal. */
  readonly facts: Facts;
  /** The start of an export, which tries a credential again that the platform has refused. */
  readonly isStart: boolean;
  /** No token of the platform's URL is cached for this account, not even an expired one. */
  readonly isNewHost: boolean;
}

type Found = Pick<TokenRef, 'version' | 'scope' | 'expires_at'>;

/**
 * Makes sure that a valid token is cached and returns a reference to it. Requests a token only if no cached
 * one is valid, or if the platform refused the one that is cached (contract 5.4). If the platform has refused
 * the credential, the windows of an export fail with the same error without another request; a new export
 * tries again. Runs as GetToken (once per export), GetWindowToken (once per window) and RenewToken.
 *
 * @throws TokenRefusedAgain if the platform refused a token that was itself a renewal
 * @throws CredentialUnusable, LoginRequired, PlatformUnavailable, AnswerUnreadable
 */
export async function getToken(
  state: TokenRequest,
  dependencies: Dependencies,
): Promise<TokenRequest & { token: TokenRef }> {
  const { request, caught, warnings } = state;
  const { account, kind } = request;
  const { tokens, now, log, baseUrl } = dependencies;
  const stored = await readCredential(dependencies.credentialOf(account), account);
  const { credential, version } = stored;
  const newest = await tokens.read(account);
  const refused = caught?.Error === 'TokenRefused' ? state.token : undefined;
  const facts = { request_id: readCause(caught?.Cause ?? '').facts.request_id };
  requireRenewable(state, refused, facts, now());
  // A refresh without a scope renews all scopes of the login; the contract shows no way to ask for fewer.
  const hasLogin = isOAuth(credential) && credential.refresh_token !== undefined;
  const scope = hasLogin ? undefined : scopeOf(request);
  const wanted: Wanted = {
    account,
    kind,
    scope,
    name: scope ?? '',
    issued_for: `${isOAuth(credential) ? credential.client_id : version} ${baseUrl}`,
    refused: await cachedValue(tokens, account, refused),
    facts,
    isStart: state.reports === undefined,
    isNewHost: !Object.values(newest?.tokens ?? {}).some(
      (token) => !isRefused(token) && token.issued_for.endsWith(` ${baseUrl}`),
    ),
  };
  const found =
    findUsable(newest, wanted, now()) ?? (await renew(stored, wanted, newest?.tokens, dependencies));
  const own = isOAuth(credential) ? [] : [apiKeyWarning(account, now())];
  for (const warning of own) log.warn(warning, { account });
  return {
    ...nextState(state, refused, now()),
    warnings: [...new Set([...warnings, ...own])],
    token: { ...found, unproven: refused !== undefined },
  };
}

/**
 * Counts a renewal, which is followed by the shortest wait, and sets the time at which a window began. A
 * plan, which has no reports, passes unchanged.
 */
function nextState(
  { caught, ...state }: TokenRequest,
  refused: TokenRef | undefined,
  now: Date,
): TokenRequest {
  if (!state.reports) return state;
  const begun_at = state.begun_at ?? now.toISOString();
  const { renewals = 0 } = state;
  if (!refused) return { ...state, begun_at, renewals };
  return { ...state, begun_at, renewals: renewals + 1, throttled: 0, wait_seconds: MIN_WAIT };
}

/** @throws TokenRefusedAgain */
function requireRenewable(state: TokenRequest, refused: TokenRef | undefined, facts: Facts, now: Date): void {
  const { request, reports = [], renewals = 0 } = state;
  if (!refused) return;
  const isLimit = renewals >= MAX_RENEWALS;
  // A renewed token that has expired since says nothing against the credential.
  const isRenewed = refused.unproven && Date.parse(refused.expires_at) > now.getTime();
  if (!isLimit && !isRenewed) return;
  const happened =
    `The platform refused ${isLimit ? `${renewals + 1} tokens` : 'a token'} of account ${request.account} ` +
    'that it had just issued. ' +
    'Check that the credential may use the reporting API, and that base_url is the platform that issued it.';
  const report_ids = reports.map(({ id }) => id);
  throw new TokenRefusedAgain(happened, { account: request.account, report_ids, ...facts });
}

function findUsable(
  newest: { version: string; tokens: CachedTokens } | undefined,
  { name, issued_for, refused }: Wanted,
  now: Date,
): Found | undefined {
  const token = newest?.tokens[name];
  if (!newest || !token || isRefused(token)) return undefined;
  if (token.value === refused || token.issued_for !== issued_for || endsSoon(token, now)) return undefined;
  return { version: newest.version, scope: name, expires_at: token.expires_at };
}

async function renew(
  stored: StoredCredential,
  wanted: Wanted,
  others: CachedTokens | undefined,
  dependencies: Dependencies,
): Promise<Found> {
  const { account, name, issued_for, isStart } = wanted;
  const cached = others?.[name];
  const known = cached && isRefused(cached) && cached.credential === stored.version ? cached : undefined;
  if (known && !isStart) {
    const { happened, facts } = readMessage(known.message);
    throw new errors[known.error](happened, facts);
  }
  const issued = await authorize(stored, wanted, dependencies).catch(async (failure) => {
    const refusal = refusalOf(failure, stored.version);
    // Not written again if it is known: a secret has room for about a hundred versions a day. If the write
    // fails, the next window sends one more token request, and nothing else is lost.
    if (refusal && !known) {
      await write(account, { ...others, [name]: refusal }, dependencies).catch(({ name: error }) =>
        dependencies.log.warn('the refusal of the credential could not be cached', { account, error }),
      );
    }
    throw failure;
  });
  const version = await write(account, { ...others, [name]: { ...issued, issued_for } }, dependencies);
  return { version, scope: name, expires_at: issued.expires_at };
}

/** Requests a token, unless the credential needs none. */
async function authorize(
  { credential, ...secret }: StoredCredential,
  wanted: Wanted,
  dependencies: Dependencies,
): Promise<Omit<CachedToken, 'issued_for'>> {
  const { account, scope, isNewHost } = wanted;
  const { now, log } = dependencies;
  const requestedAt = now();
  if (!isOAuth(credential)) return useApiKey(credential, wanted, requestedAt);
  const access = { ...dependencies, store: dependencies.credentialOf(account) };
  const token = await grantToken(account, { credential, ...secret }, scope, access).catch((error) => {
    throw toGrantError(error, account, isNewHost);
  });
  const expires_at = new Date(requestedAt.getTime() + token.expiresIn * 1000).toISOString();
  log.info('a token was issued', { account, expires_at, scope: token.scope });
  return { ...bearer(token.accessToken), expires_at };
}

/** Writes the tokens that are still valid, and the refusals. */
function write(account: string, all: CachedTokens, { tokens, now }: Dependencies): Promise<string> {
  const valid = Object.entries(all).filter(([, token]) => isRefused(token) || !endsSoon(token, now()));
  return tokens.write(account, Object.fromEntries(valid));
}

function endsSoon({ expires_at }: CachedToken, now: Date): boolean {
  return Date.parse(expires_at) - now.getTime() <= MARGIN_MS;
}

export const handler = createHandler(READS.GetToken, TokenRequest, getToken, (settings, log) => {
  const connection = { ...createConnection(settings), log };
  const secrets = createSecrets();
  const prefix = settings.SECRET_PREFIX;
  return {
    credentialOf: (account: string) => createCredentialStore(secrets, prefix, account),
    tokens: createTokenCache(secrets, prefix),
    requestToken: createTokenRequest(connection, readSettingObject(settings.REFRESH_PARAMETERS)),
    baseUrl: settings.PLATFORM_BASE_URL,
  };
});

import { lookup } from 'node:dns/promises';
import { createHandler } from './aws/handler.ts';
import { createSecrets } from './aws/secrets.ts';
import { toGrantError } from './decisions/platform-failure.ts';
import { MAX_RENEWALS } from './decisions/waits.ts';
import { useApiKey } from './token/api-key.ts';
import {
  type CachedToken,
  type CachedTokens,
  cachedValue,
  createTokenCache,
  isRefused,
  refusalOf,
  type TokenCache,
  throwCached,
} from './token/cached-tokens.ts';
import {
  type CredentialStore,
  createCredentialStore,
  credentialWarnings,
  isOAuth,
  type OAuthCredential,
  readCredential,
  type StoredCredential,
} from './token/credential.ts';
import { createTokenRequest, grantToken, type RequestToken } from './token/grant.ts';
import { createConnection } from './token/platform-access.ts';
import { scopeOf } from './token/scope.ts';
import { readCause, TokenRefusedAgain } from './workflow/errors.ts';
import { READS, readSettingObject } from './workflow/settings.ts';
import type { TokenRef } from './workflow/state-parts.ts';
import { TokenRequest } from './workflow/states.ts';
import type { Common } from './workflow/step.ts';

/** Milliseconds. A token that expires sooner is not used, because a call may take a minute. Half of the shortest lifetime. */
const MARGIN_MS = 30_000;

/** The name of a cached token that was requested without a scope. */
const ALL_SCOPES = '';

interface Dependencies extends Pick<Common, 'log' | 'now' | 'measure'> {
  readonly credentialOf: (account: string) => CredentialStore;
  readonly tokens: TokenCache;
  readonly requestToken: RequestToken;
  /** The platform's URL. A token of another platform is not used. */
  readonly baseUrl: string;
  readonly resolveHost: (hostname: string) => Promise<unknown>;
}

/** The token that this call needs. */
interface Wanted {
  readonly account: string;
  /** Undefined: all that the client has. */
  readonly scope: string | undefined;
  /** The token's name in the cache. */
  readonly name: string;
  readonly issued_for: string;
  /** The value of the token that the platform refused, if it refused one. */
  readonly refused: string | undefined;
  /** The start of an export, which tries a credential again that the platform has refused. */
  readonly isStart: boolean;
}

type Found = Pick<TokenRef, 'version' | 'scope' | 'expires_at'>;

/**
 * Makes sure that a valid token is cached and returns a reference to it. Requests a token only if no cached one is valid,
 * or if the platform refused the one that is cached (contract 5.4). If the platform has refused the credential, the
 * windows of an export fail with the same error without another request; a new export tries again. Runs in the states
 * GetToken (once per export) and GetWindowToken.
 *
 * @throws TokenRefusedAgain if the platform refused a token that was itself a renewal
 * @throws CredentialUnusable, LoginRequired, PlatformUnavailable, AnswerUnreadable
 */
export async function getToken(
  state: TokenRequest,
  dependencies: Dependencies,
): Promise<TokenRequest & { token: TokenRef }> {
  const { account } = state.request;
  const { tokens, now, baseUrl } = dependencies;
  const { credential, ...secret } = await readCredential(dependencies.credentialOf(account), account);
  const refused = state.caught?.Error === 'TokenRefused' ? state.token : undefined;
  const next = nextState(state, refused, now());
  if (!isOAuth(credential))
    return { ...next, ...(await useApiKey(state, credential, refused, dependencies)) };
  requireRenewable(state, refused, now());
  // A refresh without a scope renews all scopes of the login; the contract does not show a way to ask for fewer.
  const scope = credential.refresh_token === undefined ? scopeOf(state.request) : undefined;
  const wanted: Wanted = {
    account,
    scope,
    name: scope ?? ALL_SCOPES,
    issued_for: `${credential.client_id} ${baseUrl}`,
    refused: await cachedValue(tokens, account, refused),
    isStart: state.reports === undefined,
  };
  const newest = await tokens.read(account);
  const found =
    findUsable(newest, wanted, now()) ??
    (await renew({ credential, ...secret }, wanted, newest?.tokens, dependencies));
  return { ...next, token: { ...found, unproven: refused !== undefined } };
}

/** Counts a renewal, and sets the time at which a window began. A plan, which has no reports, passes unchanged. */
function nextState(
  { caught, ...state }: TokenRequest,
  refused: TokenRef | undefined,
  now: Date,
): TokenRequest {
  if (!state.reports) return state;
  const renewals = (state.renewals ?? 0) + (refused ? 1 : 0);
  return { ...state, begun_at: state.begun_at ?? now.toISOString(), renewals };
}

/** @throws TokenRefusedAgain */
function requireRenewable(state: TokenRequest, refused: TokenRef | undefined, now: Date): void {
  const { request, reports = [], renewals = 0, caught } = state;
  if (!refused) return;
  const isLimit = renewals >= MAX_RENEWALS;
  // A renewed token that has expired since says nothing against the credential.
  const isRenewed = refused.unproven && Date.parse(refused.expires_at) > now.getTime();
  if (!isLimit && !isRenewed) return;
  const happened =
    `The platform refused ${isLimit ? `${renewals + 1} tokens` : 'a token'} of account ${request.account} ` +
    'that it had just issued. ' +
    'Check that the credential may use the reporting API, and that base_url is the platform that issued it.';
  const { request_id } = readCause(caught?.Cause ?? '').facts;
  const report_ids = reports.map(({ id }) => id);
  throw new TokenRefusedAgain(happened, { account: request.account, report_ids, request_id });
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
  stored: StoredCredential<OAuthCredential>,
  wanted: Wanted,
  others: CachedTokens | undefined,
  dependencies: Dependencies,
): Promise<Found> {
  const { account, scope, name, issued_for, isStart } = wanted;
  const { now, log } = dependencies;
  const cached = others?.[name];
  const known = cached && isRefused(cached) && cached.credential === stored.version ? cached : undefined;
  if (known && !isStart) throwCached(known);
  for (const warning of credentialWarnings(stored.credential)) log.warn(warning, { account });
  const requestedAt = now().getTime();
  const access = { ...dependencies, store: dependencies.credentialOf(account) };
  const token = await grantToken(account, stored, scope, access).catch(async (error) => {
    const failure = toGrantError(error, account, isStart ? dependencies.baseUrl : undefined);
    const refusal = refusalOf(failure, stored.version);
    // Not written again if it is known: a secret has room for about a hundred versions a day.
    if (refusal && !known) await remember(account, { ...others, [name]: refusal }, dependencies);
    throw failure;
  });
  const expires_at = new Date(requestedAt + token.expiresIn * 1000).toISOString();
  const entry: CachedToken = { scheme: 'Bearer', value: token.accessToken, expires_at, issued_for };
  const version = await write(account, { ...others, [name]: entry }, dependencies);
  log.info('a token was issued', { account, expires_at, scope: token.scope });
  return { version, scope: name, expires_at };
}

/** If this fails, the next window sends one more token request, and nothing else is lost. */
async function remember(account: string, tokens: CachedTokens, dependencies: Dependencies): Promise<void> {
  await write(account, tokens, dependencies).catch(({ name }) =>
    dependencies.log.warn('the refusal of the credential could not be cached', { account, error: name }),
  );
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
    resolveHost: (hostname: string) => lookup(hostname),
  };
});

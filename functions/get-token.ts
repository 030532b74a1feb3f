import { createHandler } from './aws/handler.ts';
import {
  type CachedToken,
  type CachedTokens,
  createSecrets,
  type Secrets,
  type StoredCredential,
} from './aws/secrets.ts';
import { MAX_RENEWALS } from './decisions/waits.ts';
import { logCalls } from './platform/log-calls.ts';
import { refreshToken, requestToken } from './platform/token.ts';
import {
  API_KEY_SCOPE,
  API_KEY_SUNSET,
  apiKeyDaysLeft,
  apiKeyWarning,
  requireApiKeyAllowed,
} from './token/api-key.ts';
import type { ApiKeyCredential, OAuthCredential } from './token/credential.ts';
import { type GrantAccess, grantToken } from './token/grant.ts';
import { createConnection } from './token/platform-access.ts';
import { failAsBefore, isRefusal, type Refusal, refusalOf } from './token/refusal.ts';
import { scopeOf } from './token/scope.ts';
import { CredentialUnusable, TokenRefusedAgain } from './workflow/errors.ts';
import { readSettingObject } from './workflow/settings.ts';
import { type TokenRef, TokenRequest } from './workflow/states.ts';
import type { Common } from './workflow/step.ts';

/** A token that ends within this time is not handed out: a call may take a minute. Half of the shortest lifetime. */
const MARGIN_MS = 30_000;

/** The name, among the cached tokens, of one that was requested without a scope. */
const ALL_SCOPES = '';

interface Dependencies extends GrantAccess, Pick<Common, 'measure'> {
  readonly secrets: Omit<Secrets, 'readToken'>;
  /** The platform that tokens are for, part of what a cached one must match. */
  readonly baseUrl: string;
}

/** What a token has to be to be used again. */
interface Wanted {
  readonly account: string;
  readonly scope: string;
  readonly issued_for: string;
  /** The token that the platform has refused, if it did. */
  readonly refused: string | undefined;
  /** Whether a credential that is known to be refused is tried once more: where an export starts, and not in its windows. */
  readonly anew: boolean;
}

type Found = Pick<TokenRef, 'version' | 'scope' | 'expires_at'>;

/** What was given, with a token that is valid and without the mark of a refusal. */
type Authorized = TokenRequest & { token: TokenRef };

/**
 * Makes sure that a valid token is cached, and gives its version: the token itself stays in Secrets Manager. One is
 * requested only where none is valid, or where the platform has refused the very one that is cached; whoever comes
 * second after a refusal finds the renewed one (contract 5.4). Where the platform has refused the credential itself, the
 * windows that come after fail as the first one did, and ask nothing; an export that starts asks anew. A legacy API key
 * takes a token's place (contract 5.7). Both GetToken, once for an export, and GetWindowToken run it.
 *
 * @throws TokenRefusedAgain where the refused token was itself the answer to a refusal
 * @throws CredentialUnusable, LoginRequired, PlatformUnavailable, AnswerUnreadable
 */
export async function getToken(state: TokenRequest, dependencies: Dependencies): Promise<Authorized> {
  const { account } = state.request;
  const { credential, ...stored } = await dependencies.secrets.readCredential(account);
  if ('api_key' in credential) return useApiKey(state, credential, dependencies);
  const refusedToken = refusedIn(state);
  if (refusedToken && (state.renewals ?? 0) >= MAX_RENEWALS) throw refusedAgain(state);
  // One that has simply come to its end meanwhile says nothing against the credential.
  if (refusedToken?.unproven && isAlive(refusedToken, dependencies.now())) throw refusedAgain(state);
  // A refresh without a scope renews all that the login granted; the contract does not show that one could be asked for.
  const scope = credential.refresh_token === undefined ? scopeOf(state.request) : undefined;
  const wanted: Wanted = {
    account,
    scope: scope ?? ALL_SCOPES,
    issued_for: `${credential.client_id} ${dependencies.baseUrl}`,
    refused: await tokenBehind(refusedToken, account, dependencies),
    anew: state.reports === undefined,
  };
  const newest = await dependencies.secrets.readTokens(account);
  const found =
    findUsable(newest, wanted, dependencies.now()) ??
    (await renew({ credential, ...stored }, scope, wanted, newest?.tokens, dependencies));
  return { ...goOn(state, dependencies), token: { ...found, unproven: refusedToken !== undefined } };
}

/** Without the mark of a refusal, which is counted; a window begins with its first token. */
function goOn({ caught, ...state }: TokenRequest, { now }: Dependencies): TokenRequest {
  if (!state.reports) return state;
  const renewals = (state.renewals ?? 0) + (caught?.Error === 'TokenRefused' ? 1 : 0);
  return { ...state, begun_at: state.begun_at ?? now().toISOString(), renewals };
}

function refusedIn({ caught, token }: TokenRequest): TokenRef | undefined {
  return caught?.Error === 'TokenRefused' ? token : undefined;
}

/** The value behind a reference: versions differ also where another scope's token was written. */
async function tokenBehind(
  ref: TokenRef | undefined,
  account: string,
  { secrets }: Dependencies,
): Promise<string | undefined> {
  const token = ref && (await secrets.readTokens(account, ref.version))?.tokens[ref.scope];
  return token && !isRefusal(token) ? token.value : undefined;
}

function findUsable(
  newest: { version: string; tokens: CachedTokens } | undefined,
  { scope, issued_for, refused }: Wanted,
  now: Date,
): Found | undefined {
  const token = newest?.tokens[scope];
  if (!newest || !token || isRefusal(token)) return undefined;
  if (token.value === refused || token.issued_for !== issued_for) return undefined;
  return endsSoon(token, now) ? undefined : { version: newest.version, scope, expires_at: token.expires_at };
}

function isAlive({ expires_at }: TokenRef, now: Date): boolean {
  return Date.parse(expires_at) > now.getTime();
}

function endsSoon({ expires_at }: CachedToken, now: Date): boolean {
  return Date.parse(expires_at) - now.getTime() <= MARGIN_MS;
}

async function renew(
  stored: StoredCredential<OAuthCredential>,
  requested: string | undefined,
  { account, scope, issued_for, anew }: Wanted,
  others: CachedTokens | undefined,
  dependencies: Dependencies,
): Promise<Found> {
  const { now, log } = dependencies;
  const known = refusalIn(others?.[scope], stored.version);
  if (!anew && known) failAsBefore(known);
  const requestedAt = now().getTime();
  const token = await grantToken(account, stored, requested, dependencies).catch(async (error) => {
    const refusal = refusalOf(error, stored.version);
    // Secrets Manager keeps every version for a day, and some hundred of them: those that exports would write in vain
    // would leave no room for the token of the credential that is stored next.
    if (refusal && !known) await remember(account, { ...others, [scope]: refusal }, dependencies);
    throw error;
  });
  const expires_at = new Date(requestedAt + token.expiresIn * 1000).toISOString();
  const cached: CachedToken = { scheme: 'Bearer', value: token.accessToken, expires_at, issued_for };
  const version = await write(account, { ...others, [scope]: cached }, dependencies);
  log.info('a token was issued', { account, expires_at, scope: token.scope });
  return { version, scope, expires_at };
}

/** What is known of this very credential. */
function refusalIn(cached: CachedTokens[string] | undefined, credential: string): Refusal | undefined {
  return cached && isRefusal(cached) && cached.credential === credential ? cached : undefined;
}

/** A refusal that cannot be kept costs the next window a request, and nothing else. */
async function remember(account: string, tokens: CachedTokens, dependencies: Dependencies): Promise<void> {
  await write(account, tokens, dependencies).catch(({ name }) =>
    dependencies.log.warn('the refusal of the credential could not be kept', { account, error: name }),
  );
}

/** What has ended is not kept. */
function write(account: string, tokens: CachedTokens, { secrets, now }: Dependencies): Promise<string> {
  const alive = Object.entries(tokens).filter(([, token]) => isRefusal(token) || !endsSoon(token, now()));
  return secrets.writeTokens(account, Object.fromEntries(alive));
}

/**
 * The key is cached as a token is, so that the other steps need not know of it.
 *
 * @throws CredentialUnusable from its sunset on, for a list, and where the platform has refused it
 */
async function useApiKey(
  state: TokenRequest,
  { api_key }: ApiKeyCredential,
  dependencies: Dependencies,
): Promise<Authorized> {
  const { account, kind } = state.request;
  const { now, log, measure, secrets } = dependencies;
  requireApiKeyAllowed(account, kind, now());
  if ((await tokenBehind(refusedIn(state), account, dependencies)) === api_key)
    throw keyRefused(account, state.caught?.Cause);

  const warning = apiKeyWarning(account, now());
  log.warn(warning, { account });
  const newest = await secrets.readTokens(account);
  const expires_at = API_KEY_SUNSET.toISOString();
  const key = newest?.tokens[API_KEY_SCOPE];
  const isCached = key && !isRefusal(key) && key.value === api_key;
  const cached: CachedToken = { scheme: 'ApiKey', value: api_key, expires_at, issued_for: 'an API key' };
  const version = isCached
    ? newest.version
    : await secrets.writeTokens(account, { ...newest?.tokens, [API_KEY_SCOPE]: cached });
  if (!state.token) measure({ values: { ApiKeyDaysLeft: apiKeyDaysLeft(now()) }, dimensions: {} });
  return {
    ...goOn(state, dependencies),
    warnings: [...new Set([...state.warnings, warning])],
    token: { version, scope: API_KEY_SCOPE, expires_at, unproven: false },
  };
}

function keyRefused(account: string, cause = ''): CredentialUnusable {
  const happened =
    `The platform does not accept the API key of account ${account}. ` +
    'Store {"client_id","client_secret"} in its credential secret instead.';
  return new CredentialUnusable(happened, { account, request_id: requestIdIn(cause) });
}

/** A Cause is JSON on AWS, and the bare message in a local run; both have the facts at the message's end. */
function requestIdIn(cause: string): string | undefined {
  return /\\?"request_id\\?":\\?"([\w-]+)/.exec(cause)?.[1];
}

function refusedAgain({ request, reports = [], renewals = 0, caught }: TokenRequest): TokenRefusedAgain {
  const refused = renewals >= MAX_RENEWALS ? `${renewals + 1} tokens` : 'a token';
  const happened =
    `The platform refused ${refused} of account ${request.account} that it had just issued. ` +
    'Check that the credential may use the reporting API, and that base_url is the platform that issued it.';
  return new TokenRefusedAgain(happened, {
    account: request.account,
    report_ids: reports.map(({ id }) => id),
    request_id: requestIdIn(caught?.Cause ?? ''),
  });
}

export const handler = createHandler(TokenRequest, getToken, (settings, log) => {
  const connection = { ...createConnection(settings), heard: logCalls(log) };
  const extra = readSettingObject(settings.REFRESH_PARAMETERS);
  return {
    secrets: createSecrets(settings.SECRET_PREFIX),
    requestToken: (client: OAuthCredential, scope: string | undefined) =>
      client.refresh_token === undefined
        ? requestToken(connection, client, { ...(scope !== undefined && { scope }) })
        : refreshToken(connection, client, client.refresh_token, extra),
    baseUrl: settings.PLATFORM_BASE_URL,
  };
});

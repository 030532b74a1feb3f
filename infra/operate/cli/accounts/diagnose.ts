import { randomUUID } from 'node:crypto';
import { REVISION_HEADER, SCOPES } from '../../../../functions/contract.ts';
import {
  type Authorization,
  authorizationOf,
  type Platform,
} from '../../../../functions/platform/connection.ts';
import { createTokenRequest } from '../../../../functions/platform/oauth.ts';
import { getReport } from '../../../../functions/platform/reports.ts';
import { type ApiKeyCredential, apiKeyWarning, useApiKey } from '../../../../functions/token/api-key.ts';
import {
  credentialWarnings,
  grantToken,
  isOAuth,
  type OAuthCredential,
  readCredential,
} from '../../../../functions/token/credential.ts';
import {
  CredentialUnusable,
  LoginRequired,
  RateLimited,
  ServiceUnavailable,
} from '../../../../functions/workflow/errors.ts';
import { CommandFailed, isPlatformFailure, sayPlatformFailure } from '../../place/errors.ts';
import { type AccountAccess, explainStoreError } from './account.ts';
import { SILENT } from './stored-credential.ts';

/** The needs of an account's exports. */
export interface Needs {
  readonly revisions: readonly string[];
  readonly scopes: readonly string[];
  /** Some APIs want one in each call. */
  readonly advertiserIds: readonly string[];
  /** The additional parameters of a refresh request. */
  readonly refreshParameters: Readonly<Record<string, string>>;
}

/** One line of the diagnosis. */
export interface Check {
  readonly account?: string;
  readonly check: 'secret' | 'token' | 'scopes' | 'revision';
  /** `unknown` means that it cannot be checked from here. */
  readonly status: 'ok' | 'fault' | 'unknown';
  /** Never contains a secret. */
  readonly description: string;
  readonly todo?: string;
}

function createCheck(
  check: Check['check'],
  status: Check['status'],
  description: string,
  todo?: string,
): Check {
  return { check, status, description, ...(todo !== undefined && { todo }) };
}

/**
 * Checks an account: its secret's fields, its token, the token's scopes, and the revisions. Stops at a fault
 * that prevents the other checks.
 */
export async function* diagnose(
  account: AccountAccess,
  needs: Needs,
  now: Date = new Date(),
): AsyncGenerator<Check, void> {
  const stored = await readCredential(account.store, account.name).catch((error) =>
    describeStoreFault(error, account),
  );
  if ('status' in stored) return void (yield stored);
  const { credential } = stored;
  yield createCheck('secret', 'ok', `${account.place} has ${Object.keys(credential).join(', ')}`);
  for (const warning of credentialWarnings(credential)) yield createCheck('secret', 'unknown', warning);
  const authorization = yield* isOAuth(credential)
    ? checkToken(account, credential, needs)
    : checkApiKey(account, credential, now);
  if (!authorization) return;
  const { advertiserIds, revisions } = needs;
  for (const revision of revisions)
    yield checkRevision({ ...account.platform, advertiserIds, revision }, authorization);
}

/** @throws an error that does not come from the store */
function describeStoreFault(error: unknown, account: AccountAccess): Check {
  const failure = explainStoreError(error, account);
  if (failure instanceof CommandFailed) return createCheck('secret', 'fault', failure.happened, failure.todo);
  throw error;
}

/** An API key has no token. */
async function* checkApiKey(
  account: AccountAccess,
  credential: ApiKeyCredential,
  now: Date,
): AsyncGenerator<Check, Authorization | undefined> {
  try {
    const authorization = useApiKey(credential, { account: account.name, scope: SCOPES.reports }, now);
    yield createCheck('token', 'unknown', apiKeyWarning(account.name, now));
    return authorization;
  } catch (error) {
    if (!(error instanceof CredentialUnusable)) throw error;
    return void (yield createCheck('token', 'fault', error.happened));
  }
}

async function* checkToken(
  account: AccountAccess,
  credential: OAuthCredential,
  { scopes: needed, refreshParameters }: Needs,
): AsyncGenerator<Check, Authorization | undefined> {
  const requestToken = createTokenRequest(account.platform, refreshParameters);
  const access = { store: account.store, requestToken, log: SILENT };
  // Without a scope, the token gets every scope of the client (contract 4.1).
  const grant = (client: OAuthCredential) => grantToken(account.name, client, undefined, access);
  const hasLogin = credential.refresh_token !== undefined;
  const refresh = async () => {
    // An execution may have replaced the refresh token before this call got the lease.
    const newest = await readCredential(account.store, account.name);
    return grant(isOAuth(newest.credential) ? newest.credential : credential);
  };
  const token = await (hasLogin ? account.underLease(refresh) : grant(credential)).catch((error: unknown) =>
    describeTokenFault(error, account),
  );
  if ('status' in token) return void (yield token);
  yield createCheck('token', 'ok', `issued for ${token.expiresIn} s`);
  yield checkScopes(token.scope, needed, hasLogin);
  return authorizationOf(token.accessToken, credential.client_id);
}

function describeTokenFault(error: unknown, account: AccountAccess): Check {
  if (error instanceof ServiceUnavailable || error instanceof RateLimited)
    return createCheck('token', 'unknown', error.happened, 'Try again in a minute.');
  const needsLogin = error instanceof LoginRequired;
  // Without a status, it is about the stored credential.
  const isRefused = error instanceof CredentialUnusable && error.facts.status !== undefined;
  if (!needsLogin && !isRefused && !isPlatformFailure(error)) return describeStoreFault(error, account);
  const todo = needsLogin
    ? `Log in again: ${account.login}`
    : isRefused
      ? 'Check client_id and client_secret with the platform.'
      : 'Check base_url, and check that this machine can connect to the platform.';
  return createCheck('token', 'fault', sayPlatformFailure(error), todo);
}

function checkScopes(granted: string | undefined, needed: readonly string[], isLogin: boolean): Check {
  if (granted === undefined)
    return createCheck('scopes', 'unknown', 'the platform does not name the granted scopes');
  const missing = needed.filter((scope) => !granted.split(' ').includes(scope)).join(' ');
  if (missing === '') return createCheck('scopes', 'ok', granted);
  const todo = isLogin
    ? `Log in again, with --scope "${needed.join(' ')}".`
    : `Give the client ${missing} in the developer portal.`;
  return createCheck('scopes', 'fault', `${granted || 'none'}; the exports also need ${missing}`, todo);
}

/** The advice for an answer to a request, by its status. */
const ANSWERS: Readonly<Record<string, readonly [Check['check'], Check['status'], todo: string]>> = {
  400:
    REVISION_HEADER === undefined
      ? ['revision', 'unknown', 'The platform may refuse the form of the id. Start an export.']
      : ['revision', 'fault', 'Pin a published revision.'],
  401: ['token', 'fault', 'Check that base_url is the platform that issued the token.'],
  403: ['scopes', 'fault', `Give the credential the scope ${SCOPES.reports ?? 'that reports need'}.`],
};

/**
 * Asks for a report that does not exist, so it creates nothing and breaks no report's 10 s limit. The
 * platform checks the revision after authentication and before everything else (contract 5.6, 9.2), so any
 * answer other than 400 and 401 means that it knows the revision.
 */
async function checkRevision(platform: Platform, authorization: Authorization): Promise<Check> {
  const { revision } = platform;
  try {
    await getReport(platform, authorization, randomUUID());
  } catch (error) {
    if (!isPlatformFailure(error)) throw error;
    const answer = String(error.facts.status);
    const [check, status, todo] = ANSWERS[answer] ?? ['revision', 'unknown', 'Try again.'];
    if (answer !== '422')
      return createCheck(check, status, `${revision}: ${sayPlatformFailure(error)}`, todo);
  }
  return createCheck('revision', 'ok', `${revision} is accepted`);
}

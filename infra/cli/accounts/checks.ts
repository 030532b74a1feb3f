import { randomUUID } from 'node:crypto';
import { type Authorization, bearer, type Connection } from '../../../functions/platform/connection.ts';
import { createTokenRequest } from '../../../functions/platform/oauth.ts';
import { getReport } from '../../../functions/platform/reports.ts';
import { type ApiKeyCredential, apiKeyWarning, useApiKey } from '../../../functions/token/api-key.ts';
import {
  type Credential,
  credentialWarnings,
  grantToken,
  isOAuth,
  type OAuthCredential,
  readCredential,
} from '../../../functions/token/credential.ts';
import { REPORTING } from '../../../functions/token/scope.ts';
import {
  CredentialUnusable,
  type ExportError,
  LoginRequired,
  ServiceUnavailable,
} from '../../../functions/workflow/errors.ts';
import { CommandFailed, isPlatformFailure, sayPlatformFailure } from '../../knowledge/errors.ts';
import { type Account, explainStoreError, SILENT } from './account.ts';

/** One line of the diagnosis. */
export interface Check {
  readonly account?: string;
  readonly check: 'secret' | 'token' | 'scopes' | 'revision';
  /** `unknown` means that it cannot be checked from here. */
  readonly status: 'ok' | 'fault' | 'unknown';
  /** Never contains a secret. */
  readonly found: string;
  readonly todo?: string;
}

/** The needs of an account's exports. */
export interface Needs {
  readonly revisions: readonly string[];
  readonly scopes: readonly string[];
  /** Additional parameters of a refresh request. */
  readonly refreshParameters: Readonly<Record<string, string>>;
}

function say(check: Check['check'], status: Check['status'], found: string, todo?: string): Check {
  return { check, status, found, ...(todo !== undefined && { todo }) };
}

/** Checks an account, from its secret to its revision. Stops at a fault that prevents the other checks. */
export async function* diagnose(
  account: Account,
  needs: Needs,
  now: Date = new Date(),
): AsyncGenerator<Check, void> {
  const authorization = yield* checkCredential(account, needs, now);
  if (!authorization) return;
  for (const revision of needs.revisions) yield checkRevision(account.platform, authorization, revision);
}

/** Checks the secret's fields, then requests a token and checks its scopes. An API key has no token. */
async function* checkCredential(
  account: Account,
  needs: Needs,
  now: Date,
): AsyncGenerator<Check, Authorization | undefined> {
  const stored = await readCredential(account.store, account.name).catch((error) =>
    describeStoreFault(error, account),
  );
  if ('status' in stored) return void (yield stored);
  const { credential } = stored;
  yield say('secret', 'ok', `${account.place} holds ${describeFields(credential)}`);
  for (const warning of credentialWarnings(credential)) yield say('secret', 'unknown', warning);
  return isOAuth(credential)
    ? yield* checkToken(account, credential, needs)
    : yield* checkApiKey(account, credential, now);
}

function describeFields(credential: Credential): string {
  if (!isOAuth(credential)) return 'an API key';
  return `client_id and client_secret${credential.refresh_token === undefined ? '' : ', and a login'}`;
}

/** @throws an error that does not come from the store */
function describeStoreFault(error: unknown, account: Account): Check {
  const failure = explainStoreError(error, account);
  if (failure instanceof CommandFailed) return say('secret', 'fault', failure.happened, failure.todo);
  throw error;
}

async function* checkApiKey(
  account: Account,
  credential: ApiKeyCredential,
  now: Date,
): AsyncGenerator<Check, Authorization | undefined> {
  try {
    const authorization = useApiKey(credential, { account: account.name, scope: REPORTING }, now);
    yield say('token', 'unknown', apiKeyWarning(account.name, now));
    return authorization;
  } catch (error) {
    if (!(error instanceof CredentialUnusable)) throw error;
    return void (yield { check: 'token', status: 'fault', found: error.happened });
  }
}

async function* checkToken(
  account: Account,
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
  yield say('token', 'ok', `issued for ${token.expiresIn} s`);
  const scopes = token.scope?.split(' ').filter((scope) => scope !== '');
  yield checkScopes(scopes, needed, hasLogin);
  return bearer(token.accessToken);
}

function describeTokenFault(error: unknown, account: Account): Check {
  if (error instanceof LoginRequired)
    return say('token', 'fault', sayPlatformFailure(error), `Log in again: ${account.login}`);
  // Without a status, it is about the stored credential.
  if (error instanceof CredentialUnusable && error.facts.status !== undefined)
    return say(
      'token',
      'fault',
      sayPlatformFailure(error),
      'Check client_id and client_secret with the platform.',
    );
  if (error instanceof ServiceUnavailable)
    return say('token', 'unknown', error.happened, 'Try again in a minute.');
  if (!isPlatformFailure(error)) return describeStoreFault(error, account);
  const todo = 'Check base_url, and check that this machine can connect to the platform.';
  return say('token', 'fault', sayPlatformFailure(error), todo);
}

function checkScopes(
  scopes: readonly string[] | undefined,
  needed: readonly string[],
  isLogin: boolean,
): Check {
  if (scopes === undefined) return say('scopes', 'unknown', 'the platform does not name the granted scopes');
  const granted = scopes.join(' ') || 'none';
  const missing = needed.filter((scope) => !scopes.includes(scope)).join(' ');
  if (missing === '') return say('scopes', 'ok', granted);
  const todo = isLogin
    ? `Log in again, with --scope "${needed.join(' ')}".`
    : `Give the client ${missing} in the developer portal.`;
  return say('scopes', 'fault', `${granted}; the exports also need ${missing}`, todo);
}

/**
 * Asks for a report that does not exist, so it creates nothing and breaks no report's 10 s limit. The
 * platform checks the revision after authentication and before everything else (contract 5.6, 9.2), so any
 * answer other than 400 and 401 means that it knows the revision.
 */
async function checkRevision(
  platform: Connection,
  authorization: Authorization,
  revision: string,
): Promise<Check> {
  try {
    await getReport({ ...platform, revision }, authorization, randomUUID());
    return say('revision', 'ok', `${revision} is accepted`);
  } catch (error) {
    if (isPlatformFailure(error)) return judgeAnswer(error, revision);
    throw error;
  }
}

function judgeAnswer(error: ExportError, revision: string): Check {
  const { status } = error.facts;
  const message = sayPlatformFailure(error);
  if (status === 422) return say('revision', 'ok', `${revision} is accepted`);
  if (status === 400)
    return say(
      'revision',
      'fault',
      `X-Service-Revision ${revision}: ${message}`,
      'Pin a published revision.',
    );
  if (status === 401)
    return say(
      'token',
      'fault',
      `not accepted: ${message}`,
      'Check that base_url is the platform that issued it.',
    );
  if (status === 403) return say('scopes', 'fault', message, 'Give the credential the scope reporting:read.');
  return say('revision', 'unknown', `${revision}: ${message}`, 'Try again.');
}

import { OAuthError } from '../../../functions/platform/errors.ts';
import { apiKeyDaysLeft, apiKeyWarning } from '../../../functions/token/api-key.ts';
import {
  type Credential,
  credentialWarnings,
  isOAuth,
  type OAuthCredential,
  readCredential,
  type StoredCredential,
} from '../../../functions/token/credential.ts';
import { createTokenRequest, grantToken } from '../../../functions/token/grant.ts';
import { type Account, explainStoreError } from '../account.ts';
import { CommandFailed, isPlatformFailure } from '../errors.ts';
import { type Check, fault, type Needs, ok, unknown } from './check.ts';
import type { Access } from './platform.ts';

/** The doctor prints the result of a refresh and not how it went. */
const SILENT = { info() {}, warn() {} };

/** Checks the secret's fields, then requests a token and checks its scopes. An API key has no token. */
export async function* checkCredential(
  account: Account,
  needs: Needs,
  now: Date,
): AsyncGenerator<Check, Access | undefined> {
  const stored = await readCredential(account.store, account.name).catch((error) =>
    describeStoreFault(error, account),
  );
  if ('status' in stored) return void (yield stored);
  const { credential } = stored;
  yield ok('secret', `${account.place} holds ${describeFields(credential)}`);
  for (const warning of credentialWarnings(credential)) yield unknown('secret', warning);
  return isOAuth(credential)
    ? yield* checkToken(account, { ...stored, credential }, needs)
    : yield* checkApiKey(account.name, credential.api_key, now);
}

function describeFields(credential: Credential): string {
  if (!isOAuth(credential)) return 'an API key';
  return `client_id and client_secret${credential.refresh_token === undefined ? '' : ', and a login'}`;
}

/** @throws an error that does not come from the store */
function describeStoreFault(error: unknown, account: Account): Check {
  const failure = explainStoreError(error, account);
  if (failure instanceof CommandFailed) return fault('secret', failure.happened, failure.todo);
  throw error;
}

async function* checkApiKey(
  account: string,
  value: string,
  now: Date,
): AsyncGenerator<Check, Access | undefined> {
  const warning = apiKeyWarning(account, now);
  if (apiKeyDaysLeft(now) <= 0) return void (yield { check: 'token', status: 'fault', found: warning });
  yield unknown('token', warning);
  return { authorization: { scheme: 'ApiKey', value } };
}

async function* checkToken(
  account: Account,
  stored: StoredCredential<OAuthCredential>,
  { scopes: needed, refreshParameters }: Needs,
): AsyncGenerator<Check, Access | undefined> {
  const requestToken = createTokenRequest(account.platform, refreshParameters);
  const access = { store: account.store, requestToken, log: SILENT };
  // Without a scope, the token gets every scope of the client (contract 4.1).
  const token = await grantToken(account.name, stored, undefined, access).catch((error: unknown) =>
    describeTokenFault(error, account),
  );
  if ('status' in token) return void (yield token);
  yield ok('token', `issued for ${token.expiresIn} s`);
  const scopes = token.scope?.split(' ').filter((scope) => scope !== '');
  yield checkScopes(scopes, needed, stored.credential.refresh_token !== undefined);
  return {
    authorization: { scheme: 'Bearer', value: token.accessToken },
    ...(scopes !== undefined && { scopes }),
  };
}

function describeTokenFault(error: unknown, account: Account): Check {
  if (error instanceof OAuthError) {
    const todo =
      error.error === 'invalid_grant'
        ? `Log in again: npm run export -- login --account ${account.name}`
        : 'Check client_id and client_secret with the platform.';
    return fault('token', error.message, todo);
  }
  if (!isPlatformFailure(error)) return describeStoreFault(error, account);
  const todo = 'Check base_url, and check that this machine can connect to the platform.';
  return fault('token', error.message, todo);
}

function checkScopes(
  scopes: readonly string[] | undefined,
  needed: readonly string[],
  isLogin: boolean,
): Check {
  if (scopes === undefined) return unknown('scopes', 'the platform does not name the granted scopes');
  const granted = scopes.join(' ') || 'none';
  const missing = needed.filter((scope) => !scopes.includes(scope)).join(' ');
  if (missing === '') return ok('scopes', granted);
  const todo = isLogin
    ? `Log in again, with --scope "${needed.join(' ')}".`
    : `Give the client ${missing} in the developer portal.`;
  return fault('scopes', `${granted}; the exports also need ${missing}`, todo);
}

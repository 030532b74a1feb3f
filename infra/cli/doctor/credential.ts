import { OAuthError } from '../../../functions/platform/errors.ts';
import { refreshToken, requestToken, type Token } from '../../../functions/platform/token.ts';
import { API_KEY_SUNSET, apiKeyDaysLeft } from '../../../functions/token/api-key.ts';
import {
  type Credential,
  type OAuthCredential,
  parseCredential,
} from '../../../functions/token/credential.ts';
import { CredentialUnusable } from '../../../functions/workflow/errors.ts';
import type { Account } from '../account.ts';
import { readLoginCredential, storeRefreshToken } from '../credential-store.ts';
import { CommandFailed } from '../errors.ts';
import { type Check, fault, type Needs, ok, unknown } from './check.ts';
import { type Access, isPlatformFailure } from './platform.ts';

/** Checks the secret's fields, then requests a token and checks its scopes. An API key has no token. */
export async function* checkCredential(
  account: Account,
  needs: Needs,
  now: Date,
): AsyncGenerator<Check, Access | undefined> {
  try {
    const credential = parseCredential((await account.store.read()).text, account.name);
    yield ok('secret', `${account.store.place} holds ${describeFields(credential)}`);
    if ('api_key' in credential) return yield* checkApiKey(credential.api_key, now);
    return yield* checkToken(account, credential, needs);
  } catch (error) {
    yield describeSecretFault(error, account);
    return undefined;
  }
}

function describeFields(credential: Credential): string {
  if ('api_key' in credential) return 'an API key';
  return `client_id and client_secret${credential.refresh_token === undefined ? '' : ', and a login'}`;
}

function describeSecretFault(error: unknown, { store }: Account): Check {
  if (error instanceof CommandFailed) return fault('secret', error.happened, error.todo);
  if (!(error instanceof CredentialUnusable)) throw error;
  const faults = (error.facts.faults as string[]).join('; ');
  return fault(
    'secret',
    `${store.place} cannot be used: ${faults}`,
    'Store {"client_id","client_secret"} there.',
  );
}

async function* checkApiKey(value: string, now: Date): AsyncGenerator<Check, Access | undefined> {
  const days = apiKeyDaysLeft(now);
  const end = API_KEY_SUNSET.toISOString().slice(0, 10);
  const todo = 'Store {"client_id","client_secret"} instead.';
  if (days <= 0) {
    yield fault('token', `none: the platform disabled API keys on ${end}`, todo);
    return undefined;
  }
  yield unknown('token', `none: the platform disables API keys on ${end}, in ${days} days`, todo);
  return { authorization: { scheme: 'ApiKey', value } };
}

async function* checkToken(
  account: Account,
  credential: OAuthCredential,
  { scopes: needed, refreshParameters }: Needs,
): AsyncGenerator<Check, Access | undefined> {
  const token = await getToken(account, credential, refreshParameters).catch((error) => error as Error);
  if (token instanceof Error) {
    yield describeTokenFault(token, account);
    return undefined;
  }
  yield ok('token', `issued for ${token.expiresIn} s`);
  const scopes = token.scope?.split(' ').filter((scope) => scope !== '');
  yield checkScopes(scopes, needed, credential.refresh_token !== undefined);
  return {
    authorization: { scheme: 'Bearer', value: token.accessToken },
    ...(scopes !== undefined && { scopes }),
  };
}

/** Names no scope, so the token gets every scope of the client (contract 4.1). Stores a rotated refresh token. */
async function getToken(
  account: Account,
  credential: OAuthCredential,
  extra: Needs['refreshParameters'],
): Promise<Token> {
  const { platform, store, name } = account;
  const { refresh_token: login } = credential;
  if (login === undefined) return requestToken(platform, credential);
  const token = await refreshToken(platform, credential, login, extra).catch((error) =>
    refreshRotated(error, account, login, extra),
  );
  const { refreshToken: rotated } = token;
  if (rotated !== undefined && rotated !== login)
    await storeRefreshToken(store, name, credential, { value: rotated, issuedAt: new Date() });
  return token;
}

/** Tries again if the stored refresh token has changed: an export may have rotated it in the meantime. */
async function refreshRotated(
  error: unknown,
  { platform, store, name }: Account,
  used: string,
  extra: Needs['refreshParameters'],
): Promise<Token> {
  if (!(error instanceof OAuthError) || error.error !== 'invalid_grant') throw error;
  const now = await readLoginCredential(store, name);
  if (now.refresh_token === undefined || now.refresh_token === used) throw error;
  return refreshToken(platform, now, now.refresh_token, extra);
}

function describeTokenFault(error: Error, { name }: Account): Check {
  if (error instanceof CommandFailed) return fault('token', error.happened, error.todo);
  if (error instanceof OAuthError) {
    const again = `Log in again: npm run export -- login --account ${name}`;
    const todo =
      error.error === 'invalid_grant' ? again : 'Check client_id and client_secret with the platform.';
    return fault('token', error.message, todo);
  }
  if (!isPlatformFailure(error)) throw error;
  return fault(
    'token',
    error.message,
    'Check base_url, and check that this machine can connect to the platform.',
  );
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

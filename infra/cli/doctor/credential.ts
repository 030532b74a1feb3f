import type { Authorization } from '../../../functions/platform/connection.ts';
import { NoAnswer, OAuthError, PlatformError, UnreadableAnswer } from '../../../functions/platform/errors.ts';
import { refreshToken, requestToken, type Token } from '../../../functions/platform/token.ts';
import { API_KEY_SUNSET, apiKeyDaysLeft } from '../../../functions/token/api-key.ts';
import {
  type Credential,
  type OAuthCredential,
  parseCredential,
} from '../../../functions/token/credential.ts';
import { CredentialUnusable } from '../../../functions/workflow/errors.ts';
import { readLoginCredential, storeRefreshToken } from '../credential/store.ts';
import type { Target } from '../credential/target.ts';
import { CommandFailed } from '../usage.ts';
import { type Check, fault, type Needs, ok, unknown } from './check.ts';

/** What the account's calls are authorized with, and what is known of it. */
export interface Authorized {
  readonly authorization: Authorization;
  /** Those granted; undefined where the platform does not say. */
  readonly scopes?: readonly string[];
}

/** The secret's shape, then what it gives: a token and its scopes, or the legacy key and its days. */
export async function* checkCredential(
  target: Target,
  needs: Needs,
  now: Date,
): AsyncGenerator<Check, Authorized | undefined> {
  try {
    const credential = parseCredential((await target.store.read()).text, target.account);
    yield ok('secret', `${target.store.place} holds ${formOf(credential)}`);
    if ('api_key' in credential) return yield* checkApiKey(credential.api_key, now);
    return yield* checkToken(target, credential, needs);
  } catch (error) {
    yield secretFault(error, target);
    return undefined;
  }
}

function formOf(credential: Credential): string {
  if ('api_key' in credential) return 'an API key';
  return `client_id and client_secret${credential.refresh_token === undefined ? '' : ', and a login'}`;
}

function secretFault(error: unknown, { store }: Target): Check {
  if (error instanceof CommandFailed) return fault('secret', error.happened, error.todo);
  if (!(error instanceof CredentialUnusable)) throw error;
  const faults = (error.facts.faults as string[]).join('; ');
  return fault(
    'secret',
    `${store.place} cannot be used: ${faults}`,
    'Store {"client_id","client_secret"} there.',
  );
}

async function* checkApiKey(value: string, now: Date): AsyncGenerator<Check, Authorized | undefined> {
  const days = apiKeyDaysLeft(now);
  const until = API_KEY_SUNSET.toISOString().slice(0, 10);
  const todo = 'Store {"client_id","client_secret"} instead.';
  if (days <= 0) {
    yield fault('token', `none: an API key is used, which the platform has disabled on ${until}`, todo);
    return undefined;
  }
  yield unknown('token', `none: an API key is used, which ends on ${until}, in ${days} days`, todo);
  return { authorization: { scheme: 'ApiKey', value } };
}

async function* checkToken(
  target: Target,
  credential: OAuthCredential,
  { scopes: needed, refreshParameters }: Needs,
): AsyncGenerator<Check, Authorized | undefined> {
  const token = await takeToken(target, credential, refreshParameters).catch((error) => error as Error);
  if (token instanceof Error) {
    yield tokenFault(token, target);
    return undefined;
  }
  yield ok('token', `given, for ${token.expiresIn} s`);
  const scopes = token.scope?.split(' ').filter((scope) => scope !== '');
  yield checkScopes(scopes, needed, credential.refresh_token !== undefined);
  return {
    authorization: { scheme: 'Bearer', value: token.accessToken },
    ...(scopes !== undefined && { scopes }),
  };
}

/** Asked for without a scope, which gives all that there are (contract 4.1). A rotated login is stored before it is used. */
async function takeToken(
  target: Target,
  credential: OAuthCredential,
  extra: Needs['refreshParameters'],
): Promise<Token> {
  const { platform, store, account } = target;
  const { refresh_token: login } = credential;
  if (login === undefined) return requestToken(platform, credential);
  const token = await refreshToken(platform, credential, login, extra).catch((error) =>
    refreshRotated(error, target, login, extra),
  );
  const rotated = token.refreshToken;
  if (rotated !== undefined && rotated !== login) {
    await storeRefreshToken(store, account, credential, { refreshToken: rotated, issuedAt: new Date() });
  }
  return token;
}

/** A refused login may have been rotated by an export in this very moment: then the one that is stored now is good. */
async function refreshRotated(
  error: unknown,
  { platform, store, account }: Target,
  used: string,
  extra: Needs['refreshParameters'],
): Promise<Token> {
  if (!(error instanceof OAuthError) || error.error !== 'invalid_grant') throw error;
  const now = await readLoginCredential(store, account);
  if (now.refresh_token === undefined || now.refresh_token === used) throw error;
  return refreshToken(platform, now, now.refresh_token, extra);
}

function tokenFault(error: Error, { account }: Target): Check {
  if (error instanceof CommandFailed) return fault('token', error.happened, error.todo);
  if (error instanceof OAuthError) {
    const again = `Log in again: npm run export -- login --account ${account}`;
    const todo =
      error.error === 'invalid_grant' ? again : 'Check client_id and client_secret with the platform.';
    return fault('token', error.message, todo);
  }
  const isPlatform = [PlatformError, NoAnswer, UnreadableAnswer].some((one) => error instanceof one);
  if (!isPlatform) throw error;
  return fault('token', error.message, 'Check base_url, and that the platform can be reached from here.');
}

function checkScopes(
  scopes: readonly string[] | undefined,
  needed: readonly string[],
  isLogin: boolean,
): Check {
  if (scopes === undefined) return unknown('scopes', 'the platform does not say which it granted');
  const granted = scopes.join(' ') || 'none';
  const missing = needed.filter((scope) => !scopes.includes(scope)).join(' ');
  if (missing === '') return ok('scopes', granted);
  const todo = isLogin
    ? `Log in again, with --scope "${needed.join(' ')}".`
    : `Give the client ${missing} in the developer portal.`;
  return fault('scopes', `${granted}; the exports also need ${missing}`, todo);
}

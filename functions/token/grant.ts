import type { Connection } from '../platform/connection.ts';
import { OAuthError } from '../platform/errors.ts';
import { refreshToken, requestToken, type Token } from '../platform/oauth.ts';
import type { Log } from '../workflow/step.ts';
import {
  type CredentialStore,
  isOAuth,
  type OAuthCredential,
  readCredential,
  type StoredCredential,
  updateCredential,
} from './credential.ts';

/** Sends a token request: a refresh for a credential with a login, else client credentials (contract 4.1). */
export type RequestToken = (client: OAuthCredential, scope: string | undefined) => Promise<Token>;

/** @param extra form parameters of a refresh, besides those of RFC 6749 */
export function createTokenRequest(
  connection: Connection,
  extra: Readonly<Record<string, string>>,
): RequestToken {
  return (client, scope) =>
    client.refresh_token === undefined
      ? requestToken(connection, client, scope)
      : refreshToken(connection, client, client.refresh_token, extra);
}

/** Errors that a newer version of the credential may cure. */
const CREDENTIAL_ERRORS = ['invalid_client', 'invalid_grant'];

interface GrantAccess {
  readonly store: CredentialStore;
  readonly requestToken: RequestToken;
  readonly log: Pick<Log, 'info' | 'warn'>;
}

/**
 * Gets a token from the platform. If the credential is refused and has changed since it was read, tries once
 * more with the new one: an operator may have corrected it, or another refresh may have rotated the refresh
 * token. Stores a rotated refresh token before it returns the access token.
 *
 * @throws what {@link RequestToken} throws, and what the store throws
 */
export async function grantToken(
  account: string,
  stored: StoredCredential<OAuthCredential>,
  scope: string | undefined,
  access: GrantAccess,
): Promise<Token> {
  const { client, token } = await requestTwice(account, stored, scope, access);
  const rotated = token.refreshToken;
  if (client.refresh_token !== undefined && rotated !== undefined && rotated !== client.refresh_token) {
    await storeRotated(account, client.refresh_token, rotated, access);
  }
  return token;
}

async function requestTwice(
  account: string,
  { credential, text }: StoredCredential<OAuthCredential>,
  scope: string | undefined,
  { store, requestToken, log }: GrantAccess,
): Promise<{ client: OAuthCredential; token: Token }> {
  try {
    return { client: credential, token: await requestToken(credential, scope) };
  } catch (error) {
    if (!(error instanceof OAuthError) || !CREDENTIAL_ERRORS.includes(error.error)) throw error;
    const newest = await readCredential(store, account);
    if (newest.text === text || !isOAuth(newest.credential)) throw error;
    log.warn('the credential was refused but has changed; trying the new one', {
      account,
      error: error.error,
    });
    return { client: newest.credential, token: await requestToken(newest.credential, scope) };
  }
}

/** Replaces the used refresh token, and keeps the time of the login: a login at the same time must win. */
async function storeRotated(
  account: string,
  used: string,
  rotated: string,
  { store, log }: GrantAccess,
): Promise<void> {
  const isStored = await updateCredential(store, account, (current) =>
    isOAuth(current) && current.refresh_token === used ? { refresh_token: rotated } : undefined,
  );
  if (isStored) log.info('the platform rotated the refresh token; the new one is stored', { account });
  else log.warn('a newer login is stored; the rotated refresh token is not needed', { account });
}

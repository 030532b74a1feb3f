import type { Connection } from '../platform/connection.ts';
import { requestToken, type Token } from '../platform/oauth.ts';
import type { Log } from '../workflow/step.ts';
import { type CredentialStore, isOAuth, type OAuthCredential, updateCredential } from './credential.ts';

/** Sends a token request: a refresh for a credential with a login, else client credentials (contract 4.1). */
export type RequestToken = (client: OAuthCredential, scope: string | undefined) => Promise<Token>;

/** @param extra form parameters of a refresh, besides those of RFC 6749 */
export function createTokenRequest(
  connection: Connection,
  extra: Readonly<Record<string, string>>,
): RequestToken {
  return (client, scope) => {
    const { refresh_token } = client;
    const form =
      refresh_token === undefined
        ? { grant_type: 'client_credentials', ...(scope && { scope }) }
        : { grant_type: 'refresh_token', refresh_token, ...extra };
    return requestToken(connection, client, form);
  };
}

interface GrantAccess {
  readonly store: CredentialStore;
  readonly requestToken: RequestToken;
  readonly log: Pick<Log, 'info' | 'warn'>;
}

/**
 * Gets a token from the platform. Stores a rotated refresh token before it returns the access token. Whoever
 * calls it for a credential with a login has the account's lease.
 *
 * @throws what {@link RequestToken} throws, and what the store throws
 */
export async function grantToken(
  account: string,
  credential: OAuthCredential,
  scope: string | undefined,
  access: GrantAccess,
): Promise<Token> {
  const token = await access.requestToken(credential, scope);
  const { refresh_token: used } = credential;
  const rotated = token.refreshToken;
  if (used !== undefined && rotated !== undefined && rotated !== used)
    await storeRotated(account, used, rotated, access);
  return token;
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

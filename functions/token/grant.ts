import type { Secrets, StoredCredential } from '../aws/secrets.ts';
import { decideGrant } from '../decisions/platform-failure.ts';
import { OAuthError } from '../platform/errors.ts';
import type { Token } from '../platform/token.ts';
import { ServiceUnavailable } from '../workflow/errors.ts';
import type { Common } from '../workflow/step.ts';
import type { OAuthCredential } from './credential.ts';

/** What is sent to the token endpoint (contract 4.1; RFC 6749, section 6, for a credential that somebody logged in with). */
export type RequestToken = (client: OAuthCredential, scope: string | undefined) => Promise<Token>;

export interface GrantAccess extends Pick<Common, 'log' | 'now'> {
  readonly secrets: Pick<Secrets, 'readCredential' | 'replaceCredential'>;
  readonly requestToken: RequestToken;
}

/** Each try loses only to a write that was made in the moment between its read and its own write. */
const STORE_TRIES = 5;

/** Refusals of the credential itself, which whoever changed it in the meantime has cured. */
const CURED_BY_ANOTHER = ['invalid_client', 'invalid_grant'];

/**
 * A token from the platform. A refused credential is read again, and tried again where it differs: an operator may have
 * corrected it, or another refresh may have rotated the refresh token. A rotated one is stored before the access token
 * that came with it is handed out.
 *
 * @throws LoginRequired, CredentialUnusable, PlatformUnavailable, AnswerUnreadable
 */
export async function grantToken(
  account: string,
  stored: StoredCredential<OAuthCredential>,
  scope: string | undefined,
  access: GrantAccess,
): Promise<Token> {
  const { used, token } = await requestTwice(account, stored, scope, access).catch((error) => {
    throw decideGrant(error, account);
  });
  const rotated = token.refreshToken;
  if (used.refresh_token !== undefined && rotated !== undefined && rotated !== used.refresh_token) {
    await storeRotated(account, used.refresh_token, rotated, access);
  }
  return token;
}

async function requestTwice(
  account: string,
  { credential, text }: StoredCredential<OAuthCredential>,
  scope: string | undefined,
  { secrets, requestToken, log }: GrantAccess,
): Promise<{ used: OAuthCredential; token: Token }> {
  try {
    return { used: credential, token: await requestToken(credential, scope) };
  } catch (error) {
    if (!(error instanceof OAuthError) || !CURED_BY_ANOTHER.includes(error.error)) throw error;
    const again = await secrets.readCredential(account);
    if (again.text === text || 'api_key' in again.credential) throw error;
    log.warn('the credential was refused and has changed since', { account, error: error.error });
    return { used: again.credential, token: await requestToken(again.credential, scope) };
  }
}

/**
 * Puts the new refresh token in the place of the one that was used. Where another one is there by now, somebody has
 * logged in meanwhile, and theirs stays. The time beside it stays as well: it says when somebody logged in, and whoever
 * is just doing that again is to win.
 */
async function storeRotated(
  account: string,
  used: string,
  rotated: string,
  { secrets, log }: GrantAccess,
): Promise<void> {
  for (let attempt = 1; attempt <= STORE_TRIES; attempt += 1) {
    const { credential, text, version } = await secrets.readCredential(account);
    if ('api_key' in credential || credential.refresh_token !== used) {
      log.warn('a newer login is stored; the rotated one is not needed', { account });
      return;
    }
    const next = `${JSON.stringify({ ...JSON.parse(text), refresh_token: rotated }, null, 2)}\n`;
    if (await secrets.replaceCredential(account, version, next)) {
      log.info('the platform rotated the refresh token, and the new one is stored', { account });
      return;
    }
  }
  throw new ServiceUnavailable(`The credential of account ${account} was changed by another each time.`, {
    account,
  });
}

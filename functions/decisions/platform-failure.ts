import { OAuthError } from '../platform/errors.ts';
import {
  CredentialUnusable,
  type Facts,
  LoginRequired,
  PlatformUnavailable,
  RequestRefused,
} from '../workflow/errors.ts';

/**
 * Turns an error of a token request into the error that the state machine acts on (contract 7.3).
 *
 * @param isNewHost the host of base_url never gave this account a token: without an address it is a mistyped
 *   name, and not an outage
 */
export function toGrantError(error: unknown, account: string, isNewHost: boolean): unknown {
  if (isNewHost && error instanceof PlatformUnavailable && error.facts.code === 'ENOTFOUND') {
    const { code, host } = error.facts;
    return new RequestRefused(`There is no host ${host} (${code}). Correct base_url.`, {
      account,
      code,
      host,
    });
  }
  if (!(error instanceof OAuthError)) return error;
  const facts: Facts = { account, status: error.status, type: error.error, request_id: error.requestId };
  if (error.error === 'invalid_grant') {
    return new LoginRequired(`The platform no longer accepts the login of account ${account}.`, facts);
  }
  return new CredentialUnusable(
    `The token endpoint answered ${error.status} (${error.error}) when requesting a token for account ${account}.`,
    facts,
  );
}

import { randomBytes } from 'node:crypto';
import type { AccessToken, Grant, SandboxState } from '../state.ts';

/** An error of the OAuth endpoints, which have their own error body (RFC 6749 5.2, contract 7.3). */
export class OAuthError extends Error {
  override readonly name = 'OAuthError';
  readonly status: number;
  readonly error: string;

  constructor(error: string, description: string, status = 400) {
    super(description);
    this.error = error;
    this.status = status;
  }
}

/** @throws OAuthError invalid_scope if a requested scope is not available */
export function requestedScopes(scope: string | null, available: readonly string[]): readonly string[] {
  const requested = [...new Set((scope ?? '').split(' ').filter((name) => name !== ''))];
  const missing = requested.filter((name) => !available.includes(name));
  if (missing.length > 0) throw new OAuthError('invalid_scope', `Not available: ${missing.join(' ')}.`);
  return requested.length === 0 ? available : requested;
}

/** The prefix tells what leaked: `at` is an access token, `rt` a refresh token. */
export function randomToken(kind: 'at' | 'rt' | 'code' | 'consent'): string {
  return `sbx_${kind}_${randomBytes(24).toString('base64url')}`;
}

/** Returns a token response (contract 2.1) without a refresh token. @param code the authorization code it comes from */
export function issueAccessToken(state: SandboxState, grant: Grant, code?: string): Record<string, unknown> {
  const seconds = state.options.tokenSeconds ?? 3600;
  const token = randomToken('at');
  const { credential, scopes, authorizedAt } = grant;
  state.accessTokens.set(token, {
    ...{ credential, scopes, authorizedAt },
    expiresAt: state.now() + seconds * 1000,
    ...(code === undefined ? {} : { code }),
  });
  return { access_token: token, token_type: 'Bearer', expires_in: seconds, scope: scopes.join(' ') };
}

/** Returns undefined if the token is unknown or has expired. */
export function findAccessToken({ accessTokens, now }: SandboxState, token: string): AccessToken | undefined {
  const found = accessTokens.get(token);
  return found && found.expiresAt > now() ? found : undefined;
}

import type { Credential } from '../settings.ts';
import type { World } from '../world.ts';
import { OAuthError, requestedScopes } from './error.ts';
import { type Grant, issueToken, opaque } from './tokens.ts';

type TokenResponse = Record<string, unknown>;

/** Contract 4.1 with RFC 6749 4.1.3: a code is good once, for its own client and redirect_uri, for a short time. */
export function grantByCode(world: World, credential: Credential, form: URLSearchParams): TokenResponse {
  const value = required(form, 'code');
  const redirectUri = required(form, 'redirect_uri');
  const code = world.authorizations.codes.get(value);
  if (!code || code.credential.clientId !== credential.clientId) throw invalidGrant('The code is unknown.');
  if (code.used) throw replayed(world, value);
  if (code.expiresAt <= world.now()) throw invalidGrant('The code has expired.');
  if (code.redirectUri !== redirectUri) throw invalidGrant('redirect_uri is not that of the request.');
  code.used = true;
  return withRefreshToken(world, code, value);
}

/** RFC 6749 section 6; the contract does not show the parameters. */
export function grantByRefreshToken(
  world: World,
  credential: Credential,
  form: URLSearchParams,
): TokenResponse {
  const value = required(form, 'refresh_token');
  const grant = world.authorizations.refresh.get(value);
  if (!grant || grant.credential.clientId !== credential.clientId)
    throw invalidGrant('The refresh token is not valid.');
  const narrowed = { ...grant, scopes: requestedScopes(form.get('scope'), grant.scopes) };
  if (!world.options.rotateRefreshTokens) return issueToken(world, narrowed, grant.code);
  world.authorizations.refresh.delete(value);
  return {
    ...issueToken(world, narrowed, grant.code),
    refresh_token: newRefreshToken(world, grant, grant.code),
  };
}

function withRefreshToken(world: World, grant: Grant, code: string): TokenResponse {
  return { ...issueToken(world, grant, code), refresh_token: newRefreshToken(world, grant, code) };
}

function newRefreshToken(world: World, { credential, scopes, authorizedAt }: Grant, code = ''): string {
  const token = opaque('rt');
  world.authorizations.refresh.set(token, { credential, scopes, authorizedAt, code });
  return token;
}

/** A code that comes twice was stolen: what it gave dies too (RFC 6749 4.1.2). */
function replayed(world: World, code: string): OAuthError {
  for (const tokens of [world.authorizations.access, world.authorizations.refresh]) {
    for (const [token, issued] of tokens) if (issued.code === code) tokens.delete(token);
  }
  return invalidGrant('The code was used before; what it gave is revoked.');
}

function required(form: URLSearchParams, name: string): string {
  const value = form.get(name);
  if (!value) throw new OAuthError('invalid_request', `${name} is missing.`);
  return value;
}

function invalidGrant(description: string): OAuthError {
  return new OAuthError('invalid_grant', description);
}

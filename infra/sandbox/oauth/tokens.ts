import { randomBytes } from 'node:crypto';
import { type Answer, type Incoming, json } from '../exchange.ts';
import type { Credential } from '../settings.ts';
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
export function randomToken(kind: 'at' | 'rt' | 'code'): string {
  return `sbx_${kind}_${randomBytes(24).toString('base64url')}`;
}

/** Returns a token response (contract 2.1) without a refresh token. */
function issueAccessToken(state: SandboxState, { credential, scopes }: Grant): TokenResponse {
  const seconds = state.options.tokenSeconds ?? 3600;
  const token = randomToken('at');
  state.accessTokens.set(token, { credential, scopes, expiresAt: state.now() + seconds * 1000 });
  return { access_token: token, token_type: 'Bearer', expires_in: seconds, scope: scopes.join(' ') };
}

/** Returns undefined if the token is unknown or has expired. */
export function findAccessToken({ accessTokens, now }: SandboxState, token: string): AccessToken | undefined {
  const found = accessTokens.get(token);
  return found && found.expiresAt > now() ? found : undefined;
}

type TokenResponse = Record<string, unknown>;

/** Contract 4.1. No response of this endpoint may be cached (RFC 6749 5.1). */
export function tokenEndpoint(state: SandboxState, request: Incoming): Answer {
  try {
    const credential = authenticateClient(state, request);
    return json(200, grantToken(state, credential, formOf(request)), { 'cache-control': 'no-store' });
  } catch (error) {
    if (error instanceof OAuthError) return oauthError(error);
    throw error;
  }
}

export function oauthError({ error, status, message }: OAuthError): Answer {
  const challenge = status === 401 ? { 'www-authenticate': 'Basic realm="platform"' } : {};
  return json(status, { error, error_description: message }, { 'cache-control': 'no-store', ...challenge });
}

function grantToken(state: SandboxState, credential: Credential, form: URLSearchParams): TokenResponse {
  const grantType = required(form, 'grant_type');
  if (grantType === 'client_credentials') return grantByClient(state, credential, form);
  if (grantType === 'authorization_code') return grantByCode(state, credential, form);
  if (grantType === 'refresh_token') return grantByRefreshToken(state, credential, form);
  throw new OAuthError('unsupported_grant_type', `grant_type ${grantType} is not supported.`);
}

/** If the request names no scope, the token gets all scopes of the client (contract 4.1). */
function grantByClient(state: SandboxState, credential: Credential, form: URLSearchParams): TokenResponse {
  const scopes = requestedScopes(form.get('scope'), credential.scopes);
  return issueAccessToken(state, { credential, scopes });
}

/** A code works once, for its own client and redirect_uri, until it expires (contract 4.1). */
function grantByCode(state: SandboxState, { clientId }: Credential, form: URLSearchParams): TokenResponse {
  const redirectUri = required(form, 'redirect_uri');
  const value = required(form, 'code');
  const code = state.codes.get(value);
  if (code?.credential.clientId !== clientId) throw invalidGrant('The code is unknown or was used.');
  if (code.expiresAt <= state.now()) throw invalidGrant('The code has expired.');
  if (code.redirectUri !== redirectUri)
    throw invalidGrant('redirect_uri differs from the authorization request.');
  state.codes.delete(value);
  return { ...issueAccessToken(state, code), refresh_token: issueRefreshToken(state, code) };
}

/** RFC 6749 6. The contract does not show the parameters. */
function grantByRefreshToken(
  state: SandboxState,
  { clientId }: Credential,
  form: URLSearchParams,
): TokenResponse {
  const value = required(form, 'refresh_token');
  const grant = state.refreshTokens.get(value);
  if (grant?.credential.clientId !== clientId) throw invalidGrant('The refresh token is not valid.');
  const scopes = requestedScopes(form.get('scope'), grant.scopes);
  const response = issueAccessToken(state, { ...grant, scopes });
  if (!state.options.rotateRefreshTokens) return response;
  state.refreshTokens.delete(value);
  return { ...response, refresh_token: issueRefreshToken(state, grant) };
}

function issueRefreshToken({ refreshTokens }: SandboxState, { credential, scopes }: Grant): string {
  const token = randomToken('rt');
  refreshTokens.set(token, { credential, scopes });
  return token;
}

/** Accepts HTTP Basic only, with both parts form-encoded (RFC 6749 2.3.1). */
function authenticateClient({ credentials }: SandboxState, request: Incoming): Credential {
  const encoded = request.headers.authorization?.match(/^Basic +([A-Za-z0-9+/]+=*)$/i)?.[1] ?? '';
  const [, id, secret] = /^(.*?):(.*)$/s.exec(Buffer.from(encoded, 'base64').toString()) ?? [];
  const found = credentials.find(
    ({ clientId, clientSecret }) => clientId === formDecoded(id) && clientSecret === formDecoded(secret),
  );
  if (found) return found;
  const expected = 'Use HTTP Basic with client_id and client_secret.';
  throw new OAuthError('invalid_client', `Client authentication failed. ${expected}`, 401);
}

function formDecoded(text = ''): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
}

function formOf({ headers, body }: Incoming): URLSearchParams {
  if (!/^application\/x-www-form-urlencoded\s*(;|$)/i.test(headers['content-type'] ?? '')) {
    throw new OAuthError('invalid_request', 'Content-Type must be application/x-www-form-urlencoded.');
  }
  return new URLSearchParams(body);
}

function required(form: URLSearchParams, name: string): string {
  const value = form.get(name);
  if (!value) throw new OAuthError('invalid_request', `${name} is missing.`);
  return value;
}

function invalidGrant(description: string): OAuthError {
  return new OAuthError('invalid_grant', description);
}

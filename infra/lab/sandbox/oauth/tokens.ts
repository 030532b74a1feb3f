import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { type Answer, type Call, jsonAnswer, oauthRefusal } from '../exchange.ts';
import type { Consents, Grant, PlatformState } from '../platform-state.ts';
import type { Credential } from '../sandbox-options.ts';

/** @throws Refusal invalid_scope if a requested scope is not available */
export function requestedScopes(scope: string | null, available: readonly string[]): readonly string[] {
  const requested = [...new Set((scope ?? '').split(' ').filter((name) => name !== ''))];
  const missing = requested.filter((name) => !available.includes(name));
  if (missing.length > 0) throw oauthRefusal('invalid_scope', `Not available: ${missing.join(' ')}.`);
  return requested.length === 0 ? available : requested;
}

/** The prefix tells what leaked: `at` is an access token, `rt` a refresh token. */
export function randomToken(kind: 'at' | 'rt' | 'code'): string {
  return `sbx_${kind}_${randomBytes(24).toString('base64url')}`;
}

/** Returns a token response (contract 2.1) without a refresh token. */
function issueAccessToken(state: PlatformState, { credential, scopes }: Grant) {
  const seconds = state.options.tokenSeconds ?? 3600;
  const token = state.accessTokens.issue({ credential, scopes }, state.now() + seconds * 1000);
  return { access_token: token, token_type: 'Bearer', expires_in: seconds, scope: scopes.join(' ') };
}

function issueRefreshToken({ refreshTokens }: Consents, { credential, scopes }: Grant): string {
  const token = randomToken('rt');
  refreshTokens.set(token, { credential, scopes });
  return token;
}

/** Contract 4.1. No response of this endpoint may be cached (RFC 6749 5.1). */
export function tokenEndpoint(state: PlatformState, request: Call): Answer {
  const credential = authenticateClient(state, request);
  if (!/^application\/x-www-form-urlencoded\s*(;|$)/i.test(request.headers['content-type'] ?? ''))
    throw oauthRefusal('invalid_request', 'Content-Type must be application/x-www-form-urlencoded.');
  const form = new URLSearchParams(request.body);
  const type = required(form, 'grant_type');
  const grant = Object.hasOwn(GRANTS, type) ? GRANTS[type] : undefined;
  if (!grant) throw oauthRefusal('unsupported_grant_type', `grant_type ${type} is not supported.`);
  return jsonAnswer(200, grant(state, credential, form), { 'cache-control': 'no-store' });
}

type GrantType = (state: PlatformState, credential: Credential, form: URLSearchParams) => object;

/** Token responses by grant_type. */
const GRANTS: Readonly<Record<string, GrantType>> = {
  /** If the request names no scope, the token gets all scopes of the client (contract 4.1). */
  client_credentials(state, credential, form) {
    const scopes = requestedScopes(form.get('scope'), credential.scopes);
    return issueAccessToken(state, { credential, scopes });
  },

  /** A code works once, for its own client and redirect_uri, until it expires (contract 4.1). */
  authorization_code(state, { clientId }, form) {
    const { consents } = state;
    const redirectUri = required(form, 'redirect_uri');
    const value = required(form, 'code');
    const code = consents?.codes.get(value);
    const isOfClient = code?.credential.clientId === clientId && code.redirectUri === redirectUri;
    if (!consents || !isOfClient || code.expiresAt <= state.now())
      throw oauthRefusal('invalid_grant', 'The code is unknown, used or expired, or redirect_uri differs.');
    consents.codes.delete(value);
    return { ...issueAccessToken(state, code), refresh_token: issueRefreshToken(consents, code) };
  },

  /** RFC 6749 6. The contract does not show the parameters. */
  refresh_token(state, { clientId }, form) {
    const { consents } = state;
    const value = required(form, 'refresh_token');
    const grant = consents?.refreshTokens.get(value);
    if (!consents || grant?.credential.clientId !== clientId)
      throw oauthRefusal('invalid_grant', 'The refresh token is not valid.');
    const scopes = requestedScopes(form.get('scope'), grant.scopes);
    const response = issueAccessToken(state, { ...grant, scopes });
    if (!consents.rotatesRefreshTokens()) return response;
    consents.refreshTokens.delete(value);
    return { ...response, refresh_token: issueRefreshToken(consents, grant) };
  },
};

/** Accepts HTTP Basic only, with both parts form-encoded (RFC 6749 2.3.1). */
function authenticateClient({ credentials }: PlatformState, { headers }: Call): Credential {
  const encoded = headers.authorization?.match(/^Basic +([A-Za-z0-9+/]+=*)$/i)?.[1] ?? '';
  const pair = Buffer.from(encoded, 'base64').toString();
  const [[id, secret] = []] = new URLSearchParams(pair.replace(':', '='));
  const credential = credentials.find(
    ({ clientId, clientSecret }) => clientId === id && isSameSecret(clientSecret, secret),
  );
  if (credential) return credential;
  const expected = 'Use HTTP Basic with client_id and client_secret.';
  throw oauthRefusal('invalid_client', `Client authentication failed. ${expected}`, 401);
}

/** Takes as long for a secret that begins right as for any other. */
function isSameSecret(secret: string, sent = ''): boolean {
  const [expectedHash, sentHash] = [secret, sent].map((text) => createHash('sha256').update(text).digest());
  return expectedHash !== undefined && sentHash !== undefined && timingSafeEqual(expectedHash, sentHash);
}

function required(form: URLSearchParams, name: string): string {
  const value = form.get(name);
  if (!value) throw oauthRefusal('invalid_request', `${name} is missing.`);
  return value;
}

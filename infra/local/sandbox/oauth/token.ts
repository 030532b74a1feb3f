import { type Answer, type Incoming, json } from '../exchange.ts';
import type { Credential } from '../settings.ts';
import type { World } from '../world.ts';
import { OAuthError, requestedScopes } from './error.ts';
import { grantByCode, grantByRefreshToken } from './grants.ts';
import { issueToken } from './tokens.ts';

/** Contract 4.1. No answer of this endpoint may be stored (RFC 6749 5.1). */
export function tokenEndpoint(world: World, request: Incoming): Answer {
  try {
    const credential = authenticateClient(world, request);
    return json(200, answerGrant(world, credential, formOf(request)), { 'cache-control': 'no-store' });
  } catch (error) {
    if (error instanceof OAuthError) return oauthError(error);
    throw error;
  }
}

export function oauthError({ error, status, message }: OAuthError): Answer {
  return json(
    status,
    { error, error_description: message },
    {
      'cache-control': 'no-store',
      ...(status === 401 ? { 'www-authenticate': 'Basic realm="platform"' } : {}),
    },
  );
}

function answerGrant(world: World, credential: Credential, form: URLSearchParams): Record<string, unknown> {
  const grantType = form.get('grant_type');
  if (!grantType) throw new OAuthError('invalid_request', 'grant_type is missing.');
  if (grantType === 'client_credentials') return grantByClient(world, credential, form);
  if (grantType === 'authorization_code') return grantByCode(world, credential, form);
  if (grantType === 'refresh_token') return grantByRefreshToken(world, credential, form);
  throw new OAuthError('unsupported_grant_type', `grant_type ${grantType} is not supported.`);
}

/** Without a scope the token gets all that the client has (contract 4.1). */
function grantByClient(world: World, credential: Credential, form: URLSearchParams): Record<string, unknown> {
  const scopes = requestedScopes(form.get('scope'), credential.scopes);
  return issueToken(world, { credential, scopes, authorizedAt: world.authorizations.installedAt });
}

/** HTTP Basic with both parts form-encoded (RFC 6749 2.3.1); a secret in the body is refused. */
function authenticateClient(world: World, request: Incoming): Credential {
  const encoded = request.headers.authorization?.match(/^Basic +([A-Za-z0-9+/]+=*)$/i)?.[1];
  const pair = Buffer.from(encoded ?? '', 'base64').toString('utf8');
  const colon = pair.indexOf(':');
  const id = formDecoded(pair.slice(0, Math.max(0, colon)));
  const secret = formDecoded(pair.slice(colon + 1));
  const found = world.credentials.find(
    ({ clientId, clientSecret }) => clientId === id && clientSecret === secret,
  );
  if (found && colon >= 0) return found;
  throw new OAuthError('invalid_client', 'Client authentication failed: HTTP Basic with id and secret.', 401);
}

function formDecoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
}

/** A parameter may not be sent twice (RFC 6749 3.2). */
function formOf(request: Incoming): URLSearchParams {
  const type = request.headers['content-type'] ?? '';
  if (!/^application\/x-www-form-urlencoded\s*(;|$)/i.test(type)) {
    throw new OAuthError('invalid_request', 'Content-Type must be application/x-www-form-urlencoded.');
  }
  const form = new URLSearchParams(request.body);
  const names = [...form.keys()];
  const repeated = names.find((name, index) => names.indexOf(name) < index);
  if (repeated) throw new OAuthError('invalid_request', `${repeated} is given twice.`);
  return form;
}

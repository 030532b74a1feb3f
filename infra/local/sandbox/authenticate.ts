import { Refusal } from './envelope.ts';
import type { Incoming } from './exchange.ts';
import { findToken, type Grant } from './oauth/tokens.ts';
import type { World } from './world.ts';

/** Contract 9.6: from this moment X-API-Key answers 401. */
export const API_KEY_SUNSET = Date.parse('2027-01-01T00:00:00Z');

/**
 * Contract 5.1 and 5.7. A bearer token, or on the reporting endpoints the legacy key until its sunset.
 * Where both headers are sent the bearer token decides.
 */
export function authenticate(world: World, request: Incoming, reporting: boolean): Grant {
  const { authorization, 'x-api-key': apiKey } = request.headers;
  if (authorization === undefined && apiKey !== undefined && reporting) return byApiKey(world, apiKey);
  const token = authorization?.match(/^Bearer +([^ ]+)$/i)?.[1];
  const grant = token === undefined ? undefined : findToken(world, token);
  if (grant) return grant;
  throw unauthorized(token === undefined ? 'No bearer token.' : 'The token is invalid or has expired.');
}

/** Contract 9.1 and 9.2; asked only after authentication has succeeded (contract 5.6). */
export function requireRevision(world: World, request: Incoming): void {
  const revision = request.headers['x-service-revision'];
  if (revision !== undefined && world.revisions.includes(revision)) return;
  const fault = revision === undefined ? 'is missing' : `names no published revision: ${revision}`;
  throw new Refusal(400, 'validation', `The header X-Service-Revision ${fault}.`);
}

/** Contract 7.2. */
export function requireScope(grant: Grant, scope: string): void {
  if (grant.scopes.includes(scope)) return;
  throw new Refusal(403, 'insufficient_scope', `The token lacks the scope ${scope}.`, {
    headers: { 'www-authenticate': `Bearer error="insufficient_scope", scope="${scope}"` },
  });
}

function byApiKey(world: World, apiKey: string): Grant {
  const credential = world.credentials.find((one) => one.apiKey === apiKey);
  if (world.now() >= API_KEY_SUNSET) throw unauthorized('X-API-Key was disabled on 2027-01-01.');
  if (!credential) throw unauthorized('The API key is unknown.');
  return { credential, scopes: ['reporting:read'], authorizedAt: world.authorizations.installedAt };
}

function unauthorized(message: string): Refusal {
  return new Refusal(401, 'token_invalid', message, {
    headers: { 'www-authenticate': 'Bearer error="invalid_token"' },
  });
}

import { type Refusal, refusal } from './envelope.ts';
import type { Call } from './exchange.ts';
import { findAccessToken } from './oauth/tokens.ts';
import { EXAMPLE_REVISION } from './settings.ts';
import { type Advertiser, createAdvertisers, type Grant, type SandboxState } from './state.ts';

/** The platform's headers. They must never reach the storage host. */
export const PLATFORM_HEADERS = ['authorization', 'x-api-key', 'x-service-revision'];

/** X-API-Key answers 401 from this moment on (contract 9.6). */
const API_KEY_SUNSET = Date.parse('2027-01-01T00:00:00Z');

/**
 * Accepts a bearer token, or on the reporting endpoints the legacy key until its sunset (contract 5.1 and
 * 5.7). If a request has both headers, only the bearer token counts.
 *
 * @throws Refusal 401
 */
export function authenticate(state: SandboxState, request: Call, reporting: boolean): Grant {
  const { authorization, 'x-api-key': apiKey } = request.headers;
  if (authorization === undefined && apiKey !== undefined && reporting) return findApiKey(state, apiKey);
  const token = authorization?.match(/^Bearer +([^ ]+)$/i)?.[1];
  if (token === undefined) throw unauthorized('The request has no bearer token.');
  const grant = findAccessToken(state, token);
  if (!grant) throw unauthorized('The token is invalid or has expired.');
  return grant;
}

/** Contract 9.1 and 9.2. @throws Refusal 400 */
export function requireRevision({ headers }: Call): void {
  const revision = headers['x-service-revision'];
  if (revision === EXAMPLE_REVISION) return;
  const problem = revision === undefined ? 'is missing' : `names no published revision: ${revision}`;
  throw refusal(400, 'validation', `The header X-Service-Revision ${problem}.`);
}

/** Contract 7.2. @throws Refusal 403 */
export function requireScope({ scopes }: Grant, scope: string): void {
  if (scopes.includes(scope)) return;
  throw refusal(403, 'insufficient_scope', `The token lacks the scope ${scope}.`);
}

/** The advertisers of the account that the grant covers (contract 5.5). */
export function grantedAdvertisers(
  { advertisers, options, now }: SandboxState,
  { credential }: Grant,
): Advertiser[] {
  const all = [...advertisers, ...createAdvertisers(options.addedAdvertisers ?? [], now())];
  const granted = credential.advertisers;
  return granted === 'all' ? all : all.filter(({ id }) => granted.some((each) => each.toLowerCase() === id));
}

function findApiKey({ credentials, now }: SandboxState, apiKey: string): Grant {
  const credential = credentials.find((each) => each.apiKey === apiKey);
  if (now() >= API_KEY_SUNSET) throw unauthorized('X-API-Key was disabled on 2027-01-01.');
  if (!credential) throw unauthorized('The API key is unknown.');
  return { credential, scopes: ['reporting:read'] };
}

function unauthorized(message: string): Refusal {
  return refusal(401, 'token_invalid', message);
}

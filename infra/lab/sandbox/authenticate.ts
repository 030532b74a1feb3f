import { type Call, refusal } from './exchange.ts';
import { type Advertiser, createAdvertisers, type Grant, type PlatformState } from './platform-state.ts';
import { EXAMPLE_REVISION } from './sandbox-options.ts';

/** X-API-Key answers 401 from this moment on (contract 9.6). */
const API_KEY_SUNSET = Date.parse('2027-01-01T00:00:00Z');

/**
 * Accepts a bearer token, or on the reporting endpoints the legacy key until its sunset (contract 5.1 and
 * 5.7). If a request has both headers, only the bearer token counts.
 *
 * @throws Refusal 401
 */
export function authenticate(
  { accessTokens, credentials, now }: PlatformState,
  { headers }: Call,
  reporting: boolean,
): Grant {
  const { authorization, 'x-api-key': apiKey } = headers;
  if (authorization === undefined && apiKey !== undefined && reporting) {
    const credential = credentials.find((known) => known.apiKey === apiKey);
    if (credential && now() < API_KEY_SUNSET) return { credential, scopes: ['reporting:read'] };
    throw refusal(401, 'X-API-Key is unknown, or was disabled on 2027-01-01.');
  }
  const grant = accessTokens.read(authorization?.match(/^Bearer +([^ ]+)$/i)?.[1] ?? '');
  if (grant) return grant;
  throw refusal(401, 'The token is missing, invalid or expired.');
}

/** Contract 9.1 and 9.2. @throws Refusal 400 */
export function requireRevision({ headers }: Call): void {
  const revision = headers['x-service-revision'];
  if (revision === EXAMPLE_REVISION) return;
  const problem = revision === undefined ? 'is missing' : `names no published revision: ${revision}`;
  throw refusal(400, `The header X-Service-Revision ${problem}.`);
}

/** The advertisers of the account that the grant covers (contract 5.5). */
export function grantedAdvertisers(
  { advertisers, options, now }: PlatformState,
  { credential }: Grant,
): Advertiser[] {
  const all = [...advertisers, ...createAdvertisers(options.addedAdvertisers ?? [], now())];
  const granted = credential.advertisers;
  return granted === 'all'
    ? all
    : all.filter(({ id }) => granted.some((grantedId) => grantedId.toLowerCase() === id));
}

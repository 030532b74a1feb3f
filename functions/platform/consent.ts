import { type Connection, endpoint } from './connection.ts';

/**
 * The URL of the consent screen for the user's browser (contract 4.2).
 *
 * @param asked.scope space-separated, for example `reporting:read`
 * @param asked.state unguessable; the redirect must return the same value
 */
export function consentUrl(
  platform: Pick<Connection, 'baseUrl'>,
  asked: { clientId: string; redirectUri: string; scope: string; state: string },
): URL {
  const url = endpoint(platform.baseUrl, '/oauth2/auth');
  const query = new URLSearchParams({
    client_id: asked.clientId,
    redirect_uri: asked.redirectUri,
    response_type: 'code',
    scope: asked.scope,
    state: asked.state,
  });
  // Every server reads %20 as a space. Some do not decode a plus.
  url.search = query.toString().replaceAll('+', '%20');
  return url;
}

import * as oauth from 'oauth4webapi';
import { expect, test } from 'vitest';
import { pressButton, send, startClient } from './client.ts';

// oauth4webapi is an independent client for the same standards.
const PLAIN_HTTP = { [oauth.allowInsecureRequests]: true };

async function startStandardClient() {
  const { sandbox } = await startClient({ rotateRefreshTokens: true });
  const { baseUrl, clientId, clientSecret } = sandbox;
  const server: oauth.AuthorizationServer = { issuer: baseUrl, token_endpoint: `${baseUrl}/oauth2/token` };
  const client: oauth.Client = { client_id: clientId };
  const authentication = oauth.ClientSecretBasic(clientSecret);
  const requestToken = (auth: oauth.ClientAuth, parameters: Record<string, string>) =>
    oauth.clientCredentialsGrantRequest(server, client, auth, parameters, PLAIN_HTTP);
  return { sandbox, server, client, authentication, requestToken };
}

test('oauth4webapi gets a token by client credentials (contract 4.1)', async () => {
  const { server, client, authentication, requestToken } = await startStandardClient();
  const response = await requestToken(authentication, { scope: 'reporting:read' });
  const token = await oauth.processClientCredentialsResponse(server, client, response);
  expect(token).toMatchObject({ token_type: 'bearer', expires_in: 3600, scope: 'reporting:read' });
});

test('oauth4webapi exchanges a code for a token and refreshes it (contract 4.1 and 4.2)', async () => {
  const { sandbox, server, client, authentication } = await startStandardClient();
  const redirect_uri = 'http://127.0.0.1:9/callback';
  const state = oauth.generateRandomState();
  const endpoint = `${sandbox.baseUrl}/oauth2/auth`;
  const { client_id } = client;
  const query = { client_id, redirect_uri, response_type: 'code', scope: 'reporting:read', state };
  const page = await send('GET', `${endpoint}?${new URLSearchParams(query)}`);
  const location = new URL((await pressButton(endpoint, page, 'allow')).headers.location ?? '');
  const parameters = oauth.validateAuthResponse(server, client, location, state);
  const exchanged = await oauth.authorizationCodeGrantRequest(
    ...([server, client, authentication, parameters, redirect_uri, oauth.nopkce, PLAIN_HTTP] as const),
  );
  const first = await oauth.processAuthorizationCodeResponse(server, client, exchanged);
  const old = first.refresh_token ?? '';
  const refreshed = await oauth.refreshTokenGrantRequest(server, client, authentication, old, PLAIN_HTTP);
  const second = await oauth.processRefreshTokenResponse(server, client, refreshed);
  expect(second.refresh_token).not.toBe(old);
  expect(second.access_token).not.toBe(first.access_token);
});

test('oauth4webapi reads invalid_client and its challenge (contract 7.3)', async () => {
  const { server, client, requestToken } = await startStandardClient();
  const response = await requestToken(oauth.ClientSecretBasic('wrong'), {});
  await expect(oauth.processClientCredentialsResponse(server, client, response)).rejects.toThrow(
    oauth.WWWAuthenticateChallengeError,
  );
});

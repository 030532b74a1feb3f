import * as oauth from 'oauth4webapi';
import { expect, test } from 'vitest';
import { FORM, send, visit } from './visitor.ts';

// A client that was written by others for the same standards.
const PLAIN_HTTP = { [oauth.allowInsecureRequests]: true };

async function standardClient() {
  const { sandbox } = await visit({ rotateRefreshTokens: true });
  const server: oauth.AuthorizationServer = {
    issuer: sandbox.baseUrl,
    token_endpoint: `${sandbox.baseUrl}/oauth2/token`,
  };
  const client: oauth.Client = { client_id: sandbox.clientId };
  return { sandbox, server, client, authentication: oauth.ClientSecretBasic(sandbox.clientSecret) };
}

test('4.1: oauth4webapi gets a token by client credentials', async () => {
  const { server, client, authentication } = await standardClient();
  const parameters = { scope: 'reporting:read' };
  const response = await oauth.clientCredentialsGrantRequest(
    server,
    client,
    authentication,
    parameters,
    PLAIN_HTTP,
  );
  const token = await oauth.processClientCredentialsResponse(server, client, response);
  expect(token).toMatchObject({ token_type: 'bearer', expires_in: 3600, scope: 'reporting:read' });
});

test('4.1 and 4.2: oauth4webapi goes from consent to a token and a refreshed token', async () => {
  const { sandbox, server, client, authentication } = await standardClient();
  const redirect = 'http://127.0.0.1:9/callback';
  const state = oauth.generateRandomState();
  const location = await consent(`${sandbox.baseUrl}/oauth2/auth`, {
    client_id: client.client_id,
    redirect_uri: redirect,
    response_type: 'code',
    scope: 'reporting:read',
    state,
  });
  const parameters = oauth.validateAuthResponse(server, client, location, state);
  const exchanged = await oauth.authorizationCodeGrantRequest(
    server,
    client,
    authentication,
    parameters,
    redirect,
    oauth.nopkce,
    PLAIN_HTTP,
  );
  const first = await oauth.processAuthorizationCodeResponse(server, client, exchanged);
  const old = first.refresh_token ?? '';
  const refreshed = await oauth.refreshTokenGrantRequest(server, client, authentication, old, PLAIN_HTTP);
  const second = await oauth.processRefreshTokenResponse(server, client, refreshed);
  expect(second.refresh_token).not.toBe(old);
  expect(second.access_token).not.toBe(first.access_token);
});

test('7.3: oauth4webapi reads invalid_client and its challenge', async () => {
  const { server, client } = await standardClient();
  const wrong = oauth.ClientSecretBasic('wrong');
  const response = await oauth.clientCredentialsGrantRequest(server, client, wrong, {}, PLAIN_HTTP);
  await expect(oauth.processClientCredentialsResponse(server, client, response)).rejects.toThrow(
    oauth.WWWAuthenticateChallengeError,
  );
});

/** What a user does: opens the page and presses Allow. */
async function consent(endpoint: string, query: Record<string, string>): Promise<URL> {
  const page = await send('GET', `${endpoint}?${new URLSearchParams(query)}`);
  const id = page.text.match(/name="consent" value="([^"]+)"/)?.[1] ?? '';
  const body = new URLSearchParams({ consent: id, decision: 'allow' }).toString();
  const { headers } = await send('POST', endpoint, { headers: FORM, body });
  return new URL(headers.location ?? '');
}

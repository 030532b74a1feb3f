import { describe, expect, test } from 'vitest';
import { GRANTABLE_SCOPES } from '../../../../infra/lab/sandbox/credentials.ts';
import { basic, FORM, send } from './client.ts';
import { HOSTS } from './hosts.ts';

const GRANT = { grant_type: 'client_credentials' };

describe.each(Object.entries(HOSTS))('%s', (_host, startClient) => {
  test('a token response has the fields of contract 2.1 and no refresh_token', async () => {
    const { tokenRequest } = await startClient();
    const { status, json, headers } = await tokenRequest(GRANT);
    expect(status).toBe(200);
    expect(json).toEqual({
      access_token: expect.stringMatching(/^sbx_at_/),
      token_type: 'Bearer',
      expires_in: 3600,
      scope: GRANTABLE_SCOPES.join(' '),
    });
    expect(headers['cache-control']).toBe('no-store');
  });

  test.each([
    ['a wrong secret', { authorization: basic('x', 'y') }],
    ['no credentials', { authorization: '' }],
    ['a bearer token', { authorization: 'Bearer x' }],
  ])('%s: 401 invalid_client in the OAuth body, with WWW-Authenticate (contract 7.3)', async (_, headers) => {
    const { tokenRequest } = await startClient();
    const { status, json, headers: answered } = await tokenRequest(GRANT, headers);
    expect(status).toBe(401);
    expect(json).toEqual({ error: 'invalid_client', error_description: expect.any(String) });
    expect(answered['www-authenticate']).toMatch(/^Basic /);
  });

  test.each([
    ['no grant_type', 'scope=reporting:read', 'invalid_request'],
    ['an unknown grant_type', 'grant_type=password', 'unsupported_grant_type'],
    ['an unknown code', 'grant_type=authorization_code&code=x&redirect_uri=y', 'invalid_grant'],
    ['an unknown refresh token', 'grant_type=refresh_token&refresh_token=x', 'invalid_grant'],
  ])('%s is 400 (contract 7.3)', async (_, body, error) => {
    const { sandbox } = await startClient();
    const headers = { authorization: basic(sandbox.clientId, sandbox.clientSecret), ...FORM };
    const { status, json } = await send('POST', `${sandbox.baseUrl}/oauth2/token`, { headers, body });
    expect({ status, error: json.error }).toEqual({ status: 400, error });
  });

  test('a token lives for 3600 seconds on the clock of the sandbox (contract 5.4)', async () => {
    const { token, call, pass } = await startClient();
    const authorization = `Bearer ${await token()}`;
    pass(3599);
    expect((await call('GET', '/campaigns', undefined, { authorization })).status).toBe(200);
    pass(1);
    expect((await call('GET', '/campaigns', undefined, { authorization })).status).toBe(401);
  });
});

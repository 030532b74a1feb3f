import { expect, test } from 'vitest';
import { SCOPES } from '../../../../infra/local/sandbox/settings.ts';
import { basic, FORM, send, visit } from './visitor.ts';

const GRANT = { grant_type: 'client_credentials' };

test('2.1: a token response has access_token, token_type Bearer, expires_in and scope, and no refresh_token', async () => {
  const { tokenRequest } = await visit();
  const { status, json, headers } = await tokenRequest(GRANT);
  expect(status).toBe(200);
  expect(json).toEqual({
    access_token: expect.stringMatching(/^sbx_at_/),
    token_type: 'Bearer',
    expires_in: 3600,
    scope: SCOPES.join(' '),
  });
  expect(headers['cache-control']).toBe('no-store');
});

test('4.1: a scope that is asked for narrows the token', async () => {
  const { tokenRequest } = await visit();
  const { json } = await tokenRequest({ ...GRANT, scope: 'reporting:read campaigns:read' });
  expect(json.scope).toBe('reporting:read campaigns:read');
});

test('4.1: a scope that the client lacks is invalid_scope', async () => {
  const { tokenRequest } = await visit({ credentials: [{ scopes: ['campaigns:read'] }] });
  const { status, json } = await tokenRequest({ ...GRANT, scope: 'reporting:read' });
  expect({ status, error: json.error }).toEqual({ status: 400, error: 'invalid_scope' });
});

test('4.1: client id and secret are form-decoded after Basic', async () => {
  const { sandbox } = await visit({ credentials: [{ clientId: 'a:b c', clientSecret: 'p%+é/:' }] });
  const authorization = basic('a%3Ab+c', 'p%25%2B%C3%A9%2F%3A');
  const headers = { authorization, ...FORM };
  const { status } = await send('POST', `${sandbox.baseUrl}/oauth2/token`, {
    headers,
    body: 'grant_type=client_credentials',
  });
  expect(status).toBe(200);
});

test.each([
  ['a wrong secret', { authorization: basic('x', 'y') }],
  ['no credentials', { authorization: '' }],
  ['a bearer token', { authorization: 'Bearer x' }],
])('7.3: %s is 401 invalid_client in the OAuth body, with WWW-Authenticate', async (_, headers) => {
  const { tokenRequest } = await visit();
  const { status, json, headers: answered } = await tokenRequest(GRANT, headers);
  expect(status).toBe(401);
  expect(json).toEqual({ error: 'invalid_client', error_description: expect.any(String) });
  expect(answered['www-authenticate']).toMatch(/^Basic /);
});

test('4.1: a client secret in the body does not authenticate', async () => {
  const { sandbox, tokenRequest } = await visit();
  const form = { ...GRANT, client_id: sandbox.clientId, client_secret: sandbox.clientSecret };
  expect((await tokenRequest(form, { authorization: '' })).status).toBe(401);
});

test.each([
  ['no grant_type', 'scope=reporting:read', 'invalid_request'],
  ['an unknown grant_type', 'grant_type=password', 'unsupported_grant_type'],
  ['a parameter given twice', 'grant_type=client_credentials&scope=a&scope=b', 'invalid_request'],
  ['a code that never was', 'grant_type=authorization_code&code=x&redirect_uri=y', 'invalid_grant'],
  ['a refresh token that never was', 'grant_type=refresh_token&refresh_token=x', 'invalid_grant'],
])('7.3: %s is 400', async (_, body, error) => {
  const { sandbox } = await visit();
  const headers = { authorization: basic(sandbox.clientId, sandbox.clientSecret), ...FORM };
  const { status, json } = await send('POST', `${sandbox.baseUrl}/oauth2/token`, { headers, body });
  expect({ status, error: json.error }).toEqual({ status: 400, error });
});

test('4.1: a JSON body is invalid_request', async () => {
  const { tokenRequest } = await visit();
  const { json } = await tokenRequest(GRANT, { 'content-type': 'application/json' });
  expect(json.error).toBe('invalid_request');
});

test('5.4, 8: a token lives for 3600 seconds of the sandbox clock', async () => {
  const { token, call, pass } = await visit();
  const authorization = `Bearer ${await token()}`;
  pass(3599);
  expect((await call('GET', '/campaigns', undefined, { authorization })).status).toBe(200);
  pass(1);
  expect((await call('GET', '/campaigns', undefined, { authorization })).status).toBe(401);
});

test('9.3: the revision header is not needed for a token', async () => {
  const { tokenRequest, sandbox } = await visit();
  await tokenRequest(GRANT);
  expect(sandbox.journal[0]?.headers).not.toHaveProperty('x-service-revision');
  expect(sandbox.journal[0]?.status).toBe(200);
});

import { expect, test } from 'vitest';
import type { SandboxOptions } from '../../../infra/sandbox/settings.ts';
import { basic, pressButton, type Reply, send, startClient } from './client.ts';

const REDIRECT = 'http://127.0.0.1:9/callback';
const CODE = expect.stringMatching(/^sbx_code_/);

async function startBrowser(options: SandboxOptions = {}) {
  const client = await startClient(options);
  const { sandbox, tokenRequest, call } = client;
  const endpoint = `${sandbox.baseUrl}/oauth2/auth`;
  const open = (changes: Record<string, string> = {}) => {
    const query = new URLSearchParams({
      client_id: sandbox.clientId,
      redirect_uri: REDIRECT,
      response_type: 'code',
      scope: 'reporting:read',
      state: 'a&b=c',
      ...changes,
    });
    return send('GET', `${endpoint}?${query}`);
  };
  const press = (page: Reply, decision: 'allow' | 'deny') => pressButton(endpoint, page, decision);
  const getCode = async () => String(returned(await press(await open(), 'allow')).code);
  const exchange = (code: string, redirect_uri = REDIRECT, headers: Record<string, string> = {}) =>
    tokenRequest({ grant_type: 'authorization_code', code, redirect_uri }, headers);
  const refresh = (token = '', more: Record<string, string> = {}) =>
    tokenRequest({ grant_type: 'refresh_token', refresh_token: token, ...more });
  const statusWith = async (token: string | undefined, path: string) =>
    (await call('GET', path, undefined, { authorization: `Bearer ${token}` })).status;
  return { ...client, open, press, getCode, exchange, refresh, statusWith };
}

/** The query parameters that the browser brings back to the redirect_uri. */
function returned({ status, headers }: Reply): Record<string, string> {
  expect(status).toBe(302);
  const location = new URL(headers.location ?? '');
  expect(location.href.startsWith(REDIRECT)).toBe(true);
  return Object.fromEntries(location.searchParams);
}

test('the consent page names the client and its scopes and has Allow and Deny (contract 4.2)', async () => {
  const { open, sandbox } = await startBrowser();
  const { status, headers, text } = await open();
  expect(status).toBe(200);
  expect(headers['content-type']).toMatch(/^text\/html/);
  for (const part of [sandbox.clientId, 'reporting:read', '>Allow<', '>Deny<']) expect(text).toContain(part);
});

test('Allow returns a code, Deny returns access_denied, both with the same state (contract 4.2)', async () => {
  const { open, press } = await startBrowser();
  const denied = returned(await press(await open(), 'deny'));
  expect(denied).toMatchObject({ error: 'access_denied', state: 'a&b=c' });
  expect(returned(await press(await open(), 'allow'))).toEqual({ code: CODE, state: 'a&b=c' });
});

test('the page asks for consent once per scope (contract 4.2)', async () => {
  const { open, press } = await startBrowser();
  await press(await open(), 'allow');
  expect(returned(await open())).toHaveProperty('code');
  expect((await open({ scope: 'campaigns:read' })).status).toBe(200);
});

test('the page is skipped if consent was granted by arrangement (contract 4.2)', async () => {
  const { open } = await startBrowser({ credentials: [{ consentGranted: true }] });
  expect(returned(await open())).toHaveProperty('code');
});

test('a consent page works once', async () => {
  const { open, press } = await startBrowser();
  const page = await open();
  await press(page, 'deny');
  expect((await press(page, 'allow')).status).toBe(400);
});

test.each([
  ['an unknown client', { client_id: 'x' }],
  ['an unregistered redirect_uri', { redirect_uri: 'https://evil.example/cb' }],
  ['a redirect_uri with a fragment', { redirect_uri: `${REDIRECT}#x` }],
  ['a redirect_uri that only starts like loopback', { redirect_uri: 'http://127.0.0.1.evil.example/' }],
])('%s gets an error page and no redirect (contract 4.2)', async (_, changes) => {
  const { open } = await startBrowser();
  const { status, headers } = await open(changes);
  expect({ status, location: headers.location }).toEqual({ status: 400, location: undefined });
});

test.each([
  ['another response_type', { response_type: 'token' }, 'unsupported_response_type'],
  ['an unknown scope', { scope: 'everything' }, 'invalid_scope'],
])('%s returns to the redirect_uri with an error (contract 4.2)', async (_, changes, error) => {
  const { open } = await startBrowser();
  expect(returned(await open(changes))).toMatchObject({ error, state: 'a&b=c' });
});

test('a registered redirect_uri is matched exactly and keeps its query (contract 4.2)', async () => {
  const uri = 'https://app.example/cb?tenant=1';
  const { open } = await startBrowser({ credentials: [{ redirectUris: [uri], consentGranted: true }] });
  const { headers } = await open({ redirect_uri: uri });
  expect(headers.location).toMatch(/^https:\/\/app\.example\/cb\?tenant=1&code=sbx_code_/);
  expect((await open({ redirect_uri: `${uri}2` })).status).toBe(400);
});

test('a code gives an access token with the consented scope, and a refresh token (contract 4.1)', async () => {
  const { getCode, exchange, statusWith } = await startBrowser();
  const { status, json } = await exchange(await getCode());
  expect(status).toBe(200);
  expect(json).toMatchObject({ scope: 'reporting:read', refresh_token: expect.stringMatching(/^sbx_rt_/) });
  expect(await statusWith(json.access_token, '/reports/x')).toBe(404);
  expect(await statusWith(json.access_token, '/campaigns')).toBe(403);
});

test('a code works once, and using it again revokes its tokens (contract 4.1)', async () => {
  const { getCode, exchange, refresh, statusWith } = await startBrowser();
  const code = await getCode();
  const { json } = await exchange(code);
  expect((await exchange(code)).json.error).toBe('invalid_grant');
  expect((await refresh(json.refresh_token)).json.error).toBe('invalid_grant');
  expect(await statusWith(json.access_token, '/reports/x')).toBe(401);
});

test('a code works only for its redirect_uri, its client and ten minutes (contract 4.1)', async () => {
  const { getCode, exchange, pass, sandbox } = await startBrowser({ credentials: [{}, {}] });
  const { clientId = '', clientSecret = '' } = sandbox.credentials[1] ?? {};
  const authorization = basic(clientId, clientSecret);
  const code = await getCode();
  expect((await exchange(code, `${REDIRECT}/other`)).json.error).toBe('invalid_grant');
  expect((await exchange(code, REDIRECT, { authorization })).json.error).toBe('invalid_grant');
  pass(600);
  expect((await exchange(code)).json.error).toBe('invalid_grant');
});

test('a refresh token renews access repeatedly without consent (contract 5.2)', async () => {
  const { getCode, exchange, refresh, pass } = await startBrowser();
  const { json } = await exchange(await getCode());
  for (let renewal = 1; renewal <= 2; renewal += 1) {
    pass(3600);
    const renewed = await refresh(json.refresh_token);
    expect(renewed.json).toMatchObject({ access_token: expect.any(String), scope: 'reporting:read' });
    expect(renewed.json).not.toHaveProperty('refresh_token');
  }
});

test('with rotation, a refresh returns a new refresh token and invalidates the old one (contract 5.2)', async () => {
  const { getCode, exchange, refresh } = await startBrowser({ rotateRefreshTokens: true });
  const first = (await exchange(await getCode())).json.refresh_token;
  const second = (await refresh(first)).json.refresh_token;
  expect((await refresh(first)).json.error).toBe('invalid_grant');
  expect((await refresh(second)).status).toBe(200);
});

test('a refresh may narrow the scope but not widen it (RFC 6749 6)', async () => {
  const { getCode, exchange, refresh } = await startBrowser();
  const { json } = await exchange(await getCode());
  expect((await refresh(json.refresh_token, { scope: 'reporting:read' })).status).toBe(200);
  expect((await refresh(json.refresh_token, { scope: 'campaigns:read' })).json.error).toBe('invalid_scope');
});

test('the page escapes HTML', async () => {
  const { open } = await startBrowser({ credentials: [{ clientId: '"><script>', consentGranted: false }] });
  expect((await open()).text).not.toContain('<script>');
});

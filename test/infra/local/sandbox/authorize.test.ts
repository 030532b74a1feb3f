import { expect, test } from 'vitest';
import type { SandboxOptions } from '../../../../infra/local/sandbox/settings.ts';
import { FORM, type Reply, send, visit } from './visitor.ts';

const REDIRECT = 'http://127.0.0.1:9/callback';

async function browse(options: SandboxOptions = {}) {
  const visitor = await visit(options);
  const { sandbox, tokenRequest } = visitor;
  const open = (changes: Record<string, string> = {}) => {
    const query = new URLSearchParams({
      client_id: sandbox.clientId,
      redirect_uri: REDIRECT,
      response_type: 'code',
      scope: 'reporting:read',
      state: 'a&b=c',
      ...changes,
    });
    return send('GET', `${sandbox.baseUrl}/oauth2/auth?${query}`);
  };
  const press = (page: Reply, decision: 'allow' | 'deny') => {
    const consent = page.text.match(/name="consent" value="([^"]+)"/)?.[1] ?? '';
    const body = new URLSearchParams({ consent, decision }).toString();
    return send('POST', `${sandbox.baseUrl}/oauth2/auth`, { headers: FORM, body });
  };
  const allowedCode = async () => String(returned(await press(await open(), 'allow')).code);
  const exchange = (code: string, redirect_uri = REDIRECT) =>
    tokenRequest({ grant_type: 'authorization_code', code, redirect_uri });
  const refresh = (token = '', more: Record<string, string> = {}) =>
    tokenRequest({ grant_type: 'refresh_token', refresh_token: token, ...more });
  return { ...visitor, open, press, allowedCode, exchange, refresh };
}

function returned({ status, headers }: Reply): Record<string, string> {
  expect(status).toBe(302);
  const location = new URL(headers.location ?? '');
  expect(location.href.startsWith(REDIRECT)).toBe(true);
  return Object.fromEntries(location.searchParams);
}

test('4.2: the consent page names the client and its scopes and has Allow and Deny', async () => {
  const { open, sandbox } = await browse();
  const { status, headers, text } = await open();
  expect(status).toBe(200);
  expect(headers['content-type']).toMatch(/^text\/html/);
  for (const part of [sandbox.clientId, 'reporting:read', '>Allow<', '>Deny<']) expect(text).toContain(part);
});

test('4.2: Allow returns with a code and the same state', async () => {
  const { open, press } = await browse();
  const answer = returned(await press(await open(), 'allow'));
  expect(answer).toEqual({ code: expect.stringMatching(/^sbx_code_/), state: 'a&b=c' });
});

test('4.2: Deny returns with access_denied and the same state', async () => {
  const { open, press } = await browse();
  expect(returned(await press(await open(), 'deny'))).toMatchObject({
    error: 'access_denied',
    state: 'a&b=c',
  });
});

test('4.2: consent is asked for once; a scope that is new is asked for again', async () => {
  const { open, press } = await browse();
  await press(await open(), 'allow');
  expect(returned(await open())).toHaveProperty('code');
  expect((await open({ scope: 'campaigns:read' })).status).toBe(200);
});

test('4.2: consent that was granted by arrangement is not asked for', async () => {
  const { open } = await browse({ credentials: [{ consentGranted: true }] });
  expect(returned(await open())).toHaveProperty('code');
});

test('a consent page counts once', async () => {
  const { open, press } = await browse();
  const page = await open();
  await press(page, 'deny');
  expect((await press(page, 'allow')).status).toBe(400);
});

test.each([
  ['an unknown client', { client_id: 'x' }],
  ['a redirect_uri that is not registered', { redirect_uri: 'https://evil.example/cb' }],
  ['a redirect_uri with a fragment', { redirect_uri: `${REDIRECT}#x` }],
  ['a redirect_uri that only begins like loopback', { redirect_uri: 'http://127.0.0.1.evil.example/' }],
])('4.2: %s is told to the user and not redirected', async (_, changes) => {
  const { open } = await browse();
  const { status, headers } = await open(changes);
  expect({ status, location: headers.location }).toEqual({ status: 400, location: undefined });
});

test.each([
  ['another response_type', { response_type: 'token' }, 'unsupported_response_type'],
  ['an unknown scope', { scope: 'everything' }, 'invalid_scope'],
])('4.2: %s returns with an error', async (_, changes, error) => {
  const { open } = await browse();
  expect(returned(await open(changes))).toMatchObject({ error, state: 'a&b=c' });
});

test('4.2: a registered redirect_uri is accepted as it was registered', async () => {
  const uri = 'https://app.example/cb?tenant=1';
  const { open } = await browse({ credentials: [{ redirectUris: [uri], consentGranted: true }] });
  const { headers } = await open({ redirect_uri: uri });
  expect(headers.location).toMatch(/^https:\/\/app\.example\/cb\?tenant=1&code=sbx_code_/);
  expect((await open({ redirect_uri: `${uri}2` })).status).toBe(400);
});

test('4.1: a code gives an access token with the consented scope, and a refresh token', async () => {
  const { allowedCode, exchange, call } = await browse();
  const { status, json } = await exchange(await allowedCode());
  expect(status).toBe(200);
  expect(json).toMatchObject({ scope: 'reporting:read', refresh_token: expect.stringMatching(/^sbx_rt_/) });
  const authorization = `Bearer ${json.access_token}`;
  expect((await call('GET', '/reports/x', undefined, { authorization })).status).toBe(404);
  expect((await call('GET', '/campaigns', undefined, { authorization })).status).toBe(403);
});

test('4.1: a code is good once, and what it gave dies when it comes again', async () => {
  const { allowedCode, exchange, refresh, call } = await browse();
  const code = await allowedCode();
  const { json } = await exchange(code);
  expect((await exchange(code)).json.error).toBe('invalid_grant');
  expect((await refresh(json.refresh_token)).json.error).toBe('invalid_grant');
  const authorization = `Bearer ${json.access_token}`;
  expect((await call('GET', '/reports/x', undefined, { authorization })).status).toBe(401);
});

test('4.1: a code is bound to its redirect_uri, its client and ten minutes', async () => {
  const { allowedCode, exchange, pass, sandbox, tokenRequest } = await browse({ credentials: [{}, {}] });
  const { clientId = '', clientSecret = '' } = sandbox.credentials[1] ?? {};
  const authorization = `Basic ${btoa(`${clientId}:${clientSecret}`)}`;
  const code = await allowedCode();
  const form = { grant_type: 'authorization_code', code, redirect_uri: REDIRECT };
  expect((await exchange(code, `${REDIRECT}/other`)).json.error).toBe('invalid_grant');
  expect((await tokenRequest(form, { authorization })).json.error).toBe('invalid_grant');
  pass(600);
  expect((await exchange(code)).json.error).toBe('invalid_grant');
});

test('5.2: a refresh token renews access again and again without consent', async () => {
  const { allowedCode, exchange, refresh, pass } = await browse();
  const { json } = await exchange(await allowedCode());
  for (let renewal = 1; renewal <= 2; renewal += 1) {
    pass(3600);
    const renewed = await refresh(json.refresh_token);
    expect(renewed.json).toMatchObject({ access_token: expect.any(String), scope: 'reporting:read' });
    expect(renewed.json).not.toHaveProperty('refresh_token');
  }
});

test('5.2: with rotation a refresh gives a new refresh token and the old one is invalid_grant', async () => {
  const { allowedCode, exchange, refresh } = await browse({ rotateRefreshTokens: true });
  const first = (await exchange(await allowedCode())).json.refresh_token;
  const second = (await refresh(first)).json.refresh_token;
  expect((await refresh(first)).json.error).toBe('invalid_grant');
  expect((await refresh(second)).status).toBe(200);
});

test('RFC 6749 6: a refresh may narrow the scope and not widen it', async () => {
  const { allowedCode, exchange, refresh } = await browse();
  const { json } = await exchange(await allowedCode());
  expect((await refresh(json.refresh_token, { scope: 'reporting:read' })).status).toBe(200);
  expect((await refresh(json.refresh_token, { scope: 'campaigns:read' })).json.error).toBe('invalid_scope');
});

test('the page escapes what it shows', async () => {
  const { open } = await browse({ credentials: [{ clientId: '"><script>', consentGranted: false }] });
  const { text } = await open();
  expect(text).not.toContain('<script>');
});

import { expect, test } from 'vitest';
import type { SandboxOptions } from '../../../../infra/lab/sandbox/sandbox-options.ts';
import { basic, FORM, type Reply, send, startClient } from './client.ts';

const REDIRECT = 'http://127.0.0.1:9/callback';
const CODE = expect.stringMatching(/^sbx_code_/);

async function startBrowser(options: SandboxOptions = {}) {
  const client = await startClient(options);
  const { sandbox, tokenRequest } = client;
  const urlOf = (changes: Record<string, string> = {}) => {
    const query = new URLSearchParams({
      client_id: sandbox.clientId,
      redirect_uri: REDIRECT,
      response_type: 'code',
      scope: 'reporting:read',
      state: 'a&b=c',
      ...changes,
    });
    return `${sandbox.baseUrl}/oauth2/auth?${query}`;
  };
  const open = (changes?: Record<string, string>) => send('GET', urlOf(changes));
  const press = (decision: 'allow' | 'deny') =>
    send('POST', urlOf(), { headers: FORM, body: `decision=${decision}` });
  const getCode = async () => String(returned(await press('allow')).code);
  const exchange = (code: string, redirect_uri = REDIRECT, headers: Record<string, string> = {}) =>
    tokenRequest({ grant_type: 'authorization_code', code, redirect_uri }, headers);
  return { ...client, open, press, getCode, exchange };
}

/** The query parameters that the browser brings back to the redirect_uri. */
function returned({ status, headers }: Reply): Record<string, string> {
  expect(status).toBe(302);
  const location = new URL(headers.location ?? '');
  expect(location.href.startsWith(REDIRECT)).toBe(true);
  return Object.fromEntries(location.searchParams);
}

test('Allow returns a code, Deny returns access_denied, both with the same state (contract 4.2)', async () => {
  const { open, press } = await startBrowser();
  expect(await open()).toMatchObject({ status: 200, text: expect.stringContaining('<form method="post">') });
  const denied = returned(await press('deny'));
  expect(denied).toMatchObject({ error: 'access_denied', state: 'a&b=c' });
  expect(returned(await press('allow'))).toEqual({ code: CODE, state: 'a&b=c' });
});

test.each([
  ['an unknown client', { client_id: 'x' }],
  ['an unregistered redirect_uri', { redirect_uri: 'https://evil.example/cb' }],
  ['a redirect_uri that only starts like loopback', { redirect_uri: 'http://127.0.0.1.evil.example/' }],
])('%s gets an error page and no redirect (contract 4.2)', async (_, changes) => {
  const { open } = await startBrowser();
  const { status, headers } = await open(changes);
  expect({ status, location: headers.location }).toEqual({ status: 400, location: undefined });
});

test('a code gives an access token with the consented scope, and a refresh token, once (contract 4.1)', async () => {
  const { getCode, exchange } = await startBrowser();
  const code = await getCode();
  const { status, json } = await exchange(code);
  expect(status).toBe(200);
  expect(json).toMatchObject({ scope: 'reporting:read', refresh_token: expect.stringMatching(/^sbx_rt_/) });
  expect((await exchange(code)).json.error).toBe('invalid_grant');
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

import { ClientSecretBasic } from 'oauth4webapi';
import { expect, onTestFinished, test } from 'vitest';
import { NoAnswer, OAuthError, PlatformError, UnreadableAnswer } from '../../../functions/platform/errors.ts';
import { exchangeCode, refreshToken, requestToken } from '../../../functions/platform/token.ts';
import { startSandbox } from '../../../infra/sandbox/sandbox.ts';
import { json, listen } from '../../support/listen.ts';
import { errorOf, platformAt } from '../../support/platform.ts';

const CLIENT = { client_id: 'client-1', client_secret: 'p@ss:w0rd +/%~' };
const GRANTED = { access_token: 'at-1', token_type: 'Bearer', expires_in: 3600, scope: 'reporting:read' };

/** Requests a token from an endpoint that gives this answer. */
async function answered(status: number, body: unknown, headers: Record<string, string> = {}) {
  const server = await listen((_seen, response) =>
    typeof body === 'string'
      ? response.writeHead(status, headers).end(body)
      : json(response, status, body, headers),
  );
  return requestToken(platformAt(server.url), CLIENT).finally(() => server[Symbol.asyncDispose]());
}

test('contract 4.1: client credentials are sent as a form with Basic, without X-Service-Revision', async () => {
  await using server = await listen((_seen, response) => json(response, 200, GRANTED));
  const token = await requestToken(platformAt(`${server.url}/ads/`), CLIENT, 'reporting:read account:read');
  expect(token).toEqual({
    accessToken: 'at-1',
    expiresIn: 3600,
    scope: 'reporting:read',
  });
  const [seen] = server.requests;
  expect(seen).toMatchObject({ method: 'POST', path: '/ads/oauth2/token' });
  expect(seen?.headers['content-type']).toMatch(/^application\/x-www-form-urlencoded/);
  expect(seen?.headers).not.toHaveProperty('x-service-revision');
  expect(Object.fromEntries(new URLSearchParams(seen?.body))).toEqual({
    grant_type: 'client_credentials',
    scope: 'reporting:read account:read',
  });
});

test('contract 4.1: no scope is sent if none is given', async () => {
  await using server = await listen((_seen, response) => json(response, 200, GRANTED));
  await requestToken(platformAt(server.url), CLIENT);
  expect(server.requests[0]?.body).toBe('grant_type=client_credentials');
});

test('RFC 6749 2.3.1: id and secret are form-encoded separately', async () => {
  await using server = await listen((_seen, response) => json(response, 200, GRANTED));
  await requestToken(platformAt(server.url), CLIENT);
  const basic = Buffer.from(
    server.requests[0]?.headers.authorization?.replace('Basic ', '') ?? '',
    'base64',
  ).toString();
  expect(basic).toBe('client-1:p%40ss%3Aw0rd+%2B%2F%25%7E');
  const [id, secret] = basic.split(':').map((part) => new URLSearchParams(`v=${part}`).get('v'));
  expect({ client_id: id, client_secret: secret }).toEqual(CLIENT);
});

test('an id and a secret of letters, digits, "-", "_" and "." work with a server that does not decode', async () => {
  await using server = await listen((_seen, response) => json(response, 200, GRANTED));
  const plain = { client_id: '7c1f-2_a.b', client_secret: 'Zx-9_8.7' };
  await requestToken(platformAt(server.url), plain);
  const sent = server.requests[0]?.headers.authorization;
  expect(sent).toBe(`Basic ${Buffer.from('7c1f-2_a.b:Zx-9_8.7').toString('base64')}`);
  // oauth4webapi's own encoding differs, so it is not used.
  const headers = new Headers();
  await ClientSecretBasic(plain.client_secret)({ issuer: '' }, plain, new URLSearchParams(), headers);
  expect(headers.get('authorization')).not.toBe(sent);
});

test('contract 4.1: a code is exchanged with its redirect_uri for a token and a refresh token', async () => {
  await using server = await listen((_seen, response) =>
    json(response, 200, { ...GRANTED, refresh_token: 'rt-1' }),
  );
  const grant = { code: 'c0de', redirect_uri: 'http://127.0.0.1:8910/callback' };
  const token = await exchangeCode(platformAt(server.url), CLIENT, grant);
  expect(token.refreshToken).toBe('rt-1');
  const form = Object.fromEntries(new URLSearchParams(server.requests[0]?.body));
  expect(form).toEqual({ grant_type: 'authorization_code', ...grant });
});

test('contract 4.1: a refresh sends the refresh token and the extra parameters', async () => {
  await using server = await listen((_seen, response) => json(response, 200, GRANTED));
  const token = await refreshToken(platformAt(server.url), CLIENT, 'rt-1', { scope: 'reporting:read' });
  expect(token).not.toHaveProperty('refreshToken');
  const form = Object.fromEntries(new URLSearchParams(server.requests[0]?.body));
  expect(form).toEqual({ grant_type: 'refresh_token', refresh_token: 'rt-1', scope: 'reporting:read' });
});

test.each([
  ['absent', undefined, 3600],
  ['null', null, 3600],
  ['a word', 'soon', 3600],
  ['a string', '1800', 1800],
  ['0', 0, 60],
  ['5', 5, 60],
  ['negative', -1, 60],
  ['a fraction', 90.7, 90],
  ['huge', 1e12, 86_400],
])('34: an expires_in that is %s (contract 2.1)', async (_what, expires_in, seconds) => {
  expect((await answered(200, { ...GRANTED, expires_in })).expiresIn).toBe(seconds);
});

test('contract 2.1: the token type is compared without case', async () => {
  expect((await answered(200, { ...GRANTED, token_type: 'bEARER' })).accessToken).toBe('at-1');
});

test('contract 2.1: a null scope and an unknown field change nothing', async () => {
  const token = await answered(200, { ...GRANTED, scope: null, refresh_token: null, id_token: 'not.a.jwt' });
  expect(token).toEqual({ accessToken: 'at-1', expiresIn: 3600 });
});

test.each([
  ['HTML', '<html></html>', 'not JSON'],
  ['an empty body', '', 'an empty body'],
  ['no access_token', { token_type: 'Bearer' }, 'access_token: not a string'],
  ['a token with a newline', { ...GRANTED, access_token: 'a\nb' }, 'access_token: not a token'],
  ['an empty token', { ...GRANTED, access_token: '' }, 'access_token: not a token'],
  ['another type', { ...GRANTED, token_type: 'mac' }, 'token_type: not Bearer'],
])('contract 2.1: a success with %s is unreadable', async (_what, body, reason) => {
  const error = await errorOf(UnreadableAnswer, answered(200, body));
  expect(error.reason).toContain(reason);
});

test('a 201 is unreadable', async () => {
  await errorOf(UnreadableAnswer, answered(201, GRANTED));
});

test.each([
  {},
  { 'www-authenticate': 'Basic realm="ads"' },
])('2: a 401 is an OAuthError with its code, with the headers %o (contract 7.3)', async (headers: Record<
  string,
  string
>) => {
  const body = { error: 'invalid_client', error_description: 'The client was revoked.' };
  const error = await errorOf(OAuthError, answered(401, body, headers));
  expect({ ...error }).toEqual({
    ...{ name: 'OAuthError', status: 401, error: 'invalid_client', requestId: 'absent' },
  });
});

test.each([
  ['the API envelope', { error: { type: 'validation', request_id: 'req-3' } }, 'validation', 'req-3'],
  ['no body', '', 'absent', 'absent'],
])('contract 7.3: a 400 with %s is an OAuthError', async (_, body, code, requestId) => {
  expect(await errorOf(OAuthError, answered(400, body))).toMatchObject({ error: code, requestId });
});

test.each([
  ['a sentence', 'Unknown client'],
  ['digits', 'client_1'],
  ['capitals', 'InvalidClient'],
  ['the secret', 'word'],
  ['51 letters', 'x'.repeat(51)],
  ['a number', 7],
])('a code that is %s could be an echo and is not repeated', async (_, error) => {
  const client = { client_id: 'client-1', client_secret: 'word' };
  for (const body of [{ error }, { error: { type: error } }])
    for (const status of [400, 503]) {
      await using server = await listen((_seen, response) => json(response, status, body));
      const thrown = await errorOf(Error, requestToken(platformAt(server.url), client));
      expect(thrown.message).toContain(`was answered ${status} absent`);
    }
});

test.each([400, 401, 429, 500, 302])('no free text of an answer %i is repeated', async (status) => {
  const echo = 'canary';
  const fields = { message: echo, detail: { validation: [echo] }, doc_url: echo };
  for (const body of [{ error: 'x', error_description: echo }, { error: { type: 'x', ...fields } }, echo]) {
    const error = await errorOf(Error, answered(status, body));
    expect(JSON.stringify([error, error.message])).not.toContain(echo);
  }
});

test.each([
  429, 408, 500, 503, 300, 302,
])('%i is a PlatformError with its Retry-After, not an OAuthError', async (status) => {
  const headers = { 'retry-after': '7', location: 'http://127.0.0.1:9/' };
  const error = await errorOf(PlatformError, answered(status, { error: 'temporarily_unavailable' }, headers));
  expect(error).toMatchObject({ status, type: 'temporarily_unavailable', retryAfterSeconds: 7 });
});

test.each([204, 304])('an answer %i without a body is an error with its status', async (status) => {
  await expect(answered(status, '')).rejects.toMatchObject({ status });
});

test('9: the token endpoint has the same timeouts', async () => {
  await using server = await listen(() => {});
  const platform = platformAt(server.url, { timeouts: { total: 50 } });
  const error = await errorOf(NoAnswer, requestToken(platform, CLIENT));
  expect(error).toMatchObject({ sent: true, code: 'TOTAL_TIMEOUT' });
});

test.each([
  ['spaces inside', 'a secret with  spaces'],
  ['a space at each end', ' secret '],
  ['all printable ASCII', `${String.fromCharCode(...Array.from({ length: 95 }, (_, at) => 0x20 + at))}`],
])('a client_secret with %s authenticates with the sandbox', async (_, clientSecret) => {
  const sandbox = await startSandbox({ credentials: [{ clientId: 'client one', clientSecret }] });
  onTestFinished(() => sandbox.close());
  const client = { client_id: 'client one', client_secret: clientSecret };
  expect((await requestToken(platformAt(sandbox.baseUrl), client)).expiresIn).toBe(3600);
  const other = { ...client, client_secret: clientSecret.replaceAll(' ', '') };
  const refused = requestToken(platformAt(sandbox.baseUrl), other);
  expect(await errorOf(OAuthError, refused)).toMatchObject({ error: 'invalid_client' });
});

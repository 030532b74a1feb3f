import { ClientSecretBasic } from 'oauth4webapi';
import { expect, test } from 'vitest';
import { NoAnswer, OAuthError, PlatformError, UnreadableAnswer } from '../../../functions/platform/errors.ts';
import { exchangeCode, refreshToken, requestToken } from '../../../functions/platform/token.ts';
import { json, listen } from '../../support/listen.ts';
import { errorOf, platformAt } from '../../support/platform.ts';

const CLIENT = { client_id: 'client-1', client_secret: 'p@ss:w0rd +/%é' };
const GRANTED = { access_token: 'at-1', token_type: 'Bearer', expires_in: 3600, scope: 'reporting:read' };

/** What the client makes of this answer of the token endpoint. */
async function answered(status: number, body: unknown, headers: Record<string, string> = {}) {
  const server = await listen((_seen, response) =>
    typeof body === 'string'
      ? response.writeHead(status, headers).end(body)
      : json(response, status, body, headers),
  );
  return requestToken(platformAt(server.url), CLIENT).finally(() => server[Symbol.asyncDispose]());
}

test('contract 4.1: client credentials are a form with Basic, and without X-Service-Revision', async () => {
  await using server = await listen((_seen, response) => json(response, 200, GRANTED));
  const token = await requestToken(platformAt(`${server.url}/ads/`), CLIENT, {
    scope: 'reporting:read account:read',
  });
  expect(token).toEqual({
    accessToken: 'at-1',
    tokenType: 'Bearer',
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

test('contract 4.1: without a scope none is sent', async () => {
  await using server = await listen((_seen, response) => json(response, 200, GRANTED));
  await requestToken(platformAt(server.url), CLIENT);
  expect(server.requests[0]?.body).toBe('grant_type=client_credentials');
});

test('RFC 6749 2.3.1: id and secret are form-encoded each, and decode to what they were', async () => {
  await using server = await listen((_seen, response) => json(response, 200, GRANTED));
  await requestToken(platformAt(server.url), CLIENT);
  const basic = Buffer.from(
    server.requests[0]?.headers.authorization?.replace('Basic ', '') ?? '',
    'base64',
  ).toString();
  expect(basic).toBe('client-1:p%40ss%3Aw0rd+%2B%2F%25%C3%A9');
  const [id, secret] = basic.split(':').map((part) => new URLSearchParams(`v=${part}`).get('v'));
  expect({ client_id: id, client_secret: secret }).toEqual(CLIENT);
});

test('an id and a secret of letters, digits, "-", "_" and "." read the same to a server that does not decode', async () => {
  await using server = await listen((_seen, response) => json(response, 200, GRANTED));
  const plain = { client_id: '7c1f-2_a.b', client_secret: 'Zx-9_8.7' };
  await requestToken(platformAt(server.url), plain);
  const sent = server.requests[0]?.headers.authorization;
  expect(sent).toBe(`Basic ${Buffer.from('7c1f-2_a.b:Zx-9_8.7').toString('base64')}`);
  // The reason why oauth4webapi's own is not used.
  const headers = new Headers();
  await ClientSecretBasic(plain.client_secret)({ issuer: '' }, plain, new URLSearchParams(), headers);
  expect(headers.get('authorization')).not.toBe(sent);
});

test('contract 4.1: the authorization code is exchanged with its redirect_uri, for a refresh token too', async () => {
  await using server = await listen((_seen, response) =>
    json(response, 200, { ...GRANTED, refresh_token: 'rt-1' }),
  );
  const grant = { code: 'c0de', redirect_uri: 'http://127.0.0.1:8910/callback' };
  const token = await exchangeCode(platformAt(server.url), CLIENT, grant);
  expect(token.refreshToken).toBe('rt-1');
  const form = Object.fromEntries(new URLSearchParams(server.requests[0]?.body));
  expect(form).toEqual({ grant_type: 'authorization_code', ...grant });
});

test('contract 4.1: a refresh sends the refresh token and the parameters of the setting', async () => {
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
])('contract 2.1: an expires_in that is %s', async (_what, expires_in, seconds) => {
  expect((await answered(200, { ...GRANTED, expires_in })).expiresIn).toBe(seconds);
});

test('contract 2.1: the type of the token is compared without regard to case', async () => {
  expect((await answered(200, { ...GRANTED, token_type: 'bEARER' })).tokenType).toBe('Bearer');
});

test('contract 2.1: a null scope, and a field that the contract does not name, change nothing', async () => {
  const token = await answered(200, { ...GRANTED, scope: null, refresh_token: null, id_token: 'not.a.jwt' });
  expect(token).toEqual({ accessToken: 'at-1', tokenType: 'Bearer', expiresIn: 3600 });
});

test.each([
  ['HTML', '<html></html>', 'not JSON'],
  ['an empty body', '', 'an empty body'],
  ['no access_token', { token_type: 'Bearer' }, 'access_token: not a string'],
  ['a token with a newline', { ...GRANTED, access_token: 'a\nb' }, 'access_token: not a token'],
  ['an empty token', { ...GRANTED, access_token: '' }, 'access_token: not a token'],
  ['another type', { ...GRANTED, token_type: 'mac' }, 'token_type: not Bearer'],
])('contract 2.1: a success with %s is an unreadable answer', async (_what, body, reason) => {
  const error = await errorOf(UnreadableAnswer, answered(200, body));
  expect(error.reason).toContain(reason);
});

test('201 is an unreadable answer', async () => {
  await errorOf(UnreadableAnswer, answered(201, GRANTED));
});

test.each([
  {},
  { 'www-authenticate': 'Basic realm="ads"' },
])('contract 7.3: a 401 keeps error and error_description, with the headers %o', async (headers: Record<
  string,
  string
>) => {
  const body = { error: 'invalid_client', error_description: 'The client was revoked.' };
  const error = await errorOf(OAuthError, answered(401, body, headers));
  expect(error).toMatchObject({
    name: 'OAuthError',
    status: 401,
    error: 'invalid_client',
    errorDescription: 'The client was revoked.',
    requestId: 'absent',
  });
});

test('contract 7.3: a 400 with the API envelope, or with nothing at all, is an OAuthError as well', async () => {
  const envelope = { error: { type: 'validation', message: 'No grant_type.', request_id: 'req-3' } };
  expect(await errorOf(OAuthError, answered(400, envelope))).toMatchObject({
    error: 'validation',
    errorDescription: 'No grant_type.',
    requestId: 'req-3',
  });
  expect(await errorOf(OAuthError, answered(404, ''))).toMatchObject({ status: 404, error: 'absent' });
});

test('contract 7.3: what was not sent is no secret: the word "undefined" stays in a refusal', async () => {
  const error_description = 'scope is undefined';
  const refused = answered(400, { error: 'invalid_scope', error_description });
  expect(await errorOf(OAuthError, refused)).toMatchObject({ errorDescription: error_description });
});

test.each([429, 408, 500, 503, 300, 302])('%i says that later it may work, and when', async (status) => {
  const headers = { 'retry-after': '7', location: 'http://127.0.0.1:9/' };
  const error = await errorOf(PlatformError, answered(status, { error: 'temporarily_unavailable' }, headers));
  expect(error).toMatchObject({ status, type: 'temporarily_unavailable', retryAfterSeconds: 7 });
});

test.each([204, 304])('an answer of %i, which has no body, is no crash', async (status) => {
  await expect(answered(status, '')).rejects.toMatchObject({ status });
});

test('the token endpoint has the same time-outs', async () => {
  await using server = await listen(() => {});
  const platform = platformAt(server.url, { timeouts: { total: 50 } });
  const error = await errorOf(NoAnswer, requestToken(platform, CLIENT));
  expect(error).toMatchObject({ sent: true, code: 'TOTAL_TIMEOUT' });
});

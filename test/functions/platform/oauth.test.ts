import { expect, test } from 'vitest';
import { createTokenRequest, requestToken } from '../../../functions/platform/oauth.ts';
import {
  AnswerUnreadable,
  CredentialUnusable,
  ExportError,
  LoginRequired,
  RateLimited,
} from '../../../functions/workflow/errors.ts';
import { json, listen } from '../../support/listen.ts';
import { errorOf, platformAt } from '../../support/platform.ts';

const CLIENT = { client_id: 'client-1', client_secret: 'p@ss:w0rd +/%~' };
const FORM = { grant_type: 'client_credentials' };
const GRANTED = { access_token: 'at-1', token_type: 'bEARER', expires_in: 3600, scope: 'reporting:read' };

/** Requests a token from an endpoint that gives this answer. */
async function answered(status: number, body: unknown, headers: Record<string, string> = {}, form = FORM) {
  const server = await listen((_seen, response) =>
    typeof body === 'string'
      ? response.writeHead(status, headers).end(body)
      : json(response, status, body, headers),
  );
  return requestToken(platformAt(server.url), CLIENT, form).finally(() => server[Symbol.asyncDispose]());
}

test('contract 4.1, 9.3: client credentials are sent as a form with Basic, without X-Service-Revision', async () => {
  await using server = await listen((_seen, response) => json(response, 200, GRANTED));
  const token = await requestToken(platformAt(`${server.url}/ads/`), CLIENT, {
    ...FORM,
    scope: 'reporting:read account:read',
  });
  expect(token).toEqual({ accessToken: 'at-1', expiresIn: 3600, scope: 'reporting:read' });
  const [seen] = server.requests;
  expect(seen).toMatchObject({ method: 'POST', path: '/ads/oauth2/token' });
  expect(seen?.headers).toMatchObject({
    accept: 'application/json',
    'content-type': 'application/x-www-form-urlencoded',
  });
  expect(seen?.headers).not.toHaveProperty('x-service-revision');
  expect(seen?.body).toBe('grant_type=client_credentials&scope=reporting%3Aread+account%3Aread');
});

test.each([
  ['are form-encoded (RFC 6749, 2.3.1)', CLIENT, 'client-1:p%40ss%3Aw0rd+%2B%2F%25%7E'],
  [
    'of letters, digits, "-", "_" and "." are sent as they are, because many servers do not decode',
    { client_id: '7c1f-2_a.b', client_secret: 'Zx-9_8.7' },
    '7c1f-2_a.b:Zx-9_8.7',
  ],
])('id and secret %s', async (_, client, expected) => {
  await using server = await listen((_seen, response) => json(response, 200, GRANTED));
  await requestToken(platformAt(server.url), client, FORM);
  const [scheme, basic = ''] = server.requests[0]?.headers.authorization?.split(' ') ?? [];
  expect(scheme).toBe('Basic');
  expect(Buffer.from(basic, 'base64').toString()).toBe(expected);
  expect(server.requests[0]?.body).toBe('grant_type=client_credentials');
});

test.each<[object, string]>([
  [{}, 'grant_type=client_credentials&scope=s'],
  [{ refresh_token: 'rt-1' }, 'grant_type=refresh_token&refresh_token=rt-1&audience=ads'],
])('contract 4.1: a credential %j is exchanged by the form %s', async (login, form) => {
  await using server = await listen((_seen, response) =>
    json(response, 200, { ...GRANTED, refresh_token: 'r' }),
  );
  const request = createTokenRequest(platformAt(server.url), { audience: 'ads' });
  expect((await request({ ...CLIENT, ...login }, 's')).refreshToken).toBe('r');
  expect(server.requests[0]?.body).toBe(form);
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

test('contract 2.1: a null scope and an unknown field change nothing', async () => {
  const token = await answered(200, { ...GRANTED, scope: null, refresh_token: null, id_token: 'not.a.jwt' });
  expect(token).toEqual({ accessToken: 'at-1', expiresIn: 3600 });
});

test('11: a 201 with a token is unreadable', async () => {
  expect(await errorOf(AnswerUnreadable, answered(201, GRANTED))).toMatchObject({ facts: { status: 201 } });
});

test.each([
  ['HTML', '<html></html>', 'not JSON'],
  ['an empty body', '', 'an empty body'],
  ['no access_token', { token_type: 'Bearer' }, 'access_token: is missing'],
  ['a token with a newline', { ...GRANTED, access_token: 'a\nb' }, 'access_token: not a token'],
  ['an empty token', { ...GRANTED, access_token: '' }, 'access_token: not a token'],
  ['another type', { ...GRANTED, token_type: 'mac' }, 'token_type: not Bearer'],
])('contract 2.1: a success with %s is unreadable', async (_what, body, reason) => {
  const error = await errorOf(AnswerUnreadable, answered(200, body));
  expect(error.happened).toContain(reason);
});

test('3: a dead refresh token is LoginRequired', async () => {
  expect(await errorOf(LoginRequired, answered(400, { error: 'invalid_grant' }))).toMatchObject({
    happened:
      'The token endpoint answered 400 (invalid_grant): it does not accept the login or the code any more.',
  });
});

const REVOKED = { error: 'invalid_client', error_description: 'The client was revoked.' };

test.each<[string, number, unknown, Record<string, string>, string, string | undefined]>([
  ['an OAuth body', 401, REVOKED, { 'x-request-id': 'req-4' }, 'invalid_client', 'req-4'],
  ['WWW-Authenticate', 401, REVOKED, { 'www-authenticate': 'Basic realm="a"' }, 'invalid_client', undefined],
  ['an envelope', 403, { error: { type: 'access_denied', request_id: 'r-3' } }, {}, 'access_denied', 'r-3'],
  ['no body', 401, '', {}, 'unnamed error', undefined],
  ['a code of this kind', 400, { error: 'invalid_client_secret' }, {}, 'invalid_client_secret', undefined],
  ['a time to wait', 400, REVOKED, { 'retry-after': '5' }, 'invalid_client', undefined],
])('2: a refusal with %s is about the credential (contract 7.3)', async (_, status, body, headers, code, requestId) => {
  const error = await errorOf(CredentialUnusable, answered(status, body, headers));
  expect(error.facts).toEqual({ status, type: code, request_id: requestId });
});

test('3: words that ask for another login ask for no wait', async () => {
  for (const error_description of ['It has expired. Log in and try again.', 'Too many refresh tokens.'])
    await errorOf(LoginRequired, answered(400, { error: 'invalid_grant', error_description }));
  const error_description = 'Check the secret and try again';
  await errorOf(CredentialUnusable, answered(401, { error: 'invalid_client', error_description }));
});

test.each(['INVALID_CLIENT', 'Invalid_Client', 'InvalidClient'])('2: %s is invalid_client', async (error) => {
  const { facts } = await errorOf(CredentialUnusable, answered(400, { error }));
  expect(facts.type).toBe('invalid_client');
});

test.each([
  ['Client_Disabled', 'client_disabled'],
  ['InvalidClientSecret', 'invalid_client_secret'],
  ['InvalidAPIKey', 'invalid_api_key'],
  ['accountSuspended', 'account_suspended'],
  ['LOGIN_REQUIRED', 'login_required'],
])('2: %s blames the credential as %s does', async (error, type) => {
  for (const body of [{ error }, { error: { code: error } }])
    expect((await errorOf(CredentialUnusable, answered(400, body))).facts).toMatchObject({ type });
});

test('a scope that the client lacks is named (RFC 6749, 5.2)', async () => {
  const form = { ...FORM, scope: 'reporting:read advertisers:read' };
  const error = await errorOf(CredentialUnusable, answered(400, { error: 'invalid_scope' }, {}, form));
  expect(error.happened).toContain('the client may not use reporting:read advertisers:read');
});

test('a code that could be an echo of a secret is not repeated', async () => {
  for (const error of ['Unknown client', 'x'.repeat(51), 'aSecretOfLetters', 'SECRET', 7])
    for (const body of [{ error }, { error: { type: error } }])
      expect((await errorOf(ExportError, answered(400, body))).facts.type).toBe('unnamed error');
});

const PAGE = '<html><body>Access denied</body></html>';

test.each<[number, unknown, Record<string, string>]>([
  [429, { error: 'slow_down' }, {}],
  [408, '', {}],
  [423, { error: 'locked' }, {}],
  [425, '', {}],
  [403, { error: 'rate_limit_exceeded' }, { 'retry-after': '30' }],
  [403, { error: 'rate_limit_exceeded' }, {}],
  [400, { error: 'temporarily_unavailable' }, {}],
  [400, { error: 'slow_down' }, {}],
  [401, { error: 'rate_limited' }, {}],
  [403, { error: { type: 'quota', message: 'Quota exceeded' } }, {}],
  [403, { error: { code: 'TooManyRequests' } }, {}],
  [403, { fault: { faultstring: 'Rate limit quota violation' } }, {}],
  [403, { errors: [{ code: 'x', errorMessage: 'Too many requests' }] }, {}],
  [403, { error: { details: ['Rate limit exceeded'] } }, {}],
  [403, { data: { error: { status: 'THROTTLED' } } }, {}],
  [403, PAGE, { 'retry-after': 'Sat, 28 Nov 2099 21:00:00 GMT' }],
  [403, '<html>Too many requests</html>', {}],
  [400, { error: 'invalid_request', error_description: 'Please try again later.' }, {}],
  [503, { error: 'maintenance' }, { 'retry-after': '900' }],
  [429, { error: 'invalid_client' }, {}],
  [
    401,
    { error: 'invalid_client', error_description: 'Too many failed attempts. Try again in 5 minutes' },
    {},
  ],
  [403, { error: 'access_denied', error_description: 'Rate limit exceeded, try again later' }, {}],
])('66: %i with %j and %j asks to wait, and blames no credential', async (status, body, headers) => {
  const error = await errorOf(RateLimited, answered(status, body, headers));
  expect(error).toMatchObject({ facts: { status }, happened: expect.not.stringMatching(/credential/i) });
});

test('66: a time to wait is a fact', async () => {
  const error = await errorOf(RateLimited, answered(400, { error: 'slow_down' }, { 'retry-after': '7' }));
  expect(error.facts).toMatchObject({ type: 'slow_down', retry_after: 7 });
});

test.each<[number, unknown, string]>([
  [500, { error: 'server_error' }, 'PlatformUnavailable'],
  [503, { error: 'temporarily_unavailable' }, 'PlatformUnavailable'],
  [403, PAGE, 'PlatformUnavailable'],
  [403, '', 'PlatformUnavailable'],
  [302, '', 'RequestRefused'],
  [404, '<html>Try again</html>', 'RequestRefused'],
  [405, '', 'RequestRefused'],
  [400, { error: 'invalid_request' }, 'RequestRefused'],
  [400, { error: 'unsupported_grant_type' }, 'RequestRefused'],
  [400, { error: 'unsupported_grant_type', error_description: 'It is unavailable' }, 'RequestRefused'],
  [400, { error: 'invalid_request', error_uri: 'https://x.example/quota' }, 'RequestRefused'],
  [400, { error: 'invalid_request', error_description: 'The scope is unavailable' }, 'RequestRefused'],
  [400, { error: { type: 'no_grant', doc_url: 'docs/quota' } }, 'RequestRefused'],
  [400, { error: { type: 'no_grant', links: { type: 'quota' } } }, 'RequestRefused'],
  [400, { error: 'no_grant', client: 'quota-reports' }, 'RequestRefused'],
  [400, { error: 'no_grant', message: 'See https://x.example/quota.' }, 'RequestRefused'],
  [400, { type: 'https://x.example/quota', title: 'Refused' }, 'RequestRefused'],
  [400, '<a href="/quota">Help</a>', 'RequestRefused'],
  [400, '', 'RequestRefused'],
])('66: %i with %j is %s, which blames no credential', async (status, body, name) => {
  expect(await errorOf(ExportError, answered(status, body))).toMatchObject({ name, facts: { status } });
});

import { expect, test } from 'vitest';
import { startSandbox } from '../../../../infra/local/sandbox/sandbox.ts';
import { requestOf, send, visit } from './visitor.ts';

test('5.6: an invalid token is 401 even when the revision is bad as well', async () => {
  const { call } = await visit();
  const headers = { authorization: 'Bearer nonsense', 'x-service-revision': '1999-01-01' };
  const { status, envelope } = await call('GET', '/reports/x', undefined, headers);
  expect(status).toBe(401);
  expect(envelope).toMatchObject({ type: 'token_invalid', status: 401 });
});

test('5.1: no Authorization header is 401', async () => {
  const { sandbox } = await visit();
  expect((await send('POST', `${sandbox.baseUrl}/reports`, { body: '{}' })).status).toBe(401);
});

test.each([
  '1999-01-01',
  'latest',
  '',
])('9.2: an unknown revision "%s" is 400 and named', async (revision) => {
  const { call } = await visit();
  const { status, envelope } = await call('GET', '/campaigns', undefined, { 'x-service-revision': revision });
  expect(status).toBe(400);
  expect(envelope.message).toContain(`X-Service-Revision names no published revision: ${revision}`);
});

test('9.2: a missing revision is 400', async () => {
  const { sandbox, token } = await visit();
  const headers = { authorization: `Bearer ${await token()}` };
  const { status, envelope } = await send('GET', `${sandbox.baseUrl}/campaigns`, { headers });
  expect({ status, type: envelope.type }).toEqual({ status: 400, type: 'validation' });
});

test('9.1: every published revision is accepted', async () => {
  const { call } = await visit({ revisions: ['2026-01-15', '2026-09-01'] });
  for (const revision of ['2026-01-15', '2026-09-01']) {
    expect((await call('GET', '/campaigns', undefined, { 'x-service-revision': revision })).status).toBe(200);
  }
});

test('7.2: a token without reporting:read is 403 insufficient_scope, which names it', async () => {
  const { call, sandbox } = await visit({ credentials: [{ scopes: ['campaigns:read'] }] });
  const { status, envelope } = await call('POST', '/reports', requestOf(sandbox));
  expect(status).toBe(403);
  expect(envelope).toMatchObject({
    type: 'insufficient_scope',
    message: expect.stringContaining('reporting:read'),
  });
});

test('7.1: an error envelope has type, message, status and request_id, and each request_id is new', async () => {
  const { call } = await visit();
  const replies = [await call('GET', '/reports/x'), await call('GET', '/reports/x')];
  const ids = replies.map(({ envelope }) => envelope.request_id);
  expect(replies[0]?.envelope).toMatchObject({
    type: 'not_found',
    status: 404,
    message: expect.any(String),
  });
  expect(new Set(ids).size).toBe(2);
});

test('7.1: the envelope can be bare of its optional fields', async () => {
  const { create } = await visit({ bareEnvelope: true });
  const { envelope } = await create({ metrics: [] });
  expect(Object.keys(envelope)).toEqual(['type', 'message', 'status', 'request_id']);
});

test('5.7: X-API-Key opens the reporting endpoints and no other', async () => {
  const { sandbox } = await visit();
  const headers = {
    'x-api-key': sandbox.credentials[0]?.apiKey ?? '',
    'x-service-revision': sandbox.revision,
    'content-type': 'application/json',
  };
  const body = JSON.stringify(requestOf(sandbox));
  expect((await send('POST', `${sandbox.baseUrl}/reports`, { headers, body })).status).toBe(201);
  expect((await send('GET', `${sandbox.baseUrl}/campaigns`, { headers })).status).toBe(401);
});

test('9.6: X-API-Key works until the last moment of 2026 and is 401 from 2027-01-01', async () => {
  let time = Date.parse('2026-12-31T23:59:59.999Z');
  await using sandbox = await startSandbox({ now: () => time });
  const headers = {
    'x-api-key': sandbox.credentials[0]?.apiKey ?? '',
    'x-service-revision': sandbox.revision,
    'content-type': 'application/json',
  };
  const create = () =>
    send('POST', `${sandbox.baseUrl}/reports`, { headers, body: JSON.stringify(requestOf(sandbox)) });
  expect((await create()).status).toBe(201);
  time += 1;
  expect((await create()).status).toBe(401);
});

test('a base path is part of every address, and nothing is served outside it', async () => {
  const { sandbox, create } = await visit({ basePath: '/ads/v1' });
  expect((await create()).status).toBe(201);
  const { origin } = new URL(sandbox.baseUrl);
  expect((await send('POST', `${origin}/reports`)).status).toBe(404);
});

test('an address that is not the platform’s is 404, and a method it does not take is 405', async () => {
  const { call } = await visit();
  expect((await call('GET', '/nothing')).status).toBe(404);
  const { status, headers } = await call('DELETE', '/reports');
  expect({ status, allow: headers.allow }).toEqual({ status: 405, allow: 'POST' });
});

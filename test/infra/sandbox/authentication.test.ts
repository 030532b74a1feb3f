import { expect, test } from 'vitest';
import { apiKeyHeaders, createWithApiKey, requestOf, send, startClient } from './client.ts';

test('an invalid token is 401 even if the revision is bad too (contract 5.6)', async () => {
  const { call } = await startClient();
  const headers = { authorization: 'Bearer nonsense', 'x-service-revision': '1999-01-01' };
  const { status, envelope } = await call('GET', '/reports/x', undefined, headers);
  expect(status).toBe(401);
  expect(envelope).toMatchObject({ type: 'token_invalid', status: 401 });
});

test('a request without Authorization is 401 (contract 5.1)', async () => {
  const { sandbox } = await startClient();
  expect((await send('POST', `${sandbox.baseUrl}/reports`, { body: '{}' })).status).toBe(401);
});

test('an unknown revision is 400 and named, and a missing one is 400 (contract 9.2)', async () => {
  const { sandbox, token } = await startClient();
  const authorization = `Bearer ${await token()}`;
  for (const revision of ['1999-01-01', 'latest', '', undefined]) {
    const headers = { authorization, ...(revision !== undefined && { 'x-service-revision': revision }) };
    const { status, envelope } = await send('GET', `${sandbox.baseUrl}/campaigns`, { headers });
    expect({ status, type: envelope.type }).toEqual({ status: 400, type: 'validation' });
    const problem = revision === undefined ? 'is missing' : `names no published revision: ${revision}`;
    expect(envelope.message).toContain(`X-Service-Revision ${problem}`);
  }
});

test('every published revision is accepted (contract 9.1)', async () => {
  const { call } = await startClient({ revisions: ['2026-01-15', '2026-09-01'] });
  for (const revision of ['2026-01-15', '2026-09-01']) {
    expect((await call('GET', '/campaigns', undefined, { 'x-service-revision': revision })).status).toBe(200);
  }
});

test('a token without reporting:read is 403 and the message names the scope (contract 7.2)', async () => {
  const { create } = await startClient({ credentials: [{ scopes: ['campaigns:read'] }] });
  const { status, envelope } = await create();
  expect([status, envelope.type]).toEqual([403, 'insufficient_scope']);
  expect(envelope.message).toContain('reporting:read');
});

test('an error envelope has type, message, status and a new request_id (contract 7.1)', async () => {
  const { poll } = await startClient();
  const [first, second] = [(await poll('x')).envelope, (await poll('x')).envelope];
  expect(first).toMatchObject({ type: 'not_found', status: 404, message: expect.any(String) });
  expect(first.request_id).toEqual(expect.any(String));
  expect(first.request_id).not.toBe(second.request_id);
});

test('bareEnvelope leaves out the optional fields of the envelope (contract 7.1)', async () => {
  const { create } = await startClient({ bareEnvelope: true });
  const { envelope } = await create({ metrics: [] });
  expect(Object.keys(envelope)).toEqual(['type', 'message', 'status', 'request_id']);
});

test('X-API-Key works only on the reporting endpoints (contract 5.7)', async () => {
  const { sandbox } = await startClient();
  expect((await createWithApiKey(sandbox)).status).toBe(201);
  const headers = apiKeyHeaders(sandbox);
  expect((await send('GET', `${sandbox.baseUrl}/campaigns`, { headers })).status).toBe(401);
});

test('X-API-Key works until the end of 2026 and is 401 from 2027-01-01 (contract 9.6)', async () => {
  let time = Date.parse('2026-12-31T23:59:59.999Z');
  const { sandbox } = await startClient({ now: () => time });
  expect((await createWithApiKey(sandbox)).status).toBe(201);
  time += 1;
  expect((await createWithApiKey(sandbox)).status).toBe(401);
});

test('the base path is part of every URL, and any other path is 404', async () => {
  const { sandbox, create } = await startClient({ basePath: '/ads/v1' });
  expect((await create()).status).toBe(201);
  const { origin } = new URL(sandbox.baseUrl);
  const body = JSON.stringify(requestOf(sandbox));
  expect((await send('POST', `${origin}/reports`, { body })).status).toBe(404);
});

test('an unknown path is 404, and a wrong method is 405 with Allow', async () => {
  const { call } = await startClient();
  expect((await call('GET', '/nothing')).status).toBe(404);
  const { status, headers } = await call('DELETE', '/reports');
  expect({ status, allow: headers.allow }).toEqual({ status: 405, allow: 'POST' });
});

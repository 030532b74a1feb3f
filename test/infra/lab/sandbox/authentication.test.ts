import { describe, expect, test } from 'vitest';
import { apiKeyHeaders, send, startClient as startLocalClient } from './client.ts';
import { HOSTS } from './hosts.ts';

describe.each(Object.entries(HOSTS))('%s', (_host, startClient) => {
  test('an invalid token is 401 even if the revision is bad too (contract 5.6)', async () => {
    const { call } = await startClient();
    const headers = { authorization: 'Bearer nonsense', 'x-service-revision': '1999-01-01' };
    const { status, envelope } = await call('GET', '/reports/x', undefined, headers);
    expect(status).toBe(401);
    expect(envelope).toMatchObject({ type: 'token_invalid', status: 401, request_id: expect.any(String) });
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

  test('each area needs its own scope, and the message names it (contract 5.3 and 7.2)', async () => {
    const { call, tokenRequest } = await startClient();
    const { json } = await tokenRequest({ grant_type: 'client_credentials', scope: 'account:read' });
    const headers = { authorization: `Bearer ${json.access_token}` };
    const lists = ['advertisers', 'campaigns', 'audiences', 'creatives', 'impression_tracking'];
    for (const [path, area] of [['reports/x', 'reporting'], ...lists.map((list) => [list, list])]) {
      const { status, envelope } = await call('GET', `/${path}`, undefined, headers);
      expect({ status, type: envelope.type }).toEqual({ status: 403, type: 'insufficient_scope' });
      expect(envelope.message).toContain(`${area}:read`);
    }
  });
});

test('X-API-Key works on the reporting endpoints until the end of 2026 (contract 5.7 and 9.6)', async () => {
  let time = Date.parse('2026-12-31T23:59:59.999Z');
  const { sandbox, create, call } = await startLocalClient({ now: () => time });
  const headers = apiKeyHeaders(sandbox);
  expect((await create({}, headers)).status).toBe(201);
  expect((await call('GET', '/campaigns', undefined, headers)).status).toBe(401);
  time += 1;
  expect((await create({}, headers)).status).toBe(401);
});

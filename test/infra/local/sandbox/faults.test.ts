import { expect, test } from 'vitest';
import { visit } from './visitor.ts';

const RESET = expect.objectContaining({ code: expect.stringMatching(/ECONNRESET|UND_ERR_SOCKET/) });
const GRANT = { grant_type: 'client_credentials' };

test('a fault strikes from the nth matching call on, so many times', async () => {
  const { create } = await visit({ faults: ['create nth=2 times=2 status=500'] });
  const statuses = [];
  for (let call = 1; call <= 4; call += 1) statuses.push((await create()).status);
  expect(statuses).toEqual([201, 500, 500, 201]);
});

test('a fault can be added while the sandbox runs, and cleared', async () => {
  const { sandbox, create } = await visit();
  sandbox.faults.add({ on: 'create', status: 500, times: Infinity });
  expect((await create()).status).toBe(500);
  sandbox.faults.clear();
  expect((await create()).status).toBe(201);
});

test('a status is answered in the envelope, the OAuth body or XML, as the endpoint does, and nothing is processed', async () => {
  const { sandbox, create, tokenRequest } = await visit();
  sandbox.faults.add('create status=500');
  const { envelope } = await create();
  expect(envelope).toMatchObject({ type: 'internal_error', status: 500, request_id: expect.any(String) });
  expect(sandbox.reports()).toHaveLength(0);
  sandbox.faults.add('token status=401');
  expect((await tokenRequest(GRANT)).json.error).toBe('invalid_client');
});

test('a report can be created and yet answered 500', async () => {
  const { sandbox, create } = await visit({ faults: ['create status=500 processed'] });
  expect((await create()).status).toBe(500);
  expect(sandbox.reports()).toHaveLength(1);
});

test('a reset before the request loses it; a reset after it loses only the answer', async () => {
  const { sandbox, create } = await visit({ faults: ['create reset=before', 'create nth=2 reset=after'] });
  await expect(create()).rejects.toEqual(RESET);
  expect(sandbox.reports()).toHaveLength(0);
  await expect(create()).rejects.toEqual(RESET);
  expect(sandbox.reports()).toHaveLength(1);
  const lines = sandbox.journal.filter(({ endpoint }) => endpoint === 'create');
  expect(lines.map(({ status }) => status)).toEqual([null, null]);
});

test.each([
  ['HTML', 'create body="<h1>Bad gateway</h1>"', { status: 201, text: '<h1>Bad gateway</h1>' }],
  ['an empty body', 'create body=', { status: 201, text: '' }],
  ['broken JSON', 'create body="{"', { status: 201, text: '{' }],
  ['no id', 'create omit=id', { text: '{"status":"CREATED"}' }],
  ['200 for 201', 'create status=200', { status: 200, text: expect.stringContaining('"id"') }],
])('an answer can be %s', async (_, fault, reply) => {
  const { create } = await visit({ faults: [fault] });
  expect(await create()).toMatchObject(reply);
});

test('fields of the envelope can be missing or other ones', async () => {
  const { sandbox, create } = await visit({ faults: ['create status=500 omit=error.request_id,error.type'] });
  expect(Object.keys((await create()).envelope)).not.toContain('request_id');
  sandbox.faults.add('create status=422 set.error.detail={"validation":"all wrong"}');
  expect((await create()).envelope.detail).toEqual({ validation: 'all wrong' });
});

test('Retry-After is in seconds or a date by the sandbox clock', async () => {
  const { create, now } = await visit({
    faults: ['create status=429 retry_after=120', 'create nth=2 status=429 retry_after=date:90'],
  });
  expect((await create()).headers['retry-after']).toBe('120');
  expect(Date.parse((await create()).headers['retry-after'] ?? '')).toBe(now() + 90_000);
});

test('a header can be left out or added', async () => {
  const { create } = await visit({
    faults: ['create status=401 header.www-authenticate=Bearer', 'create nth=2 status=401'],
  });
  expect((await create()).headers).toHaveProperty('www-authenticate', 'Bearer');
  expect((await create()).headers).not.toHaveProperty('www-authenticate');
});

test.each([
  ['token omit=expires_in', undefined],
  ['token set.expires_in=0', 0],
  ['token set.expires_in=-5', -5],
  ['token set.expires_in="3600"', '3600'],
  ['token set.expires_in=1e15', 1e15],
])('%s is what the token response says', async (fault, value) => {
  const { tokenRequest } = await visit({ faults: [fault] });
  expect((await tokenRequest(GRANT)).json.expires_in).toBe(value);
});

test('tokens can be revoked at a call or at once', async () => {
  const { sandbox, token, call } = await visit({ faults: ['GET /campaigns nth=2 revoke'] });
  const list = (authorization: string) => call('GET', '/campaigns', undefined, { authorization });
  const first = `Bearer ${await token()}`;
  expect([(await list(first)).status, (await list(first)).status]).toEqual([200, 401]);
  const second = `Bearer ${await token()}`;
  sandbox.revokeTokens();
  expect((await list(second)).status).toBe(401);
});

test('a report can stay PROCESSING while others get READY', async () => {
  const { ready } = await visit({
    faults: ['report=1 set.status=PROCESSING omit=download_url times=always'],
  });
  expect((await ready()).url).toBe('undefined');
  expect((await ready()).url).toMatch(/^http/);
});

test.each([
  ['report set.status=FROZEN', { status: 'FROZEN' }],
  ['report omit=download_url', { status: 'READY' }],
  ['report set.download_url=nonsense', { download_url: 'nonsense' }],
  ['report set.download_url=http://169.254.169.254/x?y=z', { download_url: 'http://169.254.169.254/x?y=z' }],
])('the report record can be changed: %s', async (fault, record) => {
  const { create, call, pass } = await visit({ faults: [fault] });
  const { id } = (await create()).json;
  pass(40);
  const { json } = await call('GET', `/reports/${id}`);
  expect(json).toMatchObject(record);
  if (fault.includes('omit')) expect(json).not.toHaveProperty('download_url');
});

test('an answer can never come, and closing the sandbox still ends it', async () => {
  const { sandbox, tokenRequest } = await visit({ faults: ['token hang'] });
  const asked = tokenRequest(GRANT).then(
    () => 'answered',
    () => 'never',
  );
  while (sandbox.journal.length === 0) await new Promise(setImmediate);
  await sandbox.close();
  expect(await asked).toBe('never');
});

test('an answer can come a byte at a time', async () => {
  const { sandbox, tokenRequest } = await visit({ faults: ['token trickle=1'] });
  const { json, bytes } = await tokenRequest(GRANT);
  expect(json.token_type).toBe('Bearer');
  expect(sandbox.journal.at(-1)?.bytes).toBe(bytes.length);
});

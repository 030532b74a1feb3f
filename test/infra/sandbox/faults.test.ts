import { expect, test } from 'vitest';
import { startClient, startReport } from './client.ts';

const RESET = expect.objectContaining({ code: expect.stringMatching(/ECONNRESET|UND_ERR_SOCKET/) });
const GRANT = { grant_type: 'client_credentials' };

test('nth is the first request that fails, and times is how many fail', async () => {
  const { create } = await startClient({ faults: ['create nth=2 times=2 status=500'] });
  const statuses = [];
  for (let call = 1; call <= 4; call += 1) statuses.push((await create()).status);
  expect(statuses).toEqual([201, 500, 500, 201]);
});

test('faults can be added and cleared while the sandbox runs', async () => {
  const { sandbox, create } = await startClient();
  sandbox.faults.add({ on: 'create', status: 500, times: Infinity });
  expect((await create()).status).toBe(500);
  sandbox.faults.clear();
  expect((await create()).status).toBe(201);
});

test('status answers in the error format of the endpoint and does not process the request', async () => {
  const { sandbox, create, tokenRequest } = await startClient({
    faults: ['create status=500', 'token nth=2 status=401'],
  });
  const { envelope } = await create();
  expect(envelope).toMatchObject({ type: 'internal_error', status: 500, request_id: expect.any(String) });
  expect(sandbox.reports()).toHaveLength(0);
  expect((await tokenRequest(GRANT)).json.error).toBe('invalid_client');
});

test('processed creates the report although the response is 500', async () => {
  const { sandbox, create } = await startClient({ faults: ['create status=500 processed'] });
  expect((await create()).status).toBe(500);
  expect(sandbox.reports()).toHaveLength(1);
});

test('reset=before loses the request, reset=after only the response', async () => {
  const { sandbox, create } = await startClient({
    faults: ['create reset=before', 'create nth=2 reset=after'],
  });
  await expect(create()).rejects.toEqual(RESET);
  expect(sandbox.reports()).toHaveLength(0);
  await expect(create()).rejects.toEqual(RESET);
  expect(sandbox.reports()).toHaveLength(1);
  const creates = sandbox.journal.filter(({ endpoint }) => endpoint === 'create');
  expect(creates.map(({ status }) => status)).toEqual([null, null]);
});

test.each([
  ['create body="<h1>Bad gateway</h1>"', { status: 201, text: '<h1>Bad gateway</h1>' }],
  ['create body=', { status: 201, text: '' }],
  ['create body="{"', { status: 201, text: '{' }],
  ['create omit=id', { text: '{"status":"CREATED"}' }],
  ['create status=200', { status: 200, text: expect.stringContaining('"id"') }],
  [
    'create status=422 set.error.detail={"validation":"all wrong"}',
    { envelope: expect.objectContaining({ detail: { validation: 'all wrong' } }) },
  ],
  ['create status=429 retry_after=120', { headers: expect.objectContaining({ 'retry-after': '120' }) }],
  ['create status=401', { headers: expect.not.objectContaining({ 'www-authenticate': expect.anything() }) }],
  [
    'create status=401 header.www-authenticate=Bearer',
    { headers: expect.objectContaining({ 'www-authenticate': 'Bearer' }) },
  ],
])('%s changes the response', async (fault, reply) => {
  const { create } = await startClient({ faults: [fault] });
  expect(await create()).toMatchObject(reply);
});

test('omit removes fields of the error envelope, and without_header removes headers', async () => {
  const { create } = await startClient({
    faults: ['create status=500 omit=error.request_id,error.type without_header=Content-Type'],
  });
  const { envelope, headers } = await create();
  expect(envelope).toMatchObject({ status: 500, message: expect.any(String) });
  for (const field of ['request_id', 'type']) expect(envelope).not.toHaveProperty(field);
  expect(headers).not.toHaveProperty('content-type');
});

test('retry_after=date is a date on the clock of the sandbox', async () => {
  const { create, now } = await startClient({ faults: ['create status=429 retry_after=date:90'] });
  expect(Date.parse((await create()).headers['retry-after'] ?? '')).toBe(now() + 90_000);
});

test.each([
  ['token omit=expires_in', undefined],
  ['token set.expires_in=0', 0],
  ['token set.expires_in=-5', -5],
  ['token set.expires_in="3600"', '3600'],
  ['token set.expires_in=1e15', 1e15],
])('%s changes the token response', async (fault, value) => {
  const { tokenRequest } = await startClient({ faults: [fault] });
  expect((await tokenRequest(GRANT)).json.expires_in).toBe(value);
});

test('a fault or the sandbox can revoke tokens', async () => {
  const { sandbox, token, call } = await startClient({ faults: ['GET /campaigns nth=2 revoke'] });
  const list = async (authorization: string) =>
    (await call('GET', '/campaigns', undefined, { authorization })).status;
  const first = `Bearer ${await token()}`;
  expect([await list(first), await list(first)]).toEqual([200, 401]);
  const second = `Bearer ${await token()}`;
  sandbox.revokeTokens();
  expect(await list(second)).toBe(401);
});

test('report=N affects only the Nth report created', async () => {
  const { ready } = await startClient({
    faults: ['report=1 set.status=PROCESSING omit=download_url times=always'],
  });
  expect((await ready()).url).toBe('undefined');
  expect((await ready()).url).toMatch(/^http/);
});

test.each([
  ['report set.status=FROZEN', { status: 'FROZEN' }],
  ['report set.download_url=nonsense', { download_url: 'nonsense' }],
  ['report set.download_url=http://169.254.169.254/x?y=z', { download_url: 'http://169.254.169.254/x?y=z' }],
])('%s changes the report record', async (fault, record) => {
  const { id, poll, pass } = await startReport({ faults: [fault] });
  pass(40);
  expect((await poll(id)).json).toMatchObject(record);
});

test('omit=download_url leaves the report READY', async () => {
  const { id, poll, pass } = await startReport({ faults: ['report omit=download_url'] });
  pass(40);
  expect((await poll(id)).json).toEqual({ id, status: 'READY' });
});

test('closing the sandbox ends a request that hangs', async () => {
  const { sandbox, tokenRequest } = await startClient({ faults: ['token hang'] });
  const outcome = tokenRequest(GRANT).then(
    () => 'answered',
    () => 'failed',
  );
  while (sandbox.journal.length === 0) await new Promise(setImmediate);
  await sandbox.close();
  expect(await outcome).toBe('failed');
});

test('trickle sends the whole body, one byte at a time', async () => {
  const { sandbox, tokenRequest } = await startClient({ faults: ['token trickle=1 body=slowly'] });
  expect((await tokenRequest(GRANT)).text).toBe('slowly');
  expect(sandbox.journal.at(-1)?.bytes).toBe('slowly'.length);
});

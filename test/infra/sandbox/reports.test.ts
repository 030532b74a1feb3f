import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { apiKeyHeaders, type Reply, send, startClient, startReport } from './client.ts';

/** The fields in detail.validation. */
function violations({ status, envelope }: Reply): string[] {
  expect(status).toBe(422);
  return envelope.detail?.validation.map(({ field }) => field) ?? [];
}

test('POST /reports returns 201 with the id and CREATED (contract 4.3)', async () => {
  const { create } = await startClient();
  const { status, json } = await create();
  expect(status).toBe(201);
  expect(json).toEqual({ id: expect.any(String), status: 'CREATED' });
});

test('dimensions, granularity and format are optional, and unknown options are accepted (contract 2.2)', async () => {
  const { create } = await startClient();
  const omitted = { dimensions: undefined, granularity: undefined, format: undefined };
  expect((await create({ ...omitted, attribution_window: '7d' })).status).toBe(201);
});

test('a report may span 45 days but not 46 (contract 2.2)', async () => {
  const { create } = await startClient();
  const start_date = '2026-01-01';
  expect((await create({ start_date, end_date: '2026-02-15' })).status).toBe(201);
  expect(violations(await create({ start_date, end_date: '2026-02-16' }))).toEqual(['end_date']);
});

test.each([
  ['an end date equal to the start date', { end_date: '2026-10-01' }, ['end_date']],
  ['an end date before the start date', { end_date: '2026-09-30' }, ['end_date']],
  ['30 February', { start_date: '2026-02-30', end_date: '2026-03-10' }, ['start_date']],
  ['a time instead of a date', { end_date: '2026-11-01T00:00:00Z' }, ['end_date']],
  ['no dates', { start_date: undefined, end_date: undefined }, ['start_date', 'end_date']],
  ['no advertisers', { advertiser_ids: [] }, ['advertiser_ids']],
  ['an id that is not a UUID', { advertiser_ids: ['42'] }, ['advertiser_ids[0]']],
  ['no metrics', { metrics: undefined }, ['metrics']],
  ['an unknown metric', { metrics: ['spend', 'joy'] }, ['metrics[1]']],
  ['a duplicate metric', { metrics: ['spend', 'spend'] }, ['metrics[1]']],
  ['an unknown dimension', { dimensions: ['weather'] }, ['dimensions[0]']],
  ['an unknown granularity', { granularity: 'CENTURY' }, ['granularity']],
  ['an unknown format', { format: 'PDF' }, ['format']],
  [
    'several violations',
    { end_date: '2026-10-01', advertiser_ids: ['x'], metrics: [], dimensions: ['y'] },
    ['end_date', 'advertiser_ids[0]', 'metrics', 'dimensions[0]'],
  ],
])('%s: 422 with every violation under detail.validation (contract 7.1)', async (_, changes, fields) => {
  const { create } = await startClient();
  expect(violations(await create(changes))).toEqual(fields);
});

test('a renamed dimension is refused with its new name (contract 9.5)', async () => {
  const { create } = await startClient();
  const { envelope } = await create({ dimensions: ['conv_integration_id', 'conv_integration_os'] });
  const messages = JSON.stringify(envelope.detail);
  expect(messages).toContain('is now event_source_id');
  expect(messages).toContain('is now event_source_platform');
});

test.each([
  ['broken JSON', '{"start_date":', {}],
  ['an array', '[]', {}],
  ['no body', '', {}],
  ['another Content-Type', '{}', { 'content-type': 'text/plain' }],
])('%s is 400 (contract 7.2)', async (_, body, headers) => {
  const { call } = await startClient();
  const { status, envelope } = await call('POST', '/reports', body, headers);
  expect({ status, type: envelope.type }).toEqual({ status: 400, type: 'validation' });
});

test('a credential for specific advertisers refuses others and names them (contract 5.5)', async () => {
  const [granted, other] = [randomUUID(), randomUUID()];
  const { create } = await startClient({
    advertiserIds: [granted, other],
    credentials: [{ advertisers: { kind: 'specific', ids: [granted] } }],
  });
  expect((await create({ advertiser_ids: [granted] })).status).toBe(201);
  for (const id of [other, randomUUID()]) {
    const { status, envelope } = await create({ advertiser_ids: [id] });
    expect(status).toBe(422);
    expect(envelope.detail?.validation?.[0]?.message).toContain(id);
  }
});

test.each([
  ['all_current', 422],
  ['all_current_and_future', 201],
] as const)('a credential for %s answers %i for an advertiser added later (contract 5.5)', async (kind, status) => {
  const { create, sandbox, pass } = await startClient({ credentials: [{ advertisers: { kind } }] });
  pass(60);
  const added = randomUUID();
  sandbox.addAdvertiser(added);
  expect((await create({ advertiser_ids: [added] })).status).toBe(status);
});

test('a report is CREATED, then PROCESSING, then READY (contract 3)', async () => {
  const { id, poll, pass } = await startReport({ report: { secondsToProcessing: 20, secondsToReady: 40 } });
  const statuses = [];
  for (let seconds = 10; seconds <= 40; seconds += 10) {
    pass(10);
    statuses.push((await poll(id)).json.status);
  }
  expect(statuses).toEqual(['CREATED', 'PROCESSING', 'PROCESSING', 'READY']);
});

test('only a READY report has a download_url, and each GET returns a new one (contract 2.3)', async () => {
  const { id, poll, pass } = await startReport();
  const urls = [];
  for (const seconds of [10, 20, 10]) {
    pass(seconds);
    urls.push((await poll(id)).json.download_url);
  }
  expect(urls[0]).toBeUndefined();
  expect(urls[1]).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/.*signature=sbx_sig_/);
  expect(urls[2]).not.toBe(urls[1]);
});

test('a GET within 10 s of the last is 429 with Retry-After; one after 10 s is not (contract 4.4)', async () => {
  const { id, poll, pass } = await startReport();
  expect((await poll(id)).status).toBe(200);
  pass(9.999);
  const { status, headers, envelope } = await poll(id);
  expect([status, headers['retry-after']]).toEqual([429, '10']);
  expect(envelope).toMatchObject({ status: 429, request_id: expect.any(String) });
  pass(10);
  expect((await poll(id)).status).toBe(200);
});

test('a refused GET counts as a GET (contract 4.4)', async () => {
  const { id, call, poll, pass } = await startReport();
  await call('GET', `/reports/${id}`, undefined, { authorization: 'Bearer wrong' });
  pass(5);
  expect((await poll(id)).status).toBe(429);
});

test('the 10 s apply to each report separately (contract 4.4)', async () => {
  const { create, poll } = await startClient();
  for (const { json } of [await create(), await create()]) expect((await poll(json.id)).status).toBe(200);
});

test('a report of another account is 404 (contract 4.4)', async () => {
  const { id, poll, sandbox } = await startReport({ credentials: [{}, { account: 'other' }] });
  const headers = apiKeyHeaders(sandbox, 1);
  expect((await send('GET', `${sandbox.baseUrl}/reports/${id}`, { headers })).status).toBe(404);
  expect((await poll(id)).status).not.toBe(404);
});

test('the journal has the time, status and report of every request', async () => {
  const { id, poll, pass, sandbox, now } = await startReport();
  pass(12);
  await poll(id);
  const calls = sandbox.journal.filter(({ endpoint }) => endpoint !== 'token');
  expect(
    calls.map(({ method, path, status, reportId, at }) => [method, path, status, reportId, now() - at]),
  ).toEqual([
    ['POST', '/reports', 201, id, 12_000],
    ['GET', `/reports/${id}`, 200, id, 0],
  ]);
});

test('the duration of a report depends only on its request', async () => {
  const { sandbox, create } = await startClient({ report: {} });
  for (const end_date of ['2026-10-10', '2026-10-11', '2026-10-10']) await create({ end_date });
  const seconds = sandbox.reports().map(({ createdAt, readyAt }) => (readyAt - createdAt) / 1000);
  expect(seconds[0]).toBe(seconds[2]);
  expect(seconds[0]).not.toBe(seconds[1]);
  for (const each of seconds) expect(each).toBeGreaterThanOrEqual(15);
});

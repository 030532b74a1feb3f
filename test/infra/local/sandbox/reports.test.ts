import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { type Reply, send, visit } from './visitor.ts';

/** The fields named in detail.validation. */
function violations({ status, envelope }: Reply): string[] {
  expect(status).toBe(422);
  return envelope.detail?.validation.map(({ field }) => field) ?? [];
}

test('4.3: POST /reports answers 201 with the id and CREATED', async () => {
  const { create } = await visit();
  const { status, json } = await create();
  expect(status).toBe(201);
  expect(json).toEqual({ id: expect.any(String), status: 'CREATED' });
});

test('2.2: dimensions, granularity and format may be left out, and options the contract omits are let through', async () => {
  const { create } = await visit();
  const changes = {
    dimensions: undefined,
    granularity: undefined,
    format: undefined,
    attribution_window: '7d',
  };
  expect((await create(changes)).status).toBe(201);
});

test('2.2: 45 days are a report, 46 are not', async () => {
  const { create } = await visit();
  expect((await create({ start_date: '2026-01-01', end_date: '2026-02-15' })).status).toBe(201);
  expect(violations(await create({ start_date: '2026-01-01', end_date: '2026-02-16' }))).toEqual([
    'end_date',
  ]);
});

test.each([
  ['an end that is the start', { end_date: '2026-10-01' }, ['end_date']],
  ['an end before the start', { end_date: '2026-09-30' }, ['end_date']],
  ['30 February', { start_date: '2026-02-30', end_date: '2026-03-10' }, ['start_date']],
  ['a time for a date', { end_date: '2026-11-01T00:00:00Z' }, ['end_date']],
  ['no dates', { start_date: undefined, end_date: undefined }, ['start_date', 'end_date']],
  ['no advertisers', { advertiser_ids: [] }, ['advertiser_ids']],
  ['an id that is no UUID', { advertiser_ids: ['42'] }, ['advertiser_ids[0]']],
  ['no metrics', { metrics: undefined }, ['metrics']],
  ['an unknown metric', { metrics: ['spend', 'joy'] }, ['metrics[1]']],
  ['a metric twice', { metrics: ['spend', 'spend'] }, ['metrics[1]']],
  ['an unknown dimension', { dimensions: ['weather'] }, ['dimensions[0]']],
  ['an unknown granularity', { granularity: 'CENTURY' }, ['granularity']],
  ['an unknown format', { format: 'PDF' }, ['format']],
])('7.2: %s is 422 and listed', async (_, changes, fields) => {
  const { create } = await visit();
  expect(violations(await create(changes))).toEqual(fields);
});

test('7.1: every violation is listed at once under detail.validation', async () => {
  const { create } = await visit();
  const reply = await create({
    end_date: '2026-10-01',
    advertiser_ids: ['x'],
    metrics: [],
    dimensions: ['y'],
  });
  expect(violations(reply)).toEqual(['end_date', 'advertiser_ids[0]', 'metrics', 'dimensions[0]']);
});

test('9.5: a renamed dimension is refused with its new name', async () => {
  const { create } = await visit();
  const { envelope } = await create({ dimensions: ['conv_integration_id', 'conv_integration_os'] });
  const messages = JSON.stringify(envelope.detail);
  expect(messages).toContain('is now event_source_id');
  expect(messages).toContain('is now event_source_platform');
});

test.each([
  ['broken JSON', '{"start_date":'],
  ['an array', '[]'],
  ['no body', ''],
])('7.2: %s is a malformed request, 400', async (_, body) => {
  const { call } = await visit();
  const { status, envelope } = await call('POST', '/reports', body);
  expect({ status, type: envelope.type }).toEqual({ status: 400, type: 'validation' });
});

test('4.3: another Content-Type is 400', async () => {
  const { call } = await visit();
  expect((await call('POST', '/reports', '{}', { 'content-type': 'text/plain' })).status).toBe(400);
});

test('5.5: an advertiser outside the granted ones is named under detail.validation', async () => {
  const id = randomUUID();
  const { create } = await visit();
  const { envelope } = await create({ advertiser_ids: [id] });
  expect(envelope.detail?.validation?.[0]?.message).toContain(id);
});

test('5.5: a credential for specific advertisers reaches those alone', async () => {
  const [mine, other] = [randomUUID(), randomUUID()];
  const { create } = await visit({
    advertiserIds: [mine, other],
    credentials: [{ advertisers: { kind: 'specific', ids: [mine] } }],
  });
  expect((await create({ advertiser_ids: [mine] })).status).toBe(201);
  expect((await create({ advertiser_ids: [other] })).status).toBe(422);
});

test.each([
  ['all_current', 422],
  ['all_current_and_future', 201],
] as const)('5.5: a credential for %s answers %i for an advertiser that came later', async (kind, status) => {
  const { create, sandbox, pass } = await visit({ credentials: [{ advertisers: { kind } }] });
  pass(60);
  const later = randomUUID();
  sandbox.addAdvertiser(later);
  expect((await create({ advertiser_ids: [later] })).status).toBe(status);
});

test('3: a report is CREATED, then PROCESSING, then READY, by the clock', async () => {
  const { create, call, pass } = await visit({ report: { secondsToProcessing: 20, secondsToReady: 40 } });
  const { id } = (await create()).json;
  const statuses = [];
  for (let seconds = 10; seconds <= 40; seconds += 10) {
    pass(10);
    statuses.push((await call('GET', `/reports/${id}`)).json.status);
  }
  expect(statuses).toEqual(['CREATED', 'PROCESSING', 'PROCESSING', 'READY']);
});

test('2.3: download_url is there only when the report is READY, and each GET has its own', async () => {
  const { create, call, pass } = await visit();
  const { id } = (await create()).json;
  const urls = [];
  for (const seconds of [10, 20, 10]) {
    pass(seconds);
    urls.push((await call('GET', `/reports/${id}`)).json.download_url);
  }
  expect(urls[0]).toBeUndefined();
  expect(urls[1]).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/.*signature=sbx_sig_/);
  expect(urls[2]).not.toBe(urls[1]);
});

test('4.4: a GET within 10 s of the last is 429 with Retry-After; one after 10 s is not', async () => {
  const { create, call, pass } = await visit();
  const { id } = (await create()).json;
  expect((await call('GET', `/reports/${id}`)).status).toBe(200);
  pass(9.999);
  const hasty = await call('GET', `/reports/${id}`);
  expect(hasty.status).toBe(429);
  expect(hasty.headers['retry-after']).toBe('10');
  expect(hasty.envelope).toMatchObject({ status: 429, request_id: expect.any(String) });
  pass(10);
  expect((await call('GET', `/reports/${id}`)).status).toBe(200);
});

test('4.4: a GET that was refused counts as a GET', async () => {
  const { create, call, pass } = await visit();
  const { id } = (await create()).json;
  await call('GET', `/reports/${id}`, undefined, { authorization: 'Bearer wrong' });
  pass(5);
  expect((await call('GET', `/reports/${id}`)).status).toBe(429);
});

test('4.4: the distance is kept for each report by itself', async () => {
  const { create, call } = await visit();
  for (const { json } of [await create(), await create()]) {
    expect((await call('GET', `/reports/${json.id}`)).status).toBe(200);
  }
});

test('4.4: a report of another account is 404', async () => {
  const { create, call, sandbox } = await visit({ credentials: [{}, { account: 'other' }] });
  const { id } = (await create()).json;
  const key = sandbox.credentials[1]?.apiKey ?? '';
  const headers = { 'x-api-key': key, 'x-service-revision': sandbox.revision };
  expect((await send('GET', `${sandbox.baseUrl}/reports/${id}`, { headers })).status).toBe(404);
  expect((await call('GET', `/reports/${id}`)).status).not.toBe(404);
});

test('the journal has every request with its time, status, report and request_id', async () => {
  const { create, call, pass, sandbox, now } = await visit();
  const { id } = (await create()).json;
  pass(12);
  await call('GET', `/reports/${id}`);
  const lines = sandbox.journal.filter(({ endpoint }) => endpoint !== 'token');
  expect(lines.map(({ method, path, status, reportId }) => ({ method, path, status, reportId }))).toEqual([
    { method: 'POST', path: '/reports', status: 201, reportId: id },
    { method: 'GET', path: `/reports/${id}`, status: 200, reportId: id },
  ]);
  expect(lines.map(({ at }) => now() - at)).toEqual([12_000, 0]);
});

test('how long a report takes differs from request to request and is the same for the same request', async () => {
  const { sandbox, create } = await visit({ report: {} });
  for (const end_date of ['2026-10-10', '2026-10-11', '2026-10-10']) await create({ end_date });
  const seconds = sandbox.reports().map(({ createdAt, readyAt }) => (readyAt - createdAt) / 1000);
  expect(seconds[0]).toBe(seconds[2]);
  expect(seconds[0]).not.toBe(seconds[1]);
  for (const one of seconds) expect(one).toBeGreaterThanOrEqual(15);
});

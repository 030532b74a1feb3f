import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { apiKeyHeaders, type Reply, send, startClient as startLocalClient, startReport } from './client.ts';
import { HOSTS } from './hosts.ts';

/** The fields in detail.validation. */
function violations({ status, envelope }: Reply): string[] {
  expect(status).toBe(422);
  return envelope.detail.validation.map(({ field }: { field: string }) => field);
}

describe.each(Object.entries(HOSTS))('%s', (_host, startClient) => {
  test('POST /reports returns 201 with CREATED for 45 days, and refuses 46 (contract 2.2 and 4.3)', async () => {
    const { create } = await startClient();
    const start_date = '2026-01-01';
    const { status, json } = await create({ start_date, end_date: '2026-02-15' });
    expect({ status, json }).toEqual({ status: 201, json: { id: expect.any(String), status: 'CREATED' } });
    expect(violations(await create({ start_date, end_date: '2026-02-16' }))).toEqual(['end_date']);
  });

  test.each([
    ['an end date equal to the start date', { end_date: '2026-10-01' }, ['end_date']],
    ['30 February', { start_date: '2026-02-30', end_date: '2026-03-10' }, ['start_date']],
    ['no dates', { start_date: undefined, end_date: undefined }, ['start_date', 'end_date']],
    ['an id that is not a UUID', { advertiser_ids: ['42'] }, ['advertiser_ids[0]']],
    ['an unknown metric', { metrics: ['spend', 'joy'] }, ['metrics[1]']],
    ['an unknown dimension', { dimensions: ['weather'] }, ['dimensions[0]']],
    ['a renamed dimension', { dimensions: ['conv_integration_id'] }, ['dimensions[0]']],
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

  test('a report becomes READY, with a new download_url at each GET (contract 2.3 and 3)', async () => {
    const { create, poll, pass } = await startClient();
    const { id } = (await create()).json;
    const answers = [];
    for (const seconds of [3, 10, 15, 10]) {
      pass(seconds);
      answers.push((await poll(id)).json);
    }
    expect(answers.map(({ status }) => status)).toEqual(['CREATED', 'PROCESSING', 'READY', 'READY']);
    const [, processing, first, second] = answers.map(({ download_url }) => download_url);
    expect(processing).toBeUndefined();
    expect(URL.canParse(first)).toBe(true);
    expect(second).not.toBe(first);
  });

  test('the file of a report without dimensions has a row for each day', async () => {
    const { ready } = await startClient();
    const { url } = await ready({ start_date: '2026-10-30', dimensions: [] });
    const { status, json, headers } = await send('GET', url);
    expect({ status, type: headers['content-type'] }).toEqual({ status: 200, type: 'application/json' });
    expect(json.map(({ date }: { date: string }) => date)).toEqual(['2026-10-30', '2026-10-31']);
  });

  test('an unknown report is 404, whatever its id (contract 4.4)', async () => {
    const { poll } = await startClient();
    for (const id of [randomUUID(), 'x', '..', `${randomUUID()}.json`])
      expect({ id, status: (await poll(id)).status }).toEqual({ id, status: 404 });
  });
});

test('a credential for specific advertisers refuses others and names them (contract 5.5)', async () => {
  const [granted, refused] = [randomUUID(), randomUUID()];
  const { create } = await startLocalClient({
    advertiserIds: [granted, refused],
    credentials: [{ advertisers: [granted] }],
  });
  expect((await create({ advertiser_ids: [granted] })).status).toBe(201);
  for (const id of [refused, randomUUID()]) {
    const { status, envelope } = await create({ advertiser_ids: [id] });
    expect(status).toBe(422);
    expect(envelope.detail?.validation?.[0]?.message).toContain(id);
  }
});

test('a GET within 10 s of the last is 429 with Retry-After; one after 10 s is not (contract 4.4)', async () => {
  const { id, poll, pass } = await startReport();
  expect((await poll(id)).status).toBe(200);
  pass(9.999);
  const { status, headers, envelope } = await poll(id);
  expect({ status, wait: headers['retry-after'] }).toEqual({ status: 429, wait: '10' });
  expect(envelope).toMatchObject({ status: 429, request_id: expect.any(String) });
  pass(10);
  expect((await poll(id)).status).toBe(200);
});

test('a report of another account is 404 (contract 4.4)', async () => {
  const { id, poll, sandbox } = await startReport({ credentials: [{}, { account: 'other' }] });
  const headers = apiKeyHeaders(sandbox, 1);
  expect((await send('GET', `${sandbox.baseUrl}/reports/${id}`, { headers })).status).toBe(404);
  expect((await poll(id)).status).not.toBe(404);
});

import { expect, test } from 'vitest';
import { UnreadableAnswer } from '../../../functions/platform/errors.ts';
import { createReport, getReport } from '../../../functions/platform/reports.ts';
import { json, listen } from '../../support/listen.ts';
import { bearer, errorOf, platformAt } from '../../support/platform.ts';

const BODY = {
  start_date: '2026-10-01',
  end_date: '2026-11-01',
  advertiser_ids: ['5b1c6a3e-0f0d-4f53-9e5c-8a5f6b0c1d2e'],
  metrics: ['spend'],
  granularity: 'DAY',
  format: 'JSON',
  attribution_window: '7d',
};

test('contract 4.3: POST /reports sends token, revision and JSON, and returns the record', async () => {
  await using server = await listen((_seen, response) =>
    json(response, 201, { id: 'r-1', status: 'CREATED', owner: 7 }),
  );
  const record = await createReport(platformAt(server.url), bearer, BODY);
  expect(record).toEqual({ id: 'r-1', status: 'CREATED' });
  const [seen] = server.requests;
  expect(seen).toMatchObject({ method: 'POST', path: '/reports' });
  expect(seen?.headers).toMatchObject({
    authorization: `Bearer ${bearer.value}`,
    'x-service-revision': '2026-05-01',
    'content-type': 'application/json',
    accept: 'application/json',
  });
  expect(seen?.headers).not.toHaveProperty('x-api-key');
  expect(JSON.parse(seen?.body ?? '')).toEqual(BODY);
});

test('contract 4.4: GET /reports/{id} sends the same headers and no body, and returns the URL of a READY report', async () => {
  const ready = { id: 'r-1', status: 'READY', download_url: 'https://store.example/r-1?sig=1' };
  await using server = await listen((_seen, response) => json(response, 200, ready));
  const record = await getReport(platformAt(server.url), bearer, 'r-1');
  expect(record).toEqual({ id: 'r-1', status: 'READY', downloadUrl: ready.download_url });
  const [seen] = server.requests;
  expect(seen).toMatchObject({ method: 'GET', path: '/reports/r-1', body: '' });
  expect(seen?.headers).toMatchObject({
    authorization: `Bearer ${bearer.value}`,
    'x-service-revision': '2026-05-01',
  });
  expect(seen?.headers).not.toHaveProperty('content-type');
});

test('the token is removed from a status, which may be any text, and a long status is cut', async () => {
  const status = `FAILED: ${bearer.value}\n${'x'.repeat(1_000)}`;
  await using server = await listen((_seen, response) => json(response, 200, { id: 'r-1', status }));
  const record = await getReport(platformAt(server.url), bearer, 'r-1');
  expect(record.status).toBe(`FAILED: [redacted] ${'x'.repeat(1_000)}`.slice(0, 500));
});

test('11: an id that contains the token is unreadable', async () => {
  const id = `r-${bearer.value}`;
  await using server = await listen((_seen, response) => json(response, 201, { id, status: 'CREATED' }));
  const error = await errorOf(UnreadableAnswer, createReport(platformAt(server.url), bearer, BODY));
  expect(error).toMatchObject({ reason: 'an id that contains the token', status: 201 });
});

test('contract 5.7: a legacy key is sent as X-API-Key, without Authorization', async () => {
  await using server = await listen((_seen, response) => json(response, 200, { id: 'r', status: 'CREATED' }));
  await getReport(platformAt(server.url), { scheme: 'ApiKey', value: 'legacy' }, 'r');
  expect(server.requests[0]?.headers).toMatchObject({
    'x-api-key': 'legacy',
    'x-service-revision': '2026-05-01',
  });
  expect(server.requests[0]?.headers).not.toHaveProperty('authorization');
});

test.each([
  '',
  '/',
  '/ads/v2',
  '/ads/v2/',
])('a base URL that ends in "%s" keeps its prefix', async (prefix) => {
  await using server = await listen((_seen, response) => json(response, 200, { id: 'r', status: 'CREATED' }));
  await getReport(platformAt(server.url + prefix), bearer, 'r');
  expect(server.requests[0]?.path).toBe(`${prefix.replace(/\/$/, '')}/reports/r`);
});

test('an id is one segment of the path, whatever it contains', async () => {
  const id = 'a/b?c=d#e%2e é';
  await using server = await listen((_seen, response) => json(response, 200, { id, status: 'CREATED' }));
  await getReport(platformAt(server.url), bearer, id);
  expect(server.requests[0]?.path).toBe('/reports/a%2Fb%3Fc%3Dd%23e%252e%20%C3%A9');
});

test.each(['', '.', '..'])('the id "%s" is refused before any request', async (id) => {
  await using server = await listen((_seen, response) => json(response, 200, { id, status: 'CREATED' }));
  await errorOf(TypeError, getReport(platformAt(server.url), bearer, id));
  expect(server.requests).toEqual([]);
});

test('contract 2.3: an id that is a number is read as text', async () => {
  await using server = await listen((_seen, response) => json(response, 201, { id: 42, status: 'CREATED' }));
  expect((await createReport(platformAt(server.url), bearer, BODY)).id).toBe('42');
});

test('contract 2.3: an unknown status and an invalid URL are returned as they are', async () => {
  const odd = { id: 'r', status: 'ARCHIVED', download_url: 'not a url' };
  await using server = await listen((_seen, response) => json(response, 200, odd));
  const record = await getReport(platformAt(server.url), bearer, 'r');
  expect(record).toEqual({ id: 'r', status: 'ARCHIVED', downloadUrl: 'not a url' });
});

test('contract 2.3: a download_url of null counts as absent', async () => {
  await using server = await listen((_seen, response) =>
    json(response, 200, { id: 'r', status: 'READY', download_url: null }),
  );
  expect(await getReport(platformAt(server.url), bearer, 'r')).toEqual({ id: 'r', status: 'READY' });
});

test.each([
  ['HTML', 201, '<html></html>', 'not JSON (content type text/html)'],
  ['an empty body', 201, '', 'an empty body'],
  ['a body of blanks', 201, ' \r\n\t', 'an empty body'],
  ['broken JSON', 201, '{"id":', 'not JSON'],
  ['no id', 201, '{"status":"CREATED"}', 'id: neither a string nor an exact integer'],
  ['an id that JavaScript cannot hold', 201, '{"id":12345678901234567890,"status":"CREATED"}', 'id: neither'],
  ['an empty id', 201, '{"id":"","status":"CREATED"}', 'id: cannot be part of a path'],
  ['an id that climbs', 201, '{"id":"..","status":"CREATED"}', 'id: cannot be part of a path'],
  ['an id that is too long', 201, `{"id":"${'x'.repeat(300)}","status":"CREATED"}`, 'id: longer than 256'],
  ['no status', 201, '{"id":"r"}', 'status: not a string'],
  [
    'a download_url of a wrong type',
    201,
    '{"id":"r","status":"READY","download_url":7}',
    'download_url: not a string',
  ],
  ['a list', 201, '[]', 'not an object'],
  ['200 for 201', 200, '{"id":"r","status":"CREATED"}', 'a status other than 201'],
  ['204', 204, '', 'a status other than 201'],
  ['299', 299, '{"id":"r","status":"CREATED"}', 'a status other than 201'],
])('%s from POST /reports is an unreadable answer', async (_what, status, body, reason) => {
  await using server = await listen((_seen, response) =>
    response.writeHead(status, { 'content-type': 'text/html', 'x-request-id': 'req-9' }).end(body),
  );
  const error = await errorOf(UnreadableAnswer, createReport(platformAt(server.url), bearer, BODY));
  expect(error).toMatchObject({ name: 'UnreadableAnswer', status, requestId: 'req-9' });
  expect(error.reason).toContain(reason);
  expect(server.requests).toHaveLength(1);
});

test('contract 2.3: the record of another report is an unreadable answer', async () => {
  await using server = await listen((_seen, response) =>
    json(response, 200, { id: 'other', status: 'READY' }),
  );
  const error = await errorOf(UnreadableAnswer, getReport(platformAt(server.url), bearer, 'r'));
  expect(error).toMatchObject({ requestId: 'absent', reason: 'the record of another report' });
});

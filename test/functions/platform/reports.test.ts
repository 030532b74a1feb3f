import { expect, test } from 'vitest';
import { getReport, postReport } from '../../../functions/platform/reports.ts';
import { AnswerUnreadable } from '../../../functions/workflow/errors.ts';
import { json, listen } from '../../support/listen.ts';
import { bearer, errorOf, platformAt, TOKEN } from '../../support/platform.ts';
import { windowOf } from '../../support/steps.ts';

const { request, window } = windowOf(['5b1c6a3e-0f0d-4f53-9e5c-8a5f6b0c1d2e']);
const { advertiser_ids, metrics, granularity, format } = request;
const BODY = { ...window, advertiser_ids, metrics, granularity, format };

/** Creates the report of a window. @param changes of the request */
function create(url: string, changes: object = {}) {
  return postReport(platformAt(url), bearer, { ...request, ...changes }, window);
}

/** A platform that gives this answer to each request. */
function answering(status: number, body: unknown) {
  return listen((_seen, response) => json(response, status, body));
}

test('contract 4.3: POST /reports sends token, revision and JSON, and returns the id', async () => {
  await using server = await answering(201, { id: 'r-1', status: 'CREATED', owner: 7 });
  expect(await create(server.url)).toEqual({ id: 'r-1', refused: [] });
  const [seen] = server.requests;
  expect(seen).toMatchObject({ method: 'POST', path: '/reports' });
  expect(seen?.headers).toMatchObject({
    authorization: `Bearer ${TOKEN}`,
    'x-service-revision': '2026-05-01',
    'content-type': 'application/json',
    accept: 'application/json',
  });
  expect(JSON.parse(seen?.body ?? '')).toEqual(BODY);
});

test('contract 2.2: adds options, and neither they nor fields of our tables replace a field of the body', async () => {
  await using server = await answering(201, { id: 'r-1', status: 'CREATED' });
  const ours = { table: 'shared', rows: 'data.items', accept_empty: true };
  const options = { attribution_window: '7d', format: 'CSV', start_date: '1999-01-01' };
  await create(server.url, { ...ours, dimensions: ['campaign_id'], options });
  const sent = { ...BODY, dimensions: ['campaign_id'], attribution_window: '7d' };
  expect(JSON.parse(server.requests[0]?.body ?? '')).toEqual(sent);
});

test('contract 4.4: GET /reports/{id} sends no body, and returns the URL of a READY report', async () => {
  const ready = { id: 'r-1', status: 'READY', download_url: 'https://store.example/r-1?sig=1' };
  await using server = await answering(200, ready);
  const record = await getReport(platformAt(server.url), bearer, 'r-1');
  expect(record).toEqual({
    id: 'r-1',
    status: 'READY',
    meaning: 'ready',
    downloadUrl: ready.download_url,
  });
  const [seen] = server.requests;
  expect(seen).toMatchObject({ method: 'GET', path: '/reports/r-1', body: '' });
  expect(seen?.headers).toMatchObject({
    authorization: `Bearer ${TOKEN}`,
    'x-service-revision': '2026-05-01',
  });
  expect(seen?.headers).not.toHaveProperty('content-type');
});

test('contract 5.7: an authorization with another header is sent without Authorization', async () => {
  await using server = await answering(200, { id: 'r', status: 'CREATED' });
  await getReport(platformAt(server.url), { headers: { 'X-API-Key': 'key' }, secret: 'key' }, 'r');
  expect(server.requests[0]?.headers).toMatchObject({ 'x-api-key': 'key' });
  expect(server.requests[0]?.headers).not.toHaveProperty('authorization');
});

test.each([
  ['', '/reports/r'],
  ['/ads/v2//', '/ads/v2/reports/r'],
  ['/ads?a=b#c', '/ads/reports/r'],
])('the base URL %s is continued as %s', async (base, path) => {
  await using server = await answering(200, { id: 'r', status: 'CREATED' });
  await getReport(platformAt(server.url + base), bearer, 'r');
  expect(server.requests[0]?.path).toBe(path);
});

test('an id is one segment of the path, whatever it contains', async () => {
  const id = 'a/b?c=d#e%2e é';
  await using server = await answering(200, { id, status: 'CREATED' });
  await getReport(platformAt(server.url), bearer, id);
  expect(server.requests[0]?.path).toBe('/reports/a%2Fb%3Fc%3Dd%23e%252e%20%C3%A9');
});

test.each(['', '..'])('the id "%s" is refused before any request', async (id) => {
  await using server = await answering(200, { id, status: 'CREATED' });
  const error = await errorOf(TypeError, getReport(platformAt(server.url), bearer, id));
  expect(error.message).toBe(`"${id}" cannot be a segment of a path`);
  expect(server.requests).toEqual([]);
});

test.each([
  ['an invalid URL', { status: 'READY', download_url: 'x' }, { meaning: 'ready', downloadUrl: 'x' }],
  ['a null URL', { status: 'READY', download_url: null }, { meaning: 'ready', downloadUrl: undefined }],
  ['an unknown status', { status: 'FAILED' }, { status: 'FAILED', meaning: undefined }],
  ['a status that is a name of JavaScript', { status: 'constructor' }, { meaning: undefined }],
  ['a status that echoes the token', { status: `FAILED: ${TOKEN}\n` }, { status: 'FAILED: [redacted] ' }],
])('contract 2.3: %s is not an error', async (_what, fields, record) => {
  await using server = await answering(200, { id: 'r', ...fields });
  expect(await getReport(platformAt(server.url), bearer, 'r')).toMatchObject(record);
});

test('contract 2.3: an id that is a number is read as text', async () => {
  await using server = await answering(201, { id: 42, status: 'CREATED' });
  expect((await create(server.url)).id).toBe('42');
});

test.each([
  ['HTML', 201, '<html></html>', 'not JSON (content type text/html)'],
  ['an empty body', 201, '', 'an empty body'],
  ['broken JSON', 201, '{"id":', 'not JSON'],
  ['no id', 201, '{"status":"CREATED"}', 'id: neither a string nor an exact integer'],
  ['an id that JavaScript cannot hold', 201, '{"id":12345678901234567890,"status":"CREATED"}', 'id: neither'],
  ['an id that climbs', 201, '{"id":"..","status":"CREATED"}', 'id: cannot be part of a path'],
  ['an id with U+0000', 201, '{"id":"r\\u0000","status":"CREATED"}', 'id: cannot be part of a path'],
  ['an id that is too long', 201, `{"id":"${'x'.repeat(300)}","status":"CREATED"}`, 'id: longer than 256'],
  ['an id with the token', 201, `{"id":"r-${TOKEN}","status":"CREATED"}`, 'an id that contains the token'],
  ['a list', 201, '[]', 'the body: must be of type object'],
  ['200 for 201', 200, '{"id":"r","status":"CREATED"}', 'the status 200 instead of 201'],
])('11: %s from POST /reports is an unreadable answer', async (_what, status, body, reason) => {
  await using server = await listen((_seen, response) =>
    response.writeHead(status, { 'content-type': 'text/html', 'x-request-id': 'req-9' }).end(body),
  );
  const error = await errorOf(AnswerUnreadable, create(server.url));
  expect(error).toMatchObject({ facts: { status, request_id: 'req-9' } });
  expect(error.happened).toContain(reason);
  expect(server.requests).toHaveLength(1);
});

test.each([
  ['no status', { id: 'r' }, 'status: is missing'],
  ['a number as a status', { id: 'r', status: 2 }, 'status: must be of type string'],
  ['a number as a URL', { id: 'r', status: 'READY', download_url: 7 }, 'url: must be of type string'],
  ['no id', { status: 'READY' }, 'id: neither a string nor an exact integer'],
])('11: %s from GET /reports/{id} is an unreadable answer', async (_what, body, reason) => {
  await using server = await answering(200, body);
  const error = await errorOf(AnswerUnreadable, getReport(platformAt(server.url), bearer, 'r'));
  expect(error.happened).toContain(reason);
});

test('contract 2.3: the record of another report is an unreadable answer', async () => {
  await using server = await answering(200, { id: 'other', status: 'READY' });
  const error = await errorOf(AnswerUnreadable, getReport(platformAt(server.url), bearer, 'r'));
  expect(error.happened).toContain('the record of another report');
});

import { getEventListeners } from 'node:events';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { NoAnswer, PlatformError, UnreadableAnswer } from '../../../functions/platform/errors.ts';
import { queryPurchases } from '../../../functions/platform/purchases.ts';
import { json, listen } from '../../support/listen.ts';
import { bearer, errorOf, platformAt } from '../../support/platform.ts';

const QUERY = { advertiser_id: 'adv-1', start_date: '2026-10-01', end_date: '2026-10-02' };
const never = new AbortController().signal;

test.each([
  '[{"id": 12345678901234567890}]',
  '{"rows":[]}',
  'null',
  '',
])('contract 4.5: the answer %j is returned byte for byte', async (body) => {
  await using server = await listen((_seen, response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(body),
  );
  const answer = await queryPurchases(platformAt(server.url), bearer, QUERY, never);
  expect(await text(answer.body)).toBe(body);
  expect(answer).toMatchObject({ status: 200, headers: { 'content-type': 'application/json' } });
  const [seen] = server.requests;
  expect(seen).toMatchObject({ method: 'POST', path: '/reports/purchases' });
  expect(seen?.headers).toMatchObject({
    authorization: `Bearer ${bearer.value}`,
    'x-service-revision': '2026-05-01',
  });
  expect(JSON.parse(seen?.body ?? '')).toEqual(QUERY);
});

test('the answer does not contain the token', async () => {
  await using server = await listen((_seen, response) => json(response, 200, []));
  const answer = await queryPurchases(platformAt(server.url), bearer, QUERY, never);
  expect(Object.keys(answer)).toEqual(['status', 'headers', 'body']);
  expect(JSON.stringify(answer.headers)).not.toContain(bearer.value);
  answer.body.destroy();
});

test('a 403 is a PlatformError', async () => {
  await using server = await listen((_seen, response) =>
    json(response, 403, { error: { type: 'insufficient_scope', request_id: 'r1' } }),
  );
  const error = await errorOf(PlatformError, queryPurchases(platformAt(server.url), bearer, QUERY, never));
  expect(error).toMatchObject({ status: 403, type: 'insufficient_scope', requestId: 'r1' });
});

test.each([300, 302, 400])('an answer %i is read and is a PlatformError', async (status) => {
  await using server = await listen((_seen, response) =>
    json(response, status, { error: { type: 'moved', request_id: 'r1' } }),
  );
  const error = await errorOf(PlatformError, queryPurchases(platformAt(server.url), bearer, QUERY, never));
  expect(error).toMatchObject({ status, type: 'moved', requestId: 'r1' });
});

test.each([
  202, 203, 204, 206, 299,
])('11: an answer %i is unreadable, because it may not be whole (contract 4.5)', async (status) => {
  await using server = await listen((_seen, response) =>
    json(response, status, [], { 'x-request-id': 'r1' }),
  );
  const error = await errorOf(UnreadableAnswer, queryPurchases(platformAt(server.url), bearer, QUERY, never));
  expect(error).toMatchObject({ status, requestId: 'r1', reason: 'a status other than 200 and 201' });
});

test('an answer 201 is a success', async () => {
  await using server = await listen((_seen, response) => json(response, 201, [1]));
  const { body } = await queryPurchases(platformAt(server.url), bearer, QUERY, never);
  expect(await text(body)).toBe('[1]');
});

test('an answer that was read leaves no listener on the caller’s signal', async () => {
  await using server = await listen(({ path }, response) =>
    json(response, path === '/reports/purchases' ? 200 : 404, []),
  );
  const total = new AbortController();
  for (const prefix of ['', '/none']) {
    const query = queryPurchases(platformAt(server.url + prefix), bearer, QUERY, total.signal);
    await query.then(
      ({ body }) => text(body),
      () => {},
    );
  }
  expect(getEventListeners(total.signal, 'abort')).toEqual([]);
});

test('an unread body can be destroyed', async () => {
  await using server = await listen((_seen, response) => response.writeHead(200).write('['));
  const { body } = await queryPurchases(platformAt(server.url), bearer, QUERY, never);
  body.destroy();
  await new Promise((resolve) => body.once('close', resolve));
  expect(body.errored).toBeInstanceOf(Error);
});

test('9: the caller’s total timeout ends a body that keeps coming', async () => {
  await using server = await listen((_seen, response) => {
    response.writeHead(200);
    const drip = setInterval(() => response.write(' '), 10);
    response.on('close', () => clearInterval(drip));
  });
  const total = new AbortController();
  const answer = await queryPurchases(platformAt(server.url), bearer, QUERY, total.signal);
  total.abort();
  await expect(text(answer.body)).rejects.toThrow();
});

test('9: a total that has ended already prevents the request', async () => {
  await using server = await listen(() => {});
  const query = queryPurchases(platformAt(server.url), bearer, QUERY, AbortSignal.abort());
  expect(await errorOf(NoAnswer, query)).toMatchObject({ sent: false, code: 'TOTAL_TIMEOUT' });
  expect(server.requests).toEqual([]);
});

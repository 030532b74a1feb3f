import { expect, test } from 'vitest';
import type { Exchange } from '../../../functions/platform/connection.ts';
import { requestIdOf } from '../../../functions/platform/envelope.ts';
import { NoAnswer } from '../../../functions/platform/errors.ts';
import { queryPurchases } from '../../../functions/platform/purchases.ts';
import { getReport } from '../../../functions/platform/reports.ts';
import { requestToken } from '../../../functions/platform/token.ts';
import { json, listen } from '../../support/listen.ts';
import { bearer, platformAt } from '../../support/platform.ts';

const CLIENT = { client_id: 'id', client_secret: 'secret' };
const DAY = { advertiser_id: 'a', start_date: '2026-10-01', end_date: '2026-10-02' };

/** What is heard of the requests of `ask`, with their request ids. */
async function hear(url: string, ask: (platform: ReturnType<typeof platformAt>) => Promise<unknown>) {
  const heard: Exchange[] = [];
  await ask(platformAt(url, { heard: (exchange) => heard.push(exchange) })).catch(() => {});
  return heard.map(({ milliseconds, outcome, ...about }) => {
    expect(milliseconds).toBeGreaterThanOrEqual(0);
    if (outcome instanceof NoAnswer) return { ...about, code: outcome.code };
    return { ...about, status: outcome.status, requestId: requestIdOf(outcome) };
  });
}

test('each request is told of once, with what became of it, by its path without the query', async () => {
  await using server = await listen((_seen, response) => json(response, 200, { id: 'r', status: 'READY' }));
  const about = { status: 200, requestId: 'absent' };
  expect(await hear(`${server.url}/v1`, (platform) => getReport(platform, bearer, 'r'))).toEqual([
    { method: 'GET', path: '/reports/r', ...about },
  ]);
  expect(await hear(server.url, (platform) => requestToken(platform, CLIENT))).toEqual([
    { method: 'POST', path: '/oauth2/token', ...about },
  ]);
  const ask = (platform: ReturnType<typeof platformAt>) =>
    queryPurchases(platform, bearer, DAY, AbortSignal.timeout(5_000)).then(({ body }) => body.resume());
  expect(await hear(server.url, ask)).toEqual([{ method: 'POST', path: '/reports/purchases', ...about }]);
});

test('the request id of a success is a header; of an error, the one in its envelope first', async () => {
  const id = { 'x-request-id': 'of-header' };
  await using server = await listen(({ path }, response) => {
    const isFound = path === '/reports/r';
    response.writeHead(isFound ? 200 : 404, { ...id, 'content-type': 'application/json' });
    response.end(
      JSON.stringify(isFound ? { id: 'r', request_id: 'r-1' } : { error: { request_id: 'req_1' } }),
    );
  });
  const ids = await Promise.all([
    ...['r', 'other'].map((report) => hear(server.url, (platform) => getReport(platform, bearer, report))),
    hear(server.url, (platform) => queryPurchases(platform, bearer, DAY, AbortSignal.timeout(5_000))),
  ]);
  expect(ids.flat()).toMatchObject(['of-header', 'req_1', 'req_1'].map((requestId) => ({ requestId })));
});

test('the milliseconds of a request are no more than it took', async () => {
  await using server = await listen((_seen, response) => json(response, 200, { id: 'r', status: 'READY' }));
  const heard: Exchange[] = [];
  const began = performance.now();
  await getReport(platformAt(server.url, { heard: (exchange) => heard.push(exchange) }), bearer, 'r');
  const took = Math.ceil(performance.now() - began);
  expect(heard).toHaveLength(1);
  for (const { milliseconds } of heard) {
    expect(Number.isInteger(milliseconds)).toBe(true);
    expect(milliseconds).toBeLessThanOrEqual(took);
  }
});

test('what is no request, since there is no such address, is not told of', async () => {
  expect(await hear('no address', (platform) => getReport(platform, bearer, 'r'))).toEqual([]);
});

test('a request without an answer is told of too', async () => {
  await using server = await listen((_seen, response) => response.destroy());
  expect(await hear(server.url, (platform) => getReport(platform, bearer, 'r'))).toMatchObject([
    { path: '/reports/r', code: expect.stringMatching(/^[A-Z_]+$/) },
  ]);
});

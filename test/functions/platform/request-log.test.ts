import { expect, test } from 'vitest';
import { queryPurchases } from '../../../functions/platform/purchases.ts';
import { getReport } from '../../../functions/platform/reports.ts';
import { requestToken } from '../../../functions/platform/token.ts';
import { type Answer, json, listen } from '../../support/listen.ts';
import { bearer, platformAt } from '../../support/platform.ts';

type Platform = ReturnType<typeof platformAt>;
type Logged = [keyof NonNullable<Platform['log']>, ...unknown[]];

const calls = {
  getReport: (platform: Platform, id = 'r') => getReport(platform, bearer, id),
  requestToken: (platform: Platform) => requestToken(platform, { client_id: 'id', client_secret: 'secret' }),
  queryPurchases: (platform: Platform) =>
    queryPurchases(
      platform,
      bearer,
      { advertiser_id: 'a', start_date: '2026-10-01', end_date: '2026-10-02' },
      AbortSignal.timeout(5_000),
    ).then(({ body }) => body.resume()),
};

/** What a call logs, except the milliseconds. */
async function loggedBy(call: (platform: Platform) => Promise<unknown>, answer: Answer, path = '') {
  await using server = await listen(answer);
  const logged: Logged[] = [];
  const began = performance.now();
  const log = {
    keep: (...given: unknown[]) => void logged.push(['keep', ...given]),
    info: (...given: unknown[]) => void logged.push(['info', ...given]),
    warn: (...given: unknown[]) => void logged.push(['warn', ...given]),
  };
  await call(platformAt(`${server.url}${path}`, { log })).catch(() => {});
  const took = Math.ceil(performance.now() - began);
  return logged.map(([method, ...given]) => {
    const { milliseconds, ...fields } = (given.at(-1) ?? {}) as { milliseconds?: number };
    if (method === 'keep') return [method, ...given];
    expect(milliseconds).toSatisfy((ms: number) => Number.isInteger(ms) && ms >= 0 && ms <= took);
    return [method, given[0], fields];
  });
}

const record: Answer = (_, response) => json(response, 200, { id: 'r', status: 'READY' });

test.each([
  ['getReport', { method: 'GET', path: '/reports/r', report_id: 'r' }],
  ['requestToken', { method: 'POST', path: '/oauth2/token' }],
  ['queryPurchases', { method: 'POST', path: '/reports/purchases' }],
] as const)('%s logs its request once, without the query and the prefix', async (call, about) => {
  expect(await loggedBy(calls[call], record, '/v1')).toStrictEqual([
    ['keep', { request_id: 'absent' }],
    ['info', 'the platform answered', { ...about, status: 200 }],
  ]);
});

test('a report is named as the platform names it', async () => {
  const answer: Answer = (_, response) => json(response, 200, { id: 'a/b c', status: 'READY' });
  const logged = await loggedBy((platform) => calls.getReport(platform, 'a/b c'), answer);
  expect(logged.at(-1)).toMatchObject([
    'info',
    'the platform answered',
    { path: '/reports/a%2Fb%20c', report_id: 'a/b c' },
  ]);
});

test.each([
  ['getReport', 200, 'header'],
  ['getReport', 404, 'envelope'],
  ['queryPurchases', 404, 'envelope'],
] as const)('the request_id of %s with an answer %i comes from the %s', async (call, status, id) => {
  const logged = await loggedBy(calls[call], (_, response) =>
    json(response, status, { id: 'r', error: { request_id: 'envelope' } }, { 'x-request-id': 'header' }),
  );
  expect(logged[0]).toEqual(['keep', { request_id: id }]);
  expect(logged[1]).toMatchObject(['info', 'the platform answered', { status }]);
});

test('a request without an answer is a warning', async () => {
  expect(await loggedBy(calls.getReport, (_, response) => response.destroy())).toEqual([
    [
      'warn',
      'the platform did not answer',
      { method: 'GET', path: '/reports/r', report_id: 'r', code: expect.stringMatching(/^[A-Z_]+$/) },
    ],
  ]);
});

test('nothing is logged if the base URL is invalid and no request is sent', async () => {
  const logged = await loggedBy((platform) => calls.getReport({ ...platform, baseUrl: 'none' }), record);
  expect(logged).toEqual([]);
});

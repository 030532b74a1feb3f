import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { queryPurchases } from '../../../functions/platform/purchases.ts';
import { AnswerUnreadable, RequestRefused } from '../../../functions/workflow/errors.ts';
import type { PurchasesRequest } from '../../../functions/workflow/request/request.ts';
import { json, listen } from '../../support/listen.ts';
import { bearer, errorOf, platformAt, TOKEN } from '../../support/platform.ts';

const QUERY = { advertiser_id: 'adv-1', start_date: '2026-10-01', end_date: '2026-10-02' };
const OPTIONS = { currency: 'USD', start_date: '1999-01-01' };
const request = { ...QUERY, kind: 'purchases', options: OPTIONS } as unknown as PurchasesRequest;

function query(url: string) {
  return queryPurchases(platformAt(url), bearer, request, new AbortController().signal);
}

test.each([
  [200, '[{"id": 12345678901234567890}]'],
  [200, ''],
  [201, '[1]'],
])('contract 4.5: the answer %i %j is returned byte for byte, without the token', async (status, body) => {
  await using server = await listen((_seen, response) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(body),
  );
  const { body: rows, ...head } = await query(server.url);
  expect(await text(rows)).toBe(body);
  expect(head).toEqual({
    headers: expect.objectContaining({ 'content-type': 'application/json' }),
  });
  expect(JSON.stringify(head)).not.toContain(TOKEN);
  const [seen] = server.requests;
  expect(seen).toMatchObject({ method: 'POST', path: '/reports/purchases' });
  expect(seen?.headers).toMatchObject({
    authorization: `Bearer ${TOKEN}`,
    'x-service-revision': '2026-05-01',
  });
  expect(JSON.parse(seen?.body ?? '')).toEqual({ currency: 'USD', ...QUERY });
});

test.each([302, 403])('an answer %i is read and is a refusal', async (status) => {
  await using server = await listen((_seen, response) =>
    json(response, status, { error: { type: 'any', request_id: 'r1' } }),
  );
  const error = await errorOf(RequestRefused, query(server.url));
  expect(error.facts).toMatchObject({ status, type: 'any', request_id: 'r1' });
});

test.each([
  202, 204, 206,
])('11: an answer %i is unreadable, because it may not be whole (contract 4.5)', async (status) => {
  await using server = await listen((_seen, response) =>
    json(response, status, [], { 'x-request-id': 'r1' }),
  );
  const error = await errorOf(AnswerUnreadable, query(server.url));
  expect(error.facts).toMatchObject({ status, request_id: 'r1' });
  expect(error.happened).toContain(`the status ${status} instead of 200 or 201`);
});

import { expect, test } from 'vitest';
import { startClient } from './client.ts';

const RANGE = { start_date: '2026-01-01', end_date: '2026-06-01' };

test('a purchase query is answered at once, for a range of any length (contract 4.5)', async () => {
  const { call, sandbox } = await startClient();
  const body = { advertiser_id: sandbox.advertiserIds[0], ...RANGE };
  const { status, json } = await call('POST', '/reports/purchases', body);
  expect(status).toBe(200);
  expect(Object(json).purchases).toHaveLength(151 * 3);
});

test.each([
  [[]],
  [{ rows: { a: 1 } }],
  ['text'],
  [null],
])('an option makes the response %j (contract 4.5)', async (shape) => {
  const { call, sandbox } = await startClient({ purchases: () => shape });
  const body = { advertiser_id: sandbox.advertiserIds[0], ...RANGE };
  const { text } = await call('POST', '/reports/purchases', body);
  expect(JSON.parse(text)).toEqual(shape);
});

test('missing and wrong fields are 422 and all listed (contract 2.4)', async () => {
  const { call } = await startClient();
  const body = { advertiser_id: 'x', end_date: '2026-06-31' };
  const { status, envelope } = await call('POST', '/reports/purchases', body);
  expect(status).toBe(422);
  const fields = envelope.detail?.validation.map(({ field }) => field);
  expect(fields).toEqual(['start_date', 'end_date', 'advertiser_id']);
});

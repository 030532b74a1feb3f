import { expect, test } from 'vitest';
import { visit } from './visitor.ts';

const RANGE = { start_date: '2026-01-01', end_date: '2026-06-01' };

test('4.5: POST /reports/purchases answers at once, for a range of any length', async () => {
  const { call, sandbox } = await visit();
  const { status, json } = await call('POST', '/reports/purchases', {
    advertiser_id: sandbox.advertiserIds[0],
    ...RANGE,
  });
  expect(status).toBe(200);
  expect(Object(json).purchases).toHaveLength(151 * 3);
});

test.each([
  [[]],
  [{ rows: { a: 1 } }],
  ['text'],
  [null],
])('4.5: its answer can have the shape %j', async (shape) => {
  const { call, sandbox } = await visit({ purchases: () => shape });
  const { text } = await call('POST', '/reports/purchases', {
    advertiser_id: sandbox.advertiserIds[0],
    ...RANGE,
  });
  expect(JSON.parse(text)).toEqual(shape);
});

test('2.4: what is missing or wrong is 422 and listed', async () => {
  const { call } = await visit();
  const { status, envelope } = await call('POST', '/reports/purchases', {
    advertiser_id: 'x',
    end_date: '2026-06-31',
  });
  expect(status).toBe(422);
  expect(envelope.detail?.validation.map(({ field }) => field)).toEqual([
    'start_date',
    'end_date',
    'advertiser_id',
  ]);
});

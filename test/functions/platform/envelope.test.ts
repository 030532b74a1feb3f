import { expect, test } from 'vitest';
import { requestIdOf, unreadable } from '../../../functions/platform/envelope.ts';

function answer(status: number, header?: string) {
  return {
    call: 'GET https://api.example/reports/r',
    status,
    headers: header === undefined ? {} : { 'x-request-id': header },
    secrets: [],
    text: '{"error":{"request_id":"of-the-envelope"}}',
  };
}

test.each([
  [199, 'of-the-envelope'],
  [200, 'of-the-header'],
  [299, 'of-the-header'],
  [300, 'of-the-envelope'],
  [500, 'of-the-envelope'],
])('the request_id of an answer %i is that %s: an envelope belongs to a failure', (status, id) => {
  expect(requestIdOf(answer(status, 'of-the-header'))).toBe(id);
});

test('a success without a header has none', () => {
  expect(requestIdOf(answer(200))).toBe('absent');
});

test('what a platform may write without end is cut', () => {
  const long = 'x'.repeat(100_000);
  expect(requestIdOf(answer(200, long)).length).toBeLessThan(5_000);
  expect(unreadable(answer(200), long).reason.length).toBeLessThan(5_000);
});

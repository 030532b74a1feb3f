import { expect, it } from 'vitest';
import { isStuck, pollWait, throttleWait } from '../../../functions/decisions/waits.ts';

const CREATED = '2026-11-21T06:00:00.000Z';

function after(seconds: number): Date {
  return new Date(Date.parse(CREATED) + seconds * 1000);
}

it.each([
  [0, 10],
  [40, 10],
  [41, 11],
  [200, 50],
  [240, 60],
  [10_000, 60],
  [-600, 10],
])('%i s after its creation, a report is polled after another %i s', (seconds, wait) => {
  expect(pollWait(CREATED, after(seconds))).toBe(wait);
});

it('12: a report is stuck from 30 minutes on (contract 3)', () => {
  const stuck = [1799.999, 1800, 1801].map((seconds) => isStuck(CREATED, after(seconds)));
  expect(stuck).toEqual([false, true, true]);
});

it('8: a 429 is obeyed from 10 s to 15 min', () => {
  const waits = [0, 9.2, 10.1, 899.5, 86_400].map((seconds) => throttleWait(seconds, 3));
  expect(waits).toEqual([10, 10, 11, 900, 900]);
});

it('8: the wait after a 429 without Retry-After doubles up to 5 min', () => {
  const waits = [0, 1, 2, 4, 5, 11].map((throttled) => throttleWait(undefined, throttled));
  expect(waits).toEqual([10, 20, 40, 160, 300, 300]);
});

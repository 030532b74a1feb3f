import { describe, expect, it } from 'vitest';
import { billOf, EXPECTED, totalOf, type Usage } from './bill.ts';

const NOTHING: Usage = {
  hours: 0,
  transitions: 0,
  calls: 0,
  gigabyteSeconds: 0,
  puts: 0,
  queries: 0,
  scannedBytes: 0,
  secrets: 0,
  alarms: 0,
};

describe('a bill charges', () => {
  it.each([
    ['25 dollars for a million state transitions', { transitions: 1e6 }, 25],
    ['13.33 dollars for a million GB-seconds', { gigabyteSeconds: 1e6 }, 13.3334],
    ['20 cents for a million calls, and 8 dollars for 20 reads of S3 by each', { calls: 1e6 }, 8.2],
    ['5 dollars for a million objects', { puts: 1e6 }, 5],
    ['5 dollars for a terabyte that Athena scans', { queries: 1, scannedBytes: 1e12 }, 5],
    ['3 dollars for the ten metrics of a month', { hours: 730 }, 3],
    ['40 cents more for a secret of a month', { hours: 730, secrets: 1 }, 3.4],
    ['10 cents more for an alarm of a month', { hours: 730, alarms: 1 }, 3.1],
  ] as const)('%s', (_, usage, dollars) => {
    expect(totalOf(billOf({ ...NOTHING, ...usage }))).toBeCloseTo(dollars, 6);
  });
});

it('the price before a rehearsal is less than a dollar', () => {
  const dollars = totalOf(billOf(EXPECTED));
  expect(dollars).toBeGreaterThan(0);
  expect(dollars).toBeLessThan(1);
});

import { describe, expect, it } from 'vitest';
import { isStuck, pollWait, throttleWait } from '../../../functions/decisions/waits.ts';

const CREATED = '2026-11-21T06:00:00.000Z';

function at(seconds: number): Date {
  return new Date(Date.parse(CREATED) + seconds * 1000);
}

describe('a wait', () => {
  it.each([
    [0, 10],
    [40, 10],
    [41, 11],
    [200, 50],
    [240, 60],
    [10_000, 60],
    [-600, 10],
  ])('%i s after the report was created is %i s', (seconds, wait) => {
    expect(pollWait(CREATED, at(seconds))).toBe(wait);
  });

  it('12: is over, and a report stuck, from 30 minutes on (contract 3)', () => {
    expect([1799.999, 1800, 1801].map((seconds) => isStuck(CREATED, at(seconds)))).toEqual([
      ...[false, true, true],
    ]);
  });

  it('8: after a 429 is what it asks for, from 10 s to 15 min', () => {
    expect([0, 9.2, 10.1, 899.5, 86_400].map((seconds) => throttleWait(seconds, 3))).toEqual([
      ...[10, 10, 11, 900, 900],
    ]);
  });

  it('8: after a 429 that does not say how long doubles up to 5 min', () => {
    expect([0, 1, 2, 4, 5, 11].map((before) => throttleWait(undefined, before))).toEqual([
      ...[10, 20, 40, 160, 300, 300],
    ]);
  });
});

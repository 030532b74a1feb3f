import { describe, expect, it } from 'vitest';
import { dollarsOf, usageOf } from '../../../infra/config/cost.ts';

// A whole run compares the states that it enters with those that usageOf counts.

describe('the cost of an export', () => {
  it('grows with the windows, and not with what an export does once', () => {
    const [one, two] = [usageOf('report', 1, 180), usageOf('report', 2, 180)];
    const nothing = usageOf('report', 0, 180);
    expect(two.transitions - one.transitions).toBe(one.transitions - nothing.transitions);
    expect(dollarsOf(two)).toBeGreaterThan(dollarsOf(one));
  });

  it('grows with the time until a report is READY, which purchases and lists do not wait for', () => {
    expect(usageOf('report', 1, 1740).calls).toBeGreaterThan(usageOf('report', 1, 20).calls);
    for (const kind of ['purchases', 'list'] as const)
      expect(usageOf(kind, 1, 20)).toEqual(usageOf(kind, 1, 1740));
  });
});

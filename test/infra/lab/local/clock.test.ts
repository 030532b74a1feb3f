import { describe, expect, test } from 'vitest';
import { createScaledDate, createScaledTimers, scaledClock } from '../../../../infra/lab/local/clock.ts';

const MINUTE = 60_000;

describe.each([1, 100])('a clock of speed %i', (speed) => {
  const START = Date.parse('2026-01-02T03:04:05Z');

  test('begins at any time, and is as much faster than the machine', () => {
    const begun = { ...scaledClock(speed, START), real: Date.now() - MINUTE };
    const ScaledDate = createScaledDate(begun);
    for (const time of [new ScaledDate().getTime(), ScaledDate.now()]) {
      expect(time - START).toBeGreaterThanOrEqual(speed * MINUTE);
      expect(time - START).toBeLessThan(speed * 1.1 * MINUTE);
    }
  });

  test('makes a Date that is Date in all other ways', () => {
    const ScaledDate = createScaledDate(scaledClock(speed));
    expect(new ScaledDate('2026-01-02T03:04:05Z').getTime()).toBe(START);
    expect(ScaledDate.parse('2026-01-02')).toBe(Date.UTC(2026, 0, 2));
    expect(new Date()).toBeInstanceOf(ScaledDate);
    expect(new ScaledDate()).toBeInstanceOf(Date);
  });
});

describe('a clock that catches up', () => {
  test('is faster until it shows the time of the machine, and never passes it', () => {
    const clockOf = (begunAgo: number, startAgo: number) => {
      const anchor = { ...scaledClock(100, Date.now() - startAgo, true), real: Date.now() - begunAgo };
      return Date.now() - new (createScaledDate(anchor))().getTime();
    };
    expect(clockOf(MINUTE, 200 * MINUTE)).toBeGreaterThan(95 * MINUTE);
    expect(clockOf(MINUTE, 200 * MINUTE)).toBeLessThan(101 * MINUTE);
    for (const late of [clockOf(10 * MINUTE, 200 * MINUTE), clockOf(0, 0)]) {
      expect(late).toBeGreaterThan(-10);
      expect(late).toBeLessThan(1_000);
    }
  });

  test('lets timers wait until it shows their time', async () => {
    const clock = scaledClock(1_000, Date.now() - 20_000, true);
    const { setTimeout } = createScaledTimers(clock);
    const start = clock.now();
    // 20 s pass in 20 ms, and the other 30 ms at the speed of the machine.
    await new Promise<void>((resolve) => setTimeout(() => resolve(), 20_030));
    expect(clock.now() - start).toBeGreaterThanOrEqual(20_030);
    expect(clock.now() - start).toBeLessThan(21_000);
  });
});

describe('createScaledTimers', () => {
  const DAY = 24 * 60 * MINUTE;

  test('wait by the scaled clock and never less than asked', async () => {
    const speed = 700;
    const { setTimeout } = createScaledTimers(scaledClock(speed));
    const wait = (ms: number) =>
      new Promise<number>((resolve) => {
        const start = performance.now();
        setTimeout(() => resolve((performance.now() - start) * speed - ms), ms);
      });
    const excess = await Promise.all([10_000, 14_999, 60_001].map(wait));
    expect(Math.min(...excess)).toBeGreaterThanOrEqual(0);
  });

  test('do not fire after clearTimeout or clearAll', async () => {
    const { setTimeout, clearTimeout, clearAll } = createScaledTimers(scaledClock(1000));
    const fired: unknown[] = [];
    clearTimeout(setTimeout(() => fired.push('cleared'), 1000));
    setTimeout(() => fired.push('given'), 2000);
    await new Promise<void>((resolve) => setTimeout(() => resolve(), 20_000));
    setTimeout(() => fired.push('late'), 1000);
    clearAll();
    await new Promise((resolve) => globalThis.setTimeout(resolve, 10));
    expect(fired).toEqual(['given']);
  });

  test('do not fire at once when the wait is longer than the longest timer', async () => {
    const { setTimeout, clearAll } = createScaledTimers(scaledClock(1));
    const fired: unknown[] = [];
    setTimeout(() => fired.push('a year'), 365 * DAY);
    await new Promise<void>((resolve) => setTimeout(() => resolve(), 20));
    clearAll();
    expect(fired).toEqual([]);
  });
});

import { describe, expect, test } from 'vitest';
import { createScaledDate, createScaledTimers, scaledClock } from '../../../infra/local/clock.ts';

const MINUTE = 60_000;

describe('scaledClock', () => {
  test('is N times as fast as the machine', () => {
    const clock = scaledClock(100, Date.now() - MINUTE);
    const ahead = clock.now() - Date.now();
    expect(ahead).toBeGreaterThanOrEqual(99 * MINUTE);
    expect(ahead).toBeLessThan(99 * 1.1 * MINUTE);
  });

  test.each([1, 100])('at speed %d, can be ahead all the time', (speed) => {
    const day = 24 * 60 * MINUTE;
    const clock = scaledClock(speed, Date.now(), day);
    const times = [clock.now(), new (createScaledDate(clock))().getTime(), createScaledDate(clock).now()];
    for (const time of times) {
      expect(time - Date.now()).toBeGreaterThan(day - MINUTE);
      expect(time - Date.now()).toBeLessThan(day + 100 * MINUTE);
    }
  });
});

describe('createScaledDate', () => {
  const ScaledDate = createScaledDate({ start: Date.now() - MINUTE, speed: 100 });

  test('is Date in all other ways', () => {
    expect(new ScaledDate('2026-01-02T03:04:05Z').toISOString()).toBe('2026-01-02T03:04:05.000Z');
    expect(ScaledDate.parse('2026-01-02')).toBe(Date.UTC(2026, 0, 2));
    expect(new Date()).toBeInstanceOf(ScaledDate);
    expect(new ScaledDate()).toBeInstanceOf(Date);
  });
});

describe('createScaledTimers', () => {
  const DAY = 24 * 60 * MINUTE;

  test('wait by the scaled clock and never less than asked', async () => {
    const speed = 700;
    const { setTimeout } = createScaledTimers({ start: 0, speed });
    const wait = (ms: number) =>
      new Promise<number>((resolve) => {
        const start = performance.now();
        setTimeout(() => resolve((performance.now() - start) * speed - ms), ms);
      });
    const excess = await Promise.all([10_000, 14_999, 60_001].map(wait));
    expect(Math.min(...excess)).toBeGreaterThanOrEqual(0);
  });

  test('pass arguments on, and do not fire after clearTimeout or clearAll', async () => {
    const { setTimeout, clearTimeout, clearAll } = createScaledTimers({ start: 0, speed: 1000 });
    const fired: unknown[] = [];
    clearTimeout(setTimeout(() => fired.push('cleared'), 1000));
    setTimeout((name) => fired.push(name), 2000, 'given');
    await new Promise<void>((resolve) => setTimeout(() => resolve(), 20_000));
    setTimeout(() => fired.push('late'), 1000);
    clearAll();
    await new Promise((resolve) => globalThis.setTimeout(resolve, 10));
    expect(fired).toEqual(['given']);
  });

  test('do not fire at once when the wait is longer than the longest timer', async () => {
    const { setTimeout, clearAll } = createScaledTimers({ start: 0, speed: 1 });
    const fired: unknown[] = [];
    setTimeout(() => fired.push('a year'), 365 * DAY);
    await new Promise<void>((resolve) => setTimeout(() => resolve(), 20));
    clearAll();
    expect(fired).toEqual([]);
  });
});

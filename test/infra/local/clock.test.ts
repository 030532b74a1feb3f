import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { describe, expect, test } from 'vitest';
import { realDelay, scaledClock } from '../../../infra/local/clock.ts';

const CLOCK = new URL('../../../infra/local/clock.ts', import.meta.url).href;

/** Runs a script in a thread of its own, where the clock may be changed, and gives what it posts. */
async function inThread(speed: number, script: string): Promise<Record<string, unknown>> {
  const source = `
    import { parentPort, workerData } from 'node:worker_threads';
    const { installDate, installTimers } = await import(workerData.module);
    const RealDate = Date;
    const clock = { start: workerData.start, speed: workerData.speed };
    ${script}`;
  const url = new URL(`data:text/javascript,${encodeURIComponent(source)}`);
  const worker = new Worker(url, {
    workerData: { module: CLOCK, start: Date.now(), speed },
    execArgv: [],
  });
  const [message] = await once(worker, 'message');
  await worker.terminate();
  return message;
}

describe('scaledClock', () => {
  test('passes N times as much time as the machine', () => {
    const clock = scaledClock(100, Date.now() - 60_000);
    const ahead = clock.now() - Date.now();
    expect(ahead).toBeGreaterThanOrEqual(99 * 60_000);
    expect(ahead).toBeLessThan(99 * 65_000);
  });

  test('is the real time at speed 1', () => {
    const before = Date.now();
    const now = scaledClock(1, 0).now();
    expect(now).toBeGreaterThanOrEqual(before);
    expect(now).toBeLessThanOrEqual(Date.now());
  });
});

describe('realDelay', () => {
  test.each([1, 7, 100, 700, 1000])('is never short at speed %d, measured in whole milliseconds', (speed) => {
    for (const seconds of [10, 11, 60]) {
      const readings = realDelay(seconds * 1000, speed) - 1;
      expect(readings * speed).toBeGreaterThanOrEqual(seconds * 1000);
    }
  });
});

describe('installDate', () => {
  const script = `
    installDate({ start: RealDate.now() - 60_000, speed: clock.speed });
    parentPort.postMessage({
      now: Date.now() - RealDate.now(),
      constructed: new Date() - RealDate.now(),
      given: new Date('2026-01-02T03:04:05Z').toISOString(),
      parsed: Date.parse('2026-01-02'),
      isDate: new RealDate() instanceof Date && new Date() instanceof RealDate,
      text: typeof Date(),
      same: Date === RealDate,
    });`;

  test('scales what is asked without arguments, and nothing else', async () => {
    const seen = await inThread(100, script);
    expect(seen.now).toBeGreaterThanOrEqual(99 * 60_000);
    expect(seen.constructed).toBeGreaterThanOrEqual(99 * 60_000);
    expect(seen).toMatchObject({
      given: '2026-01-02T03:04:05.000Z',
      parsed: Date.UTC(2026, 0, 2),
      isDate: true,
      text: 'string',
    });
  });

  test('leaves Date alone at speed 1', async () => {
    expect(await inThread(1, script)).toMatchObject({ same: true });
  });
});

describe('installTimers', () => {
  test('waits by the scaled clock, never less than asked', async () => {
    const script = `
      installTimers(clock);
      const waits = await Promise.all([10_000, 14_999, 60_001].map((ms) => new Promise((resolve) => {
        const start = performance.now();
        setTimeout(() => resolve((performance.now() - start) * clock.speed - ms), ms);
      })));
      parentPort.postMessage({ shortest: Math.min(...waits) });`;
    const { shortest } = await inThread(700, script);
    expect(shortest).toBeGreaterThanOrEqual(0);
  });

  test('passes arguments on, and a cleared timer does not fire', async () => {
    const script = `
      installTimers(clock);
      const fired = [];
      const cleared = setTimeout(() => fired.push('cleared'), 1000);
      clearTimeout(cleared);
      setTimeout((name) => fired.push(name), 2000, 'given');
      setTimeout(() => parentPort.postMessage({ fired }), 20_000);`;
    expect(await inThread(1000, script)).toEqual({ fired: ['given'] });
  });

  test('does not fire at once where a wait is longer than a timer can be', async () => {
    const script = `
      installTimers(clock);
      const fired = [];
      setTimeout(() => fired.push('a year'), 365 * 24 * 3600 * 1000);
      setTimeout(() => parentPort.postMessage({ fired }), 20);`;
    expect(await inThread(1, script)).toEqual({ fired: [] });
  });
});

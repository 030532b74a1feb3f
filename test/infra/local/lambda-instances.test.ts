import { existsSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { LocalFunction } from '../../../infra/local/lambda.ts';
import { create } from './small-function.ts';

/** Idle instances end only when a test lets time pass. */
function stopTimers(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
}

afterEach(() => void vi.useRealTimers());

describe('instances', () => {
  test('in a process keep their temporary files while they live, apart from those of others', async () => {
    stopTimers();
    const folders: string[] = [];
    {
      await using step = create({ environment: { STEP: 'CurateReport' } });
      await using other = create({ environment: { STEP: 'CurateReport' } });
      const write = async (each: LocalFunction) => (await each.invoke({ do: 'write' })) as string[];
      folders.push(...(await write(step)), ...(await write(other)));
      expect(new Set(folders).size).toBe(2);
      expect(await write(step)).toEqual([folders[0], folders[0]]);
      await step.kill();
    }
    expect(folders.filter(existsSync)).toEqual([]);
  });

  test('handle one call at a time: eight hanging calls take all eight, and the next one waits', async () => {
    await using step = create();
    const hanging = Array.from({ length: 8 }, () => step.invoke({ do: 'hang' }).catch((error) => error));
    const next = step.invoke({ do: 'echo' });
    await expect.poll(() => step.started).toBe(8);
    await expect.poll(() => step.kill()).toBeGreaterThan(0);
    expect(await next).toEqual({ do: 'echo' });
    expect(await Promise.race(hanging)).toMatchObject({ name: 'Runtime.ExitError' });
  });

  test('are no more than the reserved concurrency: the next call waits', async () => {
    await using step = create({ reserved: 1 });
    const calls = [step.invoke({ do: 'wait', ms: 20 }), step.invoke({ do: 'echo' })];
    expect(await Promise.all(calls)).toEqual(['waited', { do: 'echo' }]);
    expect(step.started).toBe(1);
  });
});

describe.each([
  ['a thread', {}, 1],
  ['a process', { STEP: 'CurateReport' }, 5],
])('%s', (_, environment, idleSeconds) => {
  beforeEach(stopTimers);

  test('is used again, and ends once it is idle', async () => {
    await using step = create({ environment });
    expect(await step.invoke({ do: 'count' })).toBe(1);
    vi.advanceTimersByTime(idleSeconds * 1000 - 1);
    expect(await step.invoke({ do: 'count' })).toBe(2);
    vi.advanceTimersByTime(idleSeconds * 1000 - 1);
    expect(await step.invoke({ do: 'count' })).toBe(3);
    expect(step.started).toBe(1);
    vi.advanceTimersByTime(idleSeconds * 1000);
    expect(await step.invoke({ do: 'count' })).toBe(1);
    expect(step.started).toBe(2);
  });

  test('does not end during a call', async () => {
    await using step = create({ environment, timeoutSeconds: 900 });
    expect(await step.invoke({ do: 'count' })).toBe(1);
    const waited = step.invoke({ do: 'wait', ms: 50 });
    vi.advanceTimersByTime(idleSeconds * 1000);
    expect(await waited).toBe('waited');
    expect(await step.invoke({ do: 'count' })).toBe(2);
  });
});

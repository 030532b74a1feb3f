import { beforeAll, describe, expect, it } from 'vitest';
import { dollarsOf, usageOf } from '../../infra/cost.ts';
import { type Assembly, loadAssembly, prepareAssembly } from '../../infra/local/assembly.ts';
import { runWorkflow } from '../bench/cost.ts';

let assembly: Assembly;
beforeAll(async () => {
  assembly = loadAssembly(await prepareAssembly());
});

describe('the cost of an export', () => {
  it.each([
    5, 20, 180, 600, 1740,
  ])('is that of the synthesized workflow for a report of %i s', async (seconds) => {
    const { usage } = await runWorkflow(assembly, seconds);
    const planned = usageOf('report', 1, seconds);
    expect(planned).toEqual({ ...usage, gigabyteSeconds: expect.closeTo(usage.gigabyteSeconds, 6) });
  });

  it('grows with the windows, and not with what an export does once', () => {
    const [one, two] = [usageOf('report', 1, 180), usageOf('report', 2, 180)];
    const nothing = usageOf('report', 0, 180);
    expect(two.transitions - one.transitions).toBe(one.transitions - nothing.transitions);
    expect(dollarsOf(two)).toBeGreaterThan(dollarsOf(one));
  });

  it('of purchases and lists has no polls', () => {
    for (const kind of ['purchases', 'list'] as const)
      expect(usageOf(kind, 1, 20)).toEqual(usageOf(kind, 1, 1740));
  });
});

it('polls a report of ten minutes at most 0.35 times as often as every 10 s, and notices it within 70 s', async () => {
  const { polls, latency } = await runWorkflow(assembly, 600);
  expect(polls / (600 / 10)).toBeLessThanOrEqual(0.35);
  expect(latency).toBeLessThanOrEqual(70);
});

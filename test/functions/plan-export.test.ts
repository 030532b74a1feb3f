import { describe, expect, it } from 'vitest';
import { planExport } from '../../functions/plan-export.ts';
import { keepLog, windowOf } from '../support/steps.ts';

const { request } = windowOf(['7d2f8a54-5f0e-4a3c-9f5e-0f4b8a1c2d3e']);
const started_at = '2026-11-21T06:00:00.000Z';
const target = { platform: 'api.platform.example/v1', revision: '2026-09-01' };

/** Plans the request with these changes, with an empty bucket. */
async function plan(changes: object = {}) {
  const { log, lines } = keepLog();
  const listed: string[] = [];
  const plans: unknown[][] = [];
  const store = {
    list: async (prefix: string) => {
      listed.push(prefix);
      return [];
    },
    getText: async () => undefined,
    head: async () => undefined,
    putJson: async (...put: unknown[]) => plans.push(put) > 0,
  };
  const changed = JSON.parse(JSON.stringify({ ...request, ...changes }));
  const input = { request: changed, execution: 'e', started_at };
  const planned = await planExport(input, { accounts: ['acme', 'initech'], log, store, ...target });
  return { planned, listed, lines, plans };
}

describe('PlanExport', () => {
  it('splits the range of a report into windows of at most 45 days, the newest first', async () => {
    const range = { start_date: '2026-01-01', end_date: '2026-03-01' };
    const { planned, listed } = await plan(range);
    expect(planned).toEqual({
      execution: 'e',
      started_at,
      request: { ...request, ...range },
      warnings: [],
      windows: [
        { start_date: '2026-02-15', end_date: '2026-03-01' },
        { start_date: '2026-01-01', end_date: '2026-02-15' },
      ],
      advertisers: null,
    });
    expect(listed).toEqual([]);
  });

  it('counts a period from the start of the execution', async () => {
    const { planned } = await plan({ start_date: undefined, end_date: undefined, period: 'yesterday' });
    expect(planned.windows).toMatchObject([{ start_date: '2026-11-20' }]);
  });

  it.each([
    [undefined, started_at, undefined],
    [true, '1970-01-01T00:00:00.000Z', 'absent'],
    ['2026-11-03T06:00:00Z', '2026-11-03T06:00:00.000Z', 'absent'],
  ])('writes down what was asked for; with only_missing %j, since %s, and keeps an earlier plan', async (only_missing, since, replaces) => {
    const { plans } = await plan({ only_missing });
    const key = 'exports/account=acme/export=daily/_plans/2026-11-01_2026-11-02.json';
    const request_hash = expect.stringMatching(/^[0-9a-f]{64}$/);
    const asked = { version: '1', execution: 'e', since, started_at, request_hash, request };
    expect(plans).toEqual([[key, asked, replaces]]);
  });

  it('38: logs its warnings and passes them on', async () => {
    const { planned, lines } = await plan({ metrics: ['viewability'] });
    expect(planned.warnings).toEqual([expect.stringContaining('viewability')]);
    expect(lines).toMatchObject([{ level: 'warn', message: planned.warnings[0] }]);
  });

  it.each([
    ['2026-11-22', 'UTC', 1],
    ['2026-11-21', 'UTC', 0],
    ['2026-11-22', 'Pacific/Kiritimati', 1],
    ['2026-11-21', 'Pacific/Honolulu', 1],
  ])('warns of days that are not over yet: to %s in %s', async (end_date, time_zone, count) => {
    const { planned } = await plan({ end_date, time_zone });
    expect(planned.warnings).toEqual(
      Array(count).fill(expect.stringContaining(`${end_date} is still to come`)),
    );
  });

  it('refuses an account that this deployment does not have, and names its accounts', async () => {
    await expect(plan({ account: 'umbrella' })).rejects.toMatchObject({
      name: 'InvalidInput',
      facts: { faults: ["account: umbrella is not one of this deployment's (acme, initech)"] },
    });
  });
});

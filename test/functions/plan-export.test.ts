import { describe, expect, it } from 'vitest';
import { planExport } from '../../functions/plan-export.ts';
import { keepLog, windowOf } from '../support/steps.ts';

const { request } = windowOf(['7d2f8a54-5f0e-4a3c-9f5e-0f4b8a1c2d3e']);
const input = { request, execution: 'e', started_at: '2026-11-21T06:00:00.000Z' };

describe('PlanExport', () => {
  it('gives the request and its windows', async () => {
    const { log } = keepLog();
    const long = { ...request, start_date: '2026-01-01', end_date: '2026-03-01' };
    const plan = await planExport({ ...input, request: long }, { accounts: ['acme'], log });
    expect(plan).toEqual({
      execution: 'e',
      started_at: input.started_at,
      request: long,
      warnings: [],
      windows: [
        { start_date: '2026-01-01', end_date: '2026-02-15' },
        { start_date: '2026-02-15', end_date: '2026-03-01' },
      ],
    });
  });

  it('counts a period from the moment at which the execution started', async () => {
    const { log } = keepLog();
    const { start_date, end_date, ...rest } = request;
    const plan = await planExport(
      { ...input, request: { ...rest, period: 'yesterday' } },
      { accounts: ['acme'], log },
    );
    expect(plan.windows).toEqual([{ start_date: '2026-11-20', end_date: '2026-11-21' }]);
  });

  it('38: logs its warnings and passes them on', async () => {
    const { log, lines } = keepLog();
    const plan = await planExport(
      { ...input, request: { ...request, metrics: ['roas'] } },
      { accounts: ['acme'], log },
    );
    expect(plan.warnings).toEqual([expect.stringContaining('roas')]);
    expect(lines).toMatchObject([{ level: 'warn', message: plan.warnings[0] }]);
  });

  it('refuses an account that this deployment does not have, and names those it has', async () => {
    const { log } = keepLog();
    await expect(planExport(input, { accounts: ['umbrella', 'initech'], log })).rejects.toMatchObject({
      name: 'InvalidInput',
      facts: { faults: ["account: acme is not one of this deployment's (umbrella, initech)"] },
    });
  });
});

import { describe, expect, it } from 'vitest';
import { Run } from '../../../../infra/stack/config/schedule.ts';

/** The faults of a run with these fields, with their paths. */
function faultsOf(fields: object): string[] {
  const { error } = Run.safeParse({ period: 'yesterday', ...fields });
  return (error?.issues ?? []).map(({ path, message }) => `${path.join('.')}: ${message}`);
}

describe('a run', () => {
  it.each([
    ['cron(0/15 6-9,18 ? JAN-NOV MON#1,5L 2026-2030)'],
    ['cron(0 6 L,15W * ? *)'],
    ['cron(0 6 ? * L *)'],
    ['cron(0 6 29 2 ? *)'],
    ['cron(0 22-2 ? NOV-FEB FRI-MON *)'],
    ['rate(12 hours)'],
    ['cron(0 6 * * ?)', 'must be cron('],
    ['cron(0 6 ? * ? *)', 'must be cron('],
    ['cron(0/x 6 * * ? *)', 'must be cron('],
    ['rate(0 days)', 'must be cron('],
    ['at(2026-01-01T00:00:00)', 'must be cron('],
    ['cron(0 25 * * ? *)', 'cannot be read: Invalid value for hour: 25'],
    ['cron(0 6 31 2 ? *)', 'names no day that exists'],
  ])('reads the schedule %s as EventBridge does: %s', (schedule, ...faults) => {
    expect(faultsOf({ schedule })).toEqual(
      faults.map((fault) => expect.stringContaining(`schedule.expression: ${fault}`)),
    );
  });

  it.each<[object, ...string[]]>([
    [{ schedule: 'cron(0 6 * * ? *)', ready_by: '09:00', tell: 'always' }],
    [{ schedule: 'cron(0 6,18 * * ? *)', ready_by: '09:00' }],
    [{ schedule: 'cron(0 22-2 * * ? *)', ready_by: '09:00' }],
    [{ schedule: 'cron(0 6 ? * FRI-MON *)', ready_by: '09:00' }],
    [{ schedule: 'cron(0 9 * * ? *)', ready_by: '09:00' }, 'ready_by: must be later on the day'],
    [{ schedule: 'cron(0 25 * * ? *)', ready_by: '09:00' }, 'schedule.expression: cannot be read'],
    [{ schedule: 'rate(7 days)', ready_by: '09:00' }, 'ready_by: needs a schedule with cron(…)'],
    [{ ready_by: '09:00' }, 'ready_by: needs a schedule with cron(…)'],
    [{ schedule: 'cron(0 6 * * ? *)', ready_by: '9am' }, 'ready_by: must be a time of day, such as 09:00'],
    [{ tell: 'always' }, 'tell: needs ready_by'],
  ])('checks when a run must be ready: %j %s', (fields, ...faults) => {
    expect(faultsOf(fields)).toEqual(faults.map((fault) => expect.stringContaining(fault)));
  });
});

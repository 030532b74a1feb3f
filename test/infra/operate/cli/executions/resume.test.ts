import { describe, expect, it, vi } from 'vitest';
import { resume } from '../../../../../infra/operate/cli/executions/resume.ts';
import { runCommand } from '../../../../support/cli.ts';
import { REPORT } from '../../../../support/requests.ts';
import {
  type FakeExecution,
  STACK,
  STATE_MACHINE,
  startExecutions,
} from '../../executions/step-functions.ts';

const EXECUTION = `${STATE_MACHINE.replace('stateMachine', 'execution')}:daily-1`;
const { start_date: _, end_date: __, ...undated } = REPORT;
const REQUEST = { ...undated, period: 'yesterday' };
const DELIVERED = { status: 'SUCCEEDED', output: '{"version":"1","windows":[]}' };

/** An execution that started at 2026-11-01T05:00:00Z. */
function earlier(input: unknown = REQUEST, status: FakeExecution['status'] = 'FAILED'): FakeExecution {
  return { name: 'daily-1', status, begun: -(20 * 24 + 1) * 60, input };
}

describe('resume', () => {
  it('starts an execution that finishes another', async () => {
    const { started } = await startExecutions([earlier()], { end: DELIVERED });
    expect(await resume('daily-1', 1)).toMatchObject({ outcome: 'delivered' });
    expect(started).toHaveLength(1);
    expect(started[0]?.stateMachineArn).toBe(STATE_MACHINE);
    expect(started[0]?.name).toMatch(/^daily-20261031-20261101-/);
    // The period means the days before the earlier execution's start.
    expect(JSON.parse(started[0]?.input ?? '')).toEqual({
      ...REQUEST,
      scheduled_at: '2026-11-01T05:00:00.000Z',
      resumes: { execution: 'daily-1', began_at: '2026-11-01T05:00:00.000Z' },
    });
  });

  it('counts the days of a scheduled execution from when it was due', async () => {
    const scheduled_at = '2026-10-31T23:30:00Z';
    const { started } = await startExecutions([earlier({ ...REQUEST, scheduled_at })], { end: DELIVERED });
    await resume('daily-1', 1);
    const resumes = { execution: 'daily-1', began_at: scheduled_at };
    expect(JSON.parse(started[0]?.input ?? '')).toMatchObject({ scheduled_at, resumes });
  });

  it.each([
    ['only_missing', true],
    ['run', 'daily#1'],
    ['resumes', { execution: 'daily-0', began_at: '2026-10-30T00:00:00.000Z' }],
  ])('takes no %s over: the object of the earlier execution has what is left', async (field, value) => {
    const { started } = await startExecutions([earlier({ ...REQUEST, [field]: value })], { end: DELIVERED });
    await resume('daily-1', 1);
    expect(JSON.parse(started[0]?.input ?? '')).toEqual({
      ...REQUEST,
      scheduled_at: '2026-11-01T05:00:00.000Z',
      resumes: { execution: 'daily-1', began_at: '2026-11-01T05:00:00.000Z' },
    });
  });

  it('exports the request as it is configured now, and says so', async () => {
    const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    const changed = { ...REQUEST, name: 'daily-campaigns', metrics: ['clicks'] };
    const { started } = await startExecutions([earlier(changed)], { end: DELIVERED });
    await resume('daily-1', 1);
    const { metrics, period } = JSON.parse(started[0]?.input ?? '');
    expect({ hasChanged: !metrics.includes('clicks'), period }).toEqual({
      hasChanged: true,
      period: 'yesterday',
    });
    expect(write.mock.calls.join('')).toContain(
      'warning: the request of acme/daily-campaigns has changed since then, and is exported as it is now',
    );
  });

  it.each([
    ['that is running', earlier(REQUEST, 'RUNNING'), 'is still running (RUNNING)'],
    ['that waits for a redrive', earlier(REQUEST, 'PENDING_REDRIVE'), 'is still running (PENDING_REDRIVE)'],
    ['that succeeded', earlier(REQUEST, 'SUCCEEDED'), 'has delivered everything'],
    ['with a faulty request', earlier({ ...REQUEST, metrics: [] }), 'metrics'],
  ])('refuses an execution %s, and starts nothing', async (_, execution, expected) => {
    const { started } = await startExecutions([execution]);
    await expect(resume('daily-1', 1)).rejects.toMatchObject({
      name: 'UsageError',
      message: expect.stringContaining(expected),
    });
    expect(started).toEqual([]);
  });
});

describe('the command', () => {
  const command = () => runCommand(['resume', 'daily-1', ...STACK, '--json']);

  it('prints a denied AWS call as one document without a stack trace', async () => {
    await startExecutions([], { denied: 'DescribeExecution' });
    const { status, stdout, stderr } = await command();
    expect(status).toBe(1);
    expect(stderr).not.toContain('    at ');
    expect(JSON.parse(stdout)).toEqual({
      outcome: 'failed',
      error: 'CommandFailed',
      happened: `AWS could not answer DescribeExecution for ${EXECUTION} (AccessDeniedException): User x may not call DescribeExecution.`,
      todo: 'Your AWS user or role needs states:DescribeExecution.',
    });
  });
});

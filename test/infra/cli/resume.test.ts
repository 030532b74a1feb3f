import { describe, expect, it } from 'vitest';
import { resume } from '../../../infra/cli/resume.ts';
import { startCommand } from './command.ts';
import { STATE_MACHINE, startStepFunctions } from './step-functions.ts';

const EXECUTION = `${STATE_MACHINE.replace('stateMachine', 'execution')}:daily-1`;
const REQUEST = {
  name: 'daily',
  account: 'acme',
  period: 'yesterday',
  advertiser_ids: ['7d2f8a54-5f0e-4a3c-9f5e-0f4b8a1c2d3e'],
  metrics: ['spend'],
};
/** 2026-11-01T05:00:00Z, in seconds as the service writes it. */
const STARTED = 1_793_509_200;
const DELIVERED = { status: 'SUCCEEDED', output: '{"version":"1","windows":[]}' };

function failed(input: unknown = REQUEST) {
  return { status: 'FAILED', startDate: STARTED, input: JSON.stringify(input) };
}

describe('resume', () => {
  it.each([
    ['its ARN', EXECUTION, {}],
    ['its name', 'daily-1', { stateMachine: STATE_MACHINE }],
  ])('starts a new execution for what is missing of the one named by %s', async (_, execution, options) => {
    const { started } = await startStepFunctions(DELIVERED, { former: { 'daily-1': failed() } });
    expect(await resume(execution, options, 1)).toMatchObject({ outcome: 'delivered' });
    expect(started).toHaveLength(1);
    expect(started[0]?.stateMachineArn).toBe(STATE_MACHINE);
    // A period means the same days, and so does the name that is made of them.
    expect(started[0]?.name).toMatch(/^daily-20261031-20261101-/);
    expect(JSON.parse(started[0]?.input ?? '')).toEqual({
      ...REQUEST,
      scheduled_at: '2026-11-01T05:00:00.000Z',
      only_missing: '2026-11-01T05:00:00.000Z',
    });
  });

  it('keeps the moment at which a schedule had meant it to start', async () => {
    const scheduled = { ...REQUEST, scheduled_at: '2026-10-31T23:30:00Z' };
    const { started } = await startStepFunctions(DELIVERED, { former: { 'daily-1': failed(scheduled) } });
    await resume(EXECUTION, {}, 1);
    expect(JSON.parse(started[0]?.input ?? '')).toMatchObject(scheduled);
  });

  it.each([
    true,
    '2026-10-30T00:00:00Z',
  ])('asks for no more than the execution did: %s', async (only_missing) => {
    const former = failed({ ...REQUEST, only_missing });
    const { started } = await startStepFunctions(DELIVERED, { former: { 'daily-1': former } });
    await resume(EXECUTION, {}, 1);
    expect(JSON.parse(started[0]?.input ?? '')).toMatchObject({ only_missing });
  });

  it.each([
    ['that still runs', { status: 'RUNNING' }, 'has not ended (RUNNING)'],
    ['that is about to be redriven', { status: 'PENDING_REDRIVE' }, 'has not ended (PENDING_REDRIVE)'],
    ['that has succeeded', { status: 'SUCCEEDED' }, 'has delivered everything'],
    ['of one window', { ...failed(), mapRunArn: 'map' }, 'resume the export itself'],
    ['whose request was refused', failed({ ...REQUEST, metrics: [] }), 'metrics'],
    ['whose input was no request', failed('nonsense'), 'is missing'],
  ])('refuses an execution %s, and starts nothing', async (_, former, expected) => {
    const { started } = await startStepFunctions(DELIVERED, { former: { 'daily-1': former } });
    await expect(resume(EXECUTION, {}, 1)).rejects.toMatchObject({
      name: 'UsageError',
      message: expect.stringContaining(expected),
    });
    expect(started).toEqual([]);
  });

  it('names an execution that there is not', async () => {
    await startStepFunctions(DELIVERED);
    await expect(resume(EXECUTION, {}, 1)).rejects.toThrow(`there is no execution ${EXECUTION}`);
  });

  it('refuses what is no ARN of an execution', async () => {
    await expect(resume('arn:aws:s3:::bucket', {}, 1)).rejects.toThrow('is not the ARN of an execution');
    await expect(resume('daily-1', { stateMachine: 'exports' }, 1)).rejects.toThrow(
      '--state-machine exports is not the ARN of a state machine',
    );
  });

  it.each([
    ['delivered', DELIVERED, 0],
    ['failed', { status: 'FAILED', error: 'ReportStuck', cause: '{"happened":"x"}' }, 1],
  ])('as a command prints one document and exits as the export ended: %s', async (outcome, end, expected) => {
    await startStepFunctions(end, { polls: 0, former: { 'daily-1': failed() } });
    const { status, stdout } = await startCommand(['resume', EXECUTION, '--json']).ended;
    expect(status).toBe(expected);
    expect(JSON.parse(stdout)).toMatchObject({ outcome });
  });

  it('as a command says what AWS refused, in one document and with no stack trace', async () => {
    await startStepFunctions(DELIVERED, { refuses: 'DescribeExecution' });
    const { status, stdout, stderr } = await startCommand(['resume', EXECUTION, '--json']).ended;
    expect(status).toBe(1);
    expect(stderr).not.toContain('    at ');
    expect(JSON.parse(stdout)).toEqual({
      outcome: 'failed',
      error: 'CommandFailed',
      happened: `AWS could not describe ${EXECUTION} (AccessDeniedException).`,
      todo: 'Check the AWS credentials and region in use, and that they may states:DescribeExecution.',
    });
  });

  it('as a command exits 2 where there is nothing to resume', async () => {
    await startStepFunctions(DELIVERED, { former: { 'daily-1': { status: 'RUNNING' } } });
    const { status, stdout } = await startCommand(['resume', EXECUTION, '--json']).ended;
    expect(status).toBe(2);
    expect(JSON.parse(stdout).faults).toEqual([expect.stringContaining('has not ended')]);
  });
});

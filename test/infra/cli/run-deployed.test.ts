import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { executionName } from '../../../infra/cli/execution-name.ts';
import { runDeployed } from '../../../infra/cli/run-deployed.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { STATE_MACHINE as ARN, startStepFunctions } from './step-functions.ts';

const REQUEST = {
  name: 'daily',
  account: 'acme',
  start_date: '2026-10-01',
  end_date: '2026-11-01',
  advertiser_ids: ['7d2f8a54-5f0e-4a3c-9f5e-0f4b8a1c2d3e'],
  metrics: ['spend'],
};

async function requestFile(): Promise<string> {
  const path = join(temporaryDirectory(), 'request.json');
  await writeFile(path, JSON.stringify(REQUEST));
  return path;
}

describe('run', () => {
  it('starts the execution with the whole request, follows it, and gives what it delivered', async () => {
    const output = { version: '1', execution: 'e', windows: [], bytes: 7 };
    const { started } = await startStepFunctions({ status: 'SUCCEEDED', output: JSON.stringify(output) });
    const outcome = await runDeployed(undefined, { input: await requestFile(), stateMachine: ARN }, 1);
    expect(outcome).toEqual({ outcome: 'delivered', ...output });
    expect(started).toHaveLength(1);
    expect(started[0]?.stateMachineArn).toBe(ARN);
    expect(started[0]?.name).toMatch(/^daily-20261001-20261101-\d{8}T\d{9}Z$/);
    expect(JSON.parse(started[0]?.input ?? '')).toEqual(REQUEST);
  });

  it('gives the card of an execution that failed', async () => {
    const card = { version: '1', error: 'ReportStuck', happened: 'x', todo: 'y' };
    await startStepFunctions({ status: 'FAILED', error: 'ReportStuck', cause: JSON.stringify(card) });
    const outcome = await runDeployed(undefined, { input: await requestFile(), stateMachine: ARN }, 1);
    expect(outcome).toEqual({ outcome: 'failed', ...card });
  });

  it('says what it can of an execution that was stopped', async () => {
    await startStepFunctions({ status: 'ABORTED' }, { polls: 0 });
    const outcome = await runDeployed(undefined, { input: await requestFile(), stateMachine: ARN }, 1);
    expect(outcome).toMatchObject({ outcome: 'failed', error: 'ABORTED' });
  });

  it('waits for an execution that AWS does not show yet, and for an output that it does not', async () => {
    const end = { status: 'SUCCEEDED', output: '{"version":"1","bytes":7}' };
    await startStepFunctions(end, { behind: 3 });
    const outcome = await runDeployed(undefined, { input: await requestFile(), stateMachine: ARN }, 1);
    expect(outcome).toEqual({ outcome: 'delivered', version: '1', bytes: 7 });
  });

  it('gives up an execution that AWS does not show for a minute', async () => {
    await startStepFunctions({ status: 'SUCCEEDED', output: '{}' }, { behind: 13 });
    const run = runDeployed(undefined, { input: await requestFile(), stateMachine: ARN }, 1);
    await expect(run).rejects.toMatchObject({ happened: expect.stringContaining('ExecutionDoesNotExist') });
  });

  it('starts an export of the config by its name', async () => {
    const { started } = await startStepFunctions({ status: 'SUCCEEDED', output: '{}' }, { polls: 0 });
    await runDeployed('daily-campaigns', { stateMachine: ARN }, 1);
    expect(JSON.parse(started[0]?.input ?? '')).toMatchObject({ name: 'daily-campaigns' });
    expect(started[0]?.input).not.toContain('schedule');
  });

  it('asks only for what is missing where it is told to', async () => {
    const { started } = await startStepFunctions({ status: 'SUCCEEDED', output: '{}' }, { polls: 0 });
    const input = await requestFile();
    await runDeployed(undefined, { input, stateMachine: ARN, onlyMissing: true }, 1);
    expect(JSON.parse(started[0]?.input ?? '')).toEqual({ ...REQUEST, only_missing: true });
  });

  it.each([
    ['StartExecution', `start an execution of ${ARN}`],
    ['DescribeExecution', 'say how arn:aws:states:eu-west-1:123456789012:execution:exports:daily-'],
    ['DescribeMapRun', 'say how arn:aws:states:eu-west-1:123456789012:execution:exports:daily-'],
  ])('says what it was that AWS did not let it: %s', async (refuses, doing) => {
    await startStepFunctions({ status: 'SUCCEEDED', output: '{}' }, { refuses });
    const run = runDeployed(undefined, { input: await requestFile(), stateMachine: ARN }, 1);
    await expect(run).rejects.toMatchObject({
      name: 'CommandFailed',
      happened: expect.stringContaining(`AWS could not ${doing}`),
      todo: expect.stringContaining(`states:${refuses}`),
    });
  });

  it('refuses a name and an input together, and neither', async () => {
    await expect(runDeployed('x', { input: 'y' }, 1)).rejects.toMatchObject({ name: 'UsageError' });
    await expect(runDeployed(undefined, {}, 1)).rejects.toMatchObject({ name: 'UsageError' });
  });
});

describe('an execution’s name', () => {
  it('says which export and range it is, and fits', () => {
    const request = { name: 'x'.repeat(64), start_date: '2026-10-01', end_date: '2026-11-01' };
    const name = executionName(request, new Date('2026-11-21T04:15:00.123Z'));
    expect(name).toMatch(/^x+-20261001-20261101-20261121T041500123Z$/);
    expect(name).toHaveLength(80);
  });
});

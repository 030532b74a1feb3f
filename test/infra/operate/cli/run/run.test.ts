import { describe, expect, it, vi } from 'vitest';
import { executionName } from '../../../../../infra/operate/cli/run/find-request.ts';
import { runDeployed } from '../../../../../infra/operate/cli/run/run.ts';
import { REPORT as REQUEST } from '../../../../support/requests.ts';
import { STATE_MACHINE, startExecutions } from '../../executions/step-functions.ts';
import { writeTemporary } from '../support.ts';

const DELIVERED = { status: 'SUCCEEDED', output: '{}' };

/** Runs {@link REQUEST}, polling every millisecond. */
async function run(options: { onlyMissing?: true } = {}, changes = {}) {
  const { file: input } = await writeTemporary('request.json', JSON.stringify({ ...REQUEST, ...changes }));
  return runDeployed(undefined, { input, ...options }, 1);
}

describe('run', () => {
  it('starts an execution with the whole request, follows it, and returns what it delivered', async () => {
    const output = { version: '1', execution: 'e', windows: [], bytes: 7 };
    const { started } = await startExecutions([], {
      end: { status: 'SUCCEEDED', output: JSON.stringify(output) },
    });
    expect(await run()).toEqual({ outcome: 'delivered', ...output });
    expect(started).toEqual([
      expect.objectContaining({
        stateMachineArn: STATE_MACHINE,
        name: expect.stringMatching(/^daily-20261001-20261101-\d{8}T\d{9}Z$/),
      }),
    ]);
    expect(JSON.parse(started[0]?.input ?? '')).toEqual(REQUEST);
  });

  it('shows the warnings of the request before it starts', async () => {
    await startExecutions([], { end: DELIVERED });
    const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    await run({}, { metrics: ['spent'] });
    const [warning, started] = write.mock.calls.map(([text]) => text);
    expect(warning).toContain('warning: metrics: not documented');
    expect(warning).toContain('spent (did you mean spend?)');
    expect(started).toMatch(/^started /);
  });

  it('says how to follow the export if AWS refuses to describe it', async () => {
    const pollError = 'UnrecognizedClientException';
    const { started } = await startExecutions([], { end: DELIVERED, pollError });
    const failure = await run().catch((error) => error);
    const next = `npm run export -- explain ${started[0]?.name} --stack exports`;
    expect(failure).toMatchObject({
      name: 'CommandFailed',
      happened: expect.stringContaining(pollError),
      todo: expect.stringContaining(`The export continues without this command. To follow it: ${next}`),
    });
  });

  it('says that somebody stopped the execution, and how to continue it', async () => {
    const { started } = await startExecutions([], { end: { status: 'ABORTED' }, polls: 0 });
    const outcome = await run();
    const execution = started[0]?.name;
    const next = `npm run export -- resume ${execution} --stack exports`;
    expect(outcome).toMatchObject({ outcome: 'interrupted', execution, continues: false, next });
  });

  it('starts an export of the config by its name, without its schedule', async () => {
    const { started } = await startExecutions([], { end: DELIVERED, polls: 0 });
    await runDeployed('daily-campaigns', {}, 1);
    expect(JSON.parse(started[0]?.input ?? '')).toMatchObject({ name: 'daily-campaigns' });
    expect(started[0]?.input).not.toContain('schedule');
  });

  it('62: starts nothing if the config has another request under the name', async () => {
    const { started } = await startExecutions([], { end: DELIVERED });
    await expect(run({}, { name: 'daily-campaigns' })).rejects.toThrow(
      /another request under the name daily-campaigns in cdk.json; it differs in advertiser_ids.*another name/,
    );
    expect(started).toEqual([]);
  });

  it('asks only for missing windows with --only-missing', async () => {
    const { started } = await startExecutions([], { end: DELIVERED, polls: 0 });
    await run({ onlyMissing: true });
    expect(JSON.parse(started[0]?.input ?? '')).toEqual({ ...REQUEST, only_missing: true });
  });
});

it('the name of an execution has export, range and start in 80 characters', () => {
  const request = { name: 'x'.repeat(64), start_date: '2026-10-01', end_date: '2026-11-01' };
  const name = executionName(request, new Date('2026-11-21T04:15:00.123Z'));
  expect(name).toMatch(/^x+-20261001-20261101-20261121T041500123Z$/);
  expect(name).toHaveLength(80);
});

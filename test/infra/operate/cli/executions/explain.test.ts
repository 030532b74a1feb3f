import { describe, expect, it } from 'vitest';
import { runCommand } from '../../../../support/cli.ts';
import { FAILED, FAILURE, NAME, RUNNING } from '../../executions/operated-executions.ts';
import { STACK, STATE_MACHINE, startExecutions } from '../../executions/step-functions.ts';

function explain(...args: string[]) {
  return runCommand(['explain', ...STACK, ...args]);
}

describe('explain', () => {
  it('shows how long each window took, and a link to all of its states', async () => {
    await startExecutions([RUNNING, FAILED]);
    const { status, stdout } = await explain(NAME, '--json');
    expect(status).toBe(0);
    const { windows, console, ...summary } = JSON.parse(stdout);
    expect(summary).toMatchObject({ execution: NAME, outcome: 'running', export: 'daily-campaigns' });
    expect(windows).toMatchObject([
      { outcome: 'running', seconds: expect.any(Number) },
      { outcome: 'delivered', seconds: 660, bytes: 1_234, rows: 45, key: 'k/report.json' },
    ]);
    const arn = `${STATE_MACHINE.replace(':stateMachine:', ':execution:')}:${NAME}`;
    const page =
      'https://eu-west-1.console.aws.amazon.com/states/home?region=eu-west-1#/v2/executions/details/';
    expect(console).toBe(page + arn);
    expect((await explain(NAME)).stdout.split('\n').at(-2)).toBe(`Each state: ${page + arn}`);
  });

  it('says it in words', async () => {
    await startExecutions([RUNNING]);
    const { stdout } = await explain(NAME);
    expect(stdout).toMatch(
      /^2026-11-15 to .* {2}running, so far .*\n.* to 2026-11-14 {2}delivered, 45 rows, 1.23 kB, took 11m\n\nEach/m,
    );
  });

  it('shows the failure report of a failed execution, and the command that exports the rest', async () => {
    await startExecutions([FAILED]);
    const { status, stdout } = await explain('daily-1');
    expect(status).toBe(0);
    expect(stdout).toContain('No report became READY.');
    expect(stdout).toContain('1 of 2 windows failed');
    expect(stdout).toContain('report_id: r-1, r-2');
    expect(stdout).toContain('request_id: req-1');
    expect(stdout).toContain('Then: npm run export -- resume daily-1');
    const { failure } = JSON.parse((await explain('daily-1', '--json')).stdout);
    expect(failure).toEqual(FAILURE);
  });

  it.each([
    ['a faulty request', { name: 'daily', account: 'acme' }, { account: 'acme', export: 'daily' }],
    ['something else', [7], {}],
  ])('shows an execution of %s', async (_, input, fields) => {
    await startExecutions([{ ...FAILED, input, error: 'InvalidInput' }]);
    const execution = JSON.parse((await explain('daily-1', '--json')).stdout);
    expect(execution).toMatchObject({ ...fields, outcome: 'failed' });
    expect(execution).not.toHaveProperty('start_date');
  });
});

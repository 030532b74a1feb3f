import { expect, it } from 'vitest';
import { runCommand } from '../../../../support/cli.ts';
import { FAILED, NAME, RUNNING } from '../../executions/operated-executions.ts';
import { STACK, startExecutions } from '../../executions/step-functions.ts';

const RESUME = `npm run export -- resume ${NAME} --stack exports --region eu-west-1`;

function stop(name: string, ...more: string[]) {
  return runCommand(['stop', name, ...STACK, '--region', 'eu-west-1', ...more]);
}

it('stops an execution, and prints the command that goes on', async () => {
  const execution = { ...RUNNING };
  await startExecutions([execution]);
  expect(await stop(NAME)).toEqual({
    status: 0,
    stdout: `Stopped ${NAME}. Windows that were delivered stay.\nTo export the rest: ${RESUME}\n`,
    stderr: 'Working on the stack exports in eu-west-1 of AWS account 123456789012.\n',
  });
  expect(execution.status).toBe('ABORTED');

  await startExecutions([{ ...RUNNING }]);
  const { stdout } = await stop(NAME, '--json');
  expect(JSON.parse(stdout)).toEqual({ outcome: 'stopped', execution: NAME, resume: RESUME });
});

it.each([
  ['daily-1', 'daily-1 has ended already (FAILED)'],
  ['nobody', 'there is no execution'],
])('refuses the execution %s, and stops nothing', async (name, message) => {
  const { called } = await startExecutions([RUNNING, FAILED]);
  const { status, stderr } = await stop(name);
  expect({ status, stderr }).toEqual({ status: 2, stderr: expect.stringContaining(message) });
  expect(called).not.toContain('StopExecution');
});

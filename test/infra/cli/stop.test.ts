import { expect, it } from 'vitest';
import { runCommand } from '../../support/cli.ts';
import { FAILED, NAME, RUNNING } from './operated-executions.ts';
import { STATE_MACHINE, startExecutions } from './step-functions.ts';

const RESUME = `npm run export -- resume ${NAME} --state-machine ${STATE_MACHINE}`;

function stop(name: string, ...more: string[]) {
  return runCommand(['stop', name, '--state-machine', STATE_MACHINE, ...more]);
}

it('stops an execution, and prints the command that goes on', async () => {
  const execution = { ...RUNNING };
  await startExecutions([execution]);
  expect(await stop(NAME)).toEqual({
    status: 0,
    stdout: `Stopped ${NAME}. Windows that were delivered stay.\nTo export the rest: ${RESUME}\n`,
    stderr: '',
  });
  expect(execution.status).toBe('ABORTED');

  await startExecutions([{ ...RUNNING }]);
  const { stdout } = await stop(NAME, '--json');
  expect(JSON.parse(stdout)).toEqual({ outcome: 'stopped', execution: NAME, resume: RESUME });
});

it.each([
  [STATE_MACHINE, 'daily-1', 'daily-1 has ended already (FAILED)'],
  [STATE_MACHINE, 'nobody', 'there is no execution'],
  ['exports', NAME, '--state-machine exports is not the ARN of a state machine'],
])('refuses with %s the execution %s, and stops nothing', async (stateMachine, name, message) => {
  const { called } = await startExecutions([RUNNING, FAILED]);
  const { status, stderr } = await runCommand(['stop', name, '--state-machine', stateMachine]);
  expect([status, stderr]).toEqual([2, expect.stringContaining(message)]);
  expect(called).not.toContain('StopExecution');
});

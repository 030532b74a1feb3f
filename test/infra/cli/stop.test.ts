import { describe, expect, it } from 'vitest';
import { stop } from '../../../infra/cli/stop.ts';
import { runCommand } from '../../support/cli.ts';
import { FAILED, type FakeExecution, NAME, RUNNING, startExecutions } from './operated-executions.ts';
import { STATE_MACHINE as stateMachine } from './step-functions.ts';

/** A copy that a test can stop. */
function running(fields: Partial<FakeExecution> = {}): FakeExecution {
  return { ...RUNNING, windows: RUNNING.windows?.map((window) => ({ ...window, ...fields })) ?? [] };
}

describe('stop', () => {
  it('stops an execution and its windows, and says what was delivered and how to go on', async () => {
    const execution = running();
    await startExecutions([execution]);
    expect(await stop(NAME, { stateMachine }, 1)).toEqual({
      ...{
        outcome: 'stopped',
        execution: NAME,
        resume: `npm run export -- resume ${NAME} --state-machine ${stateMachine}`,
      },
      windows: [
        expect.objectContaining({ outcome: 'delivered', key: 'k/report.json' }),
        expect.objectContaining({ outcome: 'stopped' }),
      ],
    });
    expect([execution, ...(execution.windows ?? [])].map(({ status }) => status)).toEqual([
      ...['ABORTED', 'SUCCEEDED', 'ABORTED'],
    ]);
  });

  it('stops a window that does not stop with its execution', async () => {
    const execution = running({ lingers: true });
    const { called } = await startExecutions([execution]);
    await stop(NAME, { stateMachine }, 1);
    expect(execution.windows?.[1]?.status).toBe('ABORTED');
    expect(called.filter((operation) => operation === 'StopExecution')).toHaveLength(2);
  });

  it('stops an execution that has no windows yet', async () => {
    const { windows: _, ...early } = RUNNING;
    await startExecutions([early]);
    expect(await stop(NAME, { stateMachine }, 1)).toMatchObject({ windows: [] });
  });

  it.each([
    ['daily-1', 'daily-1 has ended already (FAILED)'],
    ['window-2', 'stop the export itself'],
    ['nobody', 'there is no execution'],
  ])('refuses %s and stops nothing', async (name, message) => {
    const { called } = await startExecutions([running(), FAILED]);
    await expect(stop(name, { stateMachine }, 1)).rejects.toMatchObject({
      ...{ name: 'UsageError', message: expect.stringContaining(message) },
    });
    expect(called).not.toContain('StopExecution');
  });

  it('names the permission that is missing', async () => {
    await startExecutions([running()], 'StopExecution');
    await expect(stop(NAME, { stateMachine }, 1)).rejects.toMatchObject({
      ...{ name: 'CommandFailed', todo: expect.stringContaining('states:StopExecution') },
    });
  });

  it('prints the command that continues', async () => {
    await startExecutions([running()]);
    const { status, stdout } = await runCommand(['stop', NAME, '--state-machine', stateMachine]);
    expect(status).toBe(0);
    expect(stdout).toBe(
      [
        `Stopped ${NAME}.`,
        'These windows were delivered before, and stay:',
        '  2026-10-01 to 2026-11-15  k/report.json',
        `To export the rest: npm run export -- resume ${NAME} --state-machine ${stateMachine}\n`,
      ].join('\n'),
    );
  });
});

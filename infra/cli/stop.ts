import { setTimeout as wait } from 'node:timers/promises';
import { ExecutionDoesNotExist, type SFNClient, StopExecutionCommand } from '@aws-sdk/client-sfn';
import { Command } from 'commander';
import { createStepFunctions, hasEnded } from './deployed.ts';
import { describeExecution, findExecutionArn, listChildren, readWindows } from './deployed-executions.ts';
import { createAwsFailure, UsageError } from './errors.ts';
import type { WindowRun } from './executions.ts';
import { printLines, warn } from './layout.ts';
import { resumeCommand } from './next-command.ts';
import { examples, option } from './options.ts';

/** The document that `stop --json` prints. */
interface Stopped {
  readonly outcome: 'stopped';
  readonly execution: string;
  /** Those that had begun. */
  readonly windows: readonly Omit<WindowRun, 'steps'>[];
  /** The command that exports what was not delivered. */
  readonly resume: string;
}

interface StopOptions {
  readonly json?: true;
  readonly stateMachine?: string;
}

const PERMISSIONS =
  'states:StopExecution, states:ListMapRuns, states:DescribeMapRun, states:ListExecutions and states:DescribeExecution';

const INSTEAD = 'give --state-machine. A local run stops with Ctrl-C in its terminal';

/** Between two looks at the windows. */
const LOOK_EVERY_MS = 1_000;

/**
 * Step Functions aborts the windows with their execution, within seconds; it does not say how soon. From this look on, the
 * command stops the remaining ones itself, and after the last look it gives up: half a minute.
 */
const FIRST_OWN_STOP = 10;
const LOOKS = 30;

export function createStopCommand(): Command {
  return new Command('stop')
    .description('Stop an execution and its windows. What was delivered stays, and resume exports the rest.')
    .argument('<execution>', 'the name or ARN of an execution that is running')
    .addOption(option.json())
    .addOption(option.stateMachine())
    .addHelpText('after', examples('stop daily-campaigns-20261001-20261101-20261121T041500123Z'))
    .action(async (execution: string, options: StopOptions) => {
      const stopped = await stop(execution, options);
      if (options.json) process.stdout.write(`${JSON.stringify(stopped)}\n`);
      else printLines(describeStopped(stopped));
    });
}

/**
 * Stops an execution and returns once none of its windows runs.
 *
 * @param lookEvery ms between two looks at its windows
 * @throws UsageError if it does not run
 * @throws CommandFailed if AWS refuses a call
 */
export async function stop(
  execution: string,
  { stateMachine }: Pick<StopOptions, 'stateMachine'>,
  lookEvery = LOOK_EVERY_MS,
): Promise<Stopped> {
  const found = await describeExecution(await findExecutionArn(execution, stateMachine, INSTEAD));
  const { executionArn = '', name = '', status, mapRunArn } = found;
  if (mapRunArn !== undefined)
    throw new UsageError([`${execution} exports one window of an export; stop the export itself`]);
  if (hasEnded(found)) throw new UsageError([`${execution} has ended already (${status})`]);
  const sfn = createStepFunctions(executionArn);
  try {
    // Without an error and a cause, the caller needs no permission on the key of an encrypted state machine.
    await sfn.send(new StopExecutionCommand({ executionArn }));
    await stopWindows(sfn, executionArn, lookEvery);
    const windows = (await readWindows(sfn, executionArn, false)).map(({ steps: _, ...window }) => window);
    return { outcome: 'stopped', execution: name, windows, resume: resumeCommand(name, stateMachine) };
  } catch (error) {
    throw createAwsFailure(error, `stop ${executionArn}`, PERMISSIONS);
  }
}

async function stopWindows(sfn: SFNClient, executionArn: string, lookEvery: number): Promise<void> {
  for (let look = 1; look <= LOOKS; look += 1) {
    const { children } = await listChildren(sfn, executionArn, true);
    if (children.length === 0) return;
    if (look >= FIRST_OWN_STOP)
      await Promise.all(children.map(({ executionArn: child = '' }) => stopWindow(sfn, child)));
    await wait(lookEvery);
  }
  warn(`some windows of ${executionArn} still run; look again with 'npm run export -- explain'`);
}

async function stopWindow(sfn: SFNClient, executionArn: string): Promise<void> {
  await sfn.send(new StopExecutionCommand({ executionArn })).catch((error: unknown) => {
    if (!(error instanceof ExecutionDoesNotExist)) throw error;
  });
}

function describeStopped({ execution, windows, resume }: Stopped): string[] {
  const delivered = windows.filter(({ outcome }) => outcome === 'delivered');
  return [
    `Stopped ${execution}.`,
    delivered.length === 0
      ? 'No window was delivered before.'
      : 'These windows were delivered before, and stay:',
    ...delivered.map(({ window, key }) => `  ${window.start_date} to ${window.end_date}  ${key}`),
    `To export the rest: ${resume}`,
  ];
}

import type { DescribeExecutionOutput } from '@aws-sdk/client-sfn';
import { Command } from 'commander';
import { resumeName } from '../../functions/decisions/adopt.ts';
import { onlyMissingSince } from '../../functions/decisions/missing.ts';
import { hasEnded, startAndFollow } from './deployed.ts';
import { describeExecution, findExecutionArn } from './deployed-executions.ts';
import { UsageError } from './errors.ts';
import { resumeCommand } from './next-command.ts';
import { examples, option } from './options.ts';
import { isAtFault, type Outcome, printOutcome } from './outcome.ts';

interface ResumeOptions {
  readonly json?: true;
  readonly stateMachine?: string;
}

const INSTEAD = 'give --state-machine. To go on with a local run, repeat its command with --only-missing';

export function createResumeCommand(): Command {
  return new Command('resume')
    .description(
      'Export the windows that an execution did not deliver, and follow the new execution until it ends.',
    )
    .argument('<execution>', 'the name or ARN of an execution that failed or was stopped')
    .addOption(option.json())
    .addOption(option.stateMachine())
    .addHelpText('after', examples('resume daily-campaigns-20261001-20261101-20261121T041500123Z'))
    .action(async (execution: string, options: ResumeOptions) => {
      const outcome = await resume(execution, options);
      const next = isAtFault(outcome) ? undefined : resumeCommand(outcome.execution, options.stateMachine);
      printOutcome(outcome, { ...options, root: 's3://', next });
    });
}

/**
 * Starts a new execution of the same request for the windows that were not delivered. The first execution that resumes an earlier one
 * has a name that lets it adopt the earlier one's reports. While it runs, a second `resume` follows it.
 *
 * @throws UsageError if there is nothing to resume
 * @throws CommandFailed if AWS refuses a call
 */
export async function resume(
  execution: string,
  { stateMachine }: ResumeOptions,
  followEvery?: number,
): Promise<Outcome> {
  const earlier = await describeExecution(await findExecutionArn(execution, stateMachine, INSTEAD));
  const faults = findFaults(execution, earlier);
  if (faults.length > 0) throw new UsageError(faults);
  const { name = '', stateMachineArn = '', input = '', startDate = new Date() } = earlier;
  const startedAt = startDate.toISOString();
  // A request with a `period` must cover the same days as in the earlier execution.
  const request = { scheduled_at: startedAt, ...JSON.parse(input) };
  const missing = onlyMissingSince(startedAt, request);
  return startAndFollow(missing, stateMachineArn, followEvery, resumeName(name));
}

function findFaults(execution: string, earlier: DescribeExecutionOutput): string[] {
  const { status, mapRunArn } = earlier;
  if (mapRunArn !== undefined)
    return [`${execution} exports one window of an export; resume the export itself`];
  if (!hasEnded(earlier))
    return [`${execution} is still running (${status}); wait until it ends, or stop it`];
  if (status === 'SUCCEEDED')
    return [`${execution} has delivered everything; to export everything again, use 'run'`];
  return [];
}

import type { DescribeExecutionOutput } from '@aws-sdk/client-sfn';
import { Command } from 'commander';
import { onlyMissingSince } from '../../functions/decisions/missing.ts';
import { hasEnded, startAndFollow } from './deployed.ts';
import { describeExecution, findExecutionArn } from './deployed-executions.ts';
import { UsageError } from './errors.ts';
import { option } from './options.ts';
import { type Outcome, printOutcome } from './outcome.ts';

interface ResumeOptions {
  readonly json?: true;
  readonly stateMachine?: string;
}

export function createResumeCommand(): Command {
  return new Command('resume')
    .description(
      'Export the windows that an execution did not deliver, and follow the new execution until it ends.',
    )
    .argument('<execution>', 'the name or ARN of an execution that failed or was stopped')
    .addOption(option.json())
    .addOption(option.stateMachine())
    .action(async (execution: string, options: ResumeOptions) => {
      const outcome = await resume(execution, options);
      if (outcome) printOutcome(outcome, { ...options, root: 's3://' });
    });
}

/**
 * Starts a new execution of the same request for the windows that were not delivered.
 *
 * @returns undefined if Ctrl-C ended the command; the execution continues
 * @throws UsageError if there is nothing to resume
 * @throws CommandFailed if AWS refuses a call
 */
export async function resume(
  execution: string,
  { stateMachine }: ResumeOptions,
  followEvery?: number,
): Promise<Outcome | undefined> {
  const earlier = await describeExecution(await findExecutionArn(execution, stateMachine));
  const faults = findFaults(execution, earlier);
  if (faults.length > 0) throw new UsageError(faults);
  const { stateMachineArn = '', input = '', startDate = new Date() } = earlier;
  const startedAt = startDate.toISOString();
  // A request with a `period` must cover the same days as in the earlier execution.
  const request = { scheduled_at: startedAt, ...JSON.parse(input) };
  return startAndFollow(onlyMissingSince(startedAt, request), stateMachineArn, followEvery);
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

import { DescribeExecutionCommand, type DescribeExecutionOutput } from '@aws-sdk/client-sfn';
import { Command } from 'commander';
import { onlyMissingSince } from '../../functions/decisions/missing.ts';
import { awsFault } from './aws-fault.ts';
import { readStateMachineArn } from './deployed-outputs.ts';
import { endWith } from './end-with.ts';
import { startAndFollow, stepFunctionsOf } from './follow.ts';
import type { Outcome } from './outcome.ts';
import type { RunOptions } from './run-options.ts';
import { UsageError } from './usage.ts';

type ResumeOptions = Pick<RunOptions, 'json' | 'stateMachine'>;

const EXECUTION_ARN = /^arn:aws[a-z-]*:states:[a-z0-9-]+:\d{12}:execution:.+:.+$/;

/** Exports what an execution that failed did not deliver. */
export function resumeCommand(): Command {
  return new Command('resume')
    .description('Exports what an execution did not deliver, and follows it to its end.')
    .argument('<execution>', 'its ARN or its name')
    .option('--json', 'print one JSON document on stdout, and all else on stderr')
    .option('--state-machine <arn>', "whose execution it is (default: as 'npm run deploy' noted it)")
    .action((execution: string, options: ResumeOptions) =>
      endWith({ json: options.json, root: 's3://' }, () => resume(execution, options)),
    );
}

/**
 * Starts a new execution of the same request for the windows that the former one has not delivered. A redrive would go on with the old
 * one, but only within 14 days; this one can be started whenever the request can.
 *
 * @returns undefined where Ctrl-C ended the following; the execution goes on
 * @throws UsageError where there is nothing to resume
 * @throws CommandFailed where AWS does not let it
 */
export async function resume(
  execution: string,
  options: ResumeOptions,
  followEvery?: number,
): Promise<Outcome | undefined> {
  const former = await describe(await arnOf(execution, options));
  const faults = faultsOf(execution, former);
  if (faults.length > 0) throw new UsageError(faults);
  const { stateMachineArn = '', input = '', startDate = new Date() } = former;
  const begun = startDate.toISOString();
  // A period means the days that it meant to the execution itself.
  const request = Object.assign({ scheduled_at: begun }, JSON.parse(input));
  return startAndFollow(onlyMissingSince(begun, request), stateMachineArn, followEvery);
}

/** The name of an execution stands in its ARN after that of the state machine. */
async function arnOf(execution: string, options: ResumeOptions): Promise<string> {
  if (EXECUTION_ARN.test(execution)) return execution;
  if (execution.startsWith('arn:')) throw new UsageError([`${execution} is not the ARN of an execution`]);
  const stateMachine = await readStateMachineArn(options);
  return `${stateMachine.replace(':stateMachine:', ':execution:')}:${execution}`;
}

async function describe(executionArn: string): Promise<DescribeExecutionOutput> {
  try {
    return await stepFunctionsOf(executionArn).send(new DescribeExecutionCommand({ executionArn }));
  } catch (error) {
    const name = error instanceof Error ? error.name : '';
    if (!/^(ExecutionDoesNotExist|InvalidArn|ValidationException)$/.test(name))
      throw awsFault(error, `describe ${executionArn}`, 'states:DescribeExecution');
    throw new UsageError([`there is no execution ${executionArn} (${name})`]);
  }
}

function faultsOf(execution: string, { status, mapRunArn }: DescribeExecutionOutput): string[] {
  if (mapRunArn !== undefined) return [`${execution} is one window of an export; resume the export itself`];
  if (status === 'RUNNING' || status === 'PENDING_REDRIVE')
    return [`${execution} has not ended (${status}); wait for it, or stop it first`];
  if (status === 'SUCCEEDED')
    return [`${execution} has delivered everything; to export it afresh, run it again`];
  return [];
}

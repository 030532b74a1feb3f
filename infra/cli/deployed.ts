import { readFile } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';
import {
  DescribeExecutionCommand,
  type DescribeExecutionOutput,
  DescribeMapRunCommand,
  ExecutionAlreadyExists,
  ExecutionDoesNotExist,
  ListMapRunsCommand,
  SFNClient,
  StartExecutionCommand,
} from '@aws-sdk/client-sfn';
import { readConfig } from '../config.ts';
import { OUTPUTS } from '../outputs.ts';
import { createAwsFailure, UsageError } from './errors.ts';
import { explainCommand } from './next-command.ts';
import { type Outcome, outcomeOf } from './outcome.ts';
import { checkRequest, executionName } from './request.ts';

/** `npm run deploy` writes the stack's outputs to this file. */
export const OUTPUTS_FILE = 'cdk.out/outputs.json';

const STATE_MACHINE_ARN = /^arn:aws[a-z-]*:states:[a-z0-9-]+:\d{12}:stateMachine:.+$/;

/** For commands that can do without a deployment. */
export const ARN_OR_LOCAL = 'give --state-machine. For the runs of this machine, use --local';

/** DescribeExecution costs nothing, and an export takes minutes. */
const FOLLOW_EVERY_MS = 5_000;

/** Step Functions is eventually consistent: an execution or its output may be invisible for this many polls, one minute. */
const MAX_STALE_POLLS = 12;

const FOLLOW_PERMISSIONS = 'states:DescribeExecution, states:ListMapRuns and states:DescribeMapRun';

/** An output of the stack that was deployed from this checkout; undefined if none was. */
export async function readOutput(output: keyof typeof OUTPUTS): Promise<string | undefined> {
  try {
    const outputs: Record<string, Record<string, string>> = JSON.parse(await readFile(OUTPUTS_FILE, 'utf8'));
    return outputs[readConfig().stack]?.[OUTPUTS[output]];
  } catch {
    return undefined;
  }
}

/** The deployed stack's Region and AWS account; empty if they are unknown, so that the SDK uses its own settings. */
export async function readDeployedPlace(): Promise<{ region?: string; awsAccount?: string }> {
  const [, , , region, awsAccount] = (await readOutput('stateMachine'))?.split(':') ?? [];
  return { ...(region && { region }), ...(awsAccount && { awsAccount }) };
}

/**
 * @param named the ARN in --state-machine; by default that of the deployed stack
 * @param instead what to do without a deployment, after "or"
 * @throws UsageError
 */
export async function readStateMachineArn(named: string | undefined, instead: string): Promise<string> {
  if (named !== undefined && !STATE_MACHINE_ARN.test(named))
    throw new UsageError([`--state-machine ${named} is not the ARN of a state machine`]);
  const arn = named ?? (await readOutput('stateMachine'));
  if (arn) return arn;
  throw new UsageError([`${OUTPUTS_FILE} names no state machine: run 'npm run deploy', or ${instead}`]);
}

/** A client for the Region of an ARN. */
export function createStepFunctions(arn: string): SFNClient {
  return new SFNClient({ region: arn.split(':')[3] ?? '' });
}

/**
 * Starts an execution and follows it until it ends.
 *
 * @param name for the execution, unless an earlier one has it
 * @throws UsageError if the request has a fault; nothing is started
 * @throws CommandFailed if AWS refuses a call
 */
export async function startAndFollow(
  request: unknown,
  stateMachineArn: string,
  followEvery = FOLLOW_EVERY_MS,
  name?: string,
): Promise<Outcome> {
  const now = new Date();
  const { request: checked } = checkRequest(request, now);
  const sfn = createStepFunctions(stateMachineArn);
  const input = JSON.stringify(request);
  const start = (name: string) => sfn.send(new StartExecutionCommand({ stateMachineArn, name, input }));
  const unused = executionName(checked, now);
  const starting = start(name ?? unused).catch((error) => {
    if (error instanceof ExecutionAlreadyExists && name !== undefined) return start(unused);
    throw error;
  });
  const { executionArn = '' } = await starting.catch((error) => {
    throw createAwsFailure(error, `start an execution of ${stateMachineArn}`, 'states:StartExecution');
  });
  process.stderr.write(`started ${executionArn}\n`);
  return follow(sfn, executionArn, followEvery).catch((error) => {
    process.stderr.write(`The export continues without this command: ${executionArn}\n`);
    throw createAwsFailure(error, `describe ${executionArn}`, FOLLOW_PERMISSIONS);
  });
}

async function follow(sfn: SFNClient, executionArn: string, every: number): Promise<Outcome> {
  const interrupted = new AbortController();
  const interrupt = () => interrupted.abort();
  process.once('SIGINT', interrupt);
  try {
    for (let shown = '', stale = 0; ; ) {
      const execution = await describe(sfn, executionArn, stale < MAX_STALE_POLLS);
      if (execution && hasEnded(execution))
        return outcomeOf({ ...execution, output: JSON.parse(execution.output ?? 'null') });
      stale = execution ? 0 : stale + 1;
      const progress = execution ? await describeProgress(sfn, executionArn) : shown;
      if (progress !== shown) process.stderr.write(`${new Date().toISOString()} ${progress}\n`);
      shown = progress;
      await wait(every, undefined, { signal: interrupted.signal }).catch(() => undefined);
      if (interrupted.signal.aborted) return describeInterrupted(executionArn);
    }
  } finally {
    process.off('SIGINT', interrupt);
  }
}

/** @returns undefined while the execution, or the output of one that succeeded, is not visible yet */
async function describe(
  sfn: SFNClient,
  executionArn: string,
  mayBeStale: boolean,
): Promise<DescribeExecutionOutput | undefined> {
  try {
    const execution = await sfn.send(new DescribeExecutionCommand({ executionArn }));
    const lacksOutput = execution.status === 'SUCCEEDED' && execution.output === undefined;
    return lacksOutput && mayBeStale ? undefined : execution;
  } catch (error) {
    if (error instanceof ExecutionDoesNotExist && mayBeStale) return undefined;
    throw error;
  }
}

export function hasEnded({ status }: DescribeExecutionOutput): boolean {
  return status !== 'RUNNING' && status !== 'PENDING_REDRIVE';
}

async function describeProgress(sfn: SFNClient, executionArn: string): Promise<string> {
  const { mapRuns = [] } = await sfn.send(new ListMapRunsCommand({ executionArn }));
  const mapRunArn = mapRuns[0]?.mapRunArn;
  if (!mapRunArn) return 'planning';
  const { itemCounts } = await sfn.send(new DescribeMapRunCommand({ mapRunArn }));
  return itemCounts
    ? `${itemCounts.succeeded} of ${itemCounts.total} windows done, ${itemCounts.running} running`
    : 'planning';
}

function describeInterrupted(executionArn: string): Outcome {
  const execution = executionArn.split(':').at(-1) ?? '';
  return {
    outcome: 'interrupted',
    version: '1',
    execution,
    continues: true,
    next: explainCommand(execution),
  };
}

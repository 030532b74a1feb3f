import { setTimeout as wait } from 'node:timers/promises';
import {
  DescribeExecutionCommand,
  type DescribeExecutionOutput,
  DescribeMapRunCommand,
  ExecutionDoesNotExist,
  ListMapRunsCommand,
  SFNClient,
  StartExecutionCommand,
} from '@aws-sdk/client-sfn';
import { awsFault } from './aws-fault.ts';
import { executionName } from './execution-name.ts';
import { type ExecutionEnd, type Outcome, outcomeOf } from './outcome.ts';
import { checkRequest } from './request-source.ts';
import { FAILED, INTERRUPTED } from './usage.ts';

/** DescribeExecution costs nothing; an export takes minutes. */
const FOLLOW_EVERY_MS = 5_000;

/** In a row, a minute altogether: what Step Functions shows of an execution may be behind what it has said of it. */
const LOOKS_BEHIND = 12;

const FOLLOWING_NEEDS = 'states:DescribeExecution, states:ListMapRuns and states:DescribeMapRun';

/** Step Functions in the Region that an ARN names. */
export function stepFunctionsOf(arn: string): SFNClient {
  return new SFNClient({ region: arn.split(':')[3] ?? '' });
}

/**
 * Starts an execution with the whole request, under a name that says what it is, and follows it.
 *
 * @returns undefined where Ctrl-C ended the following; the execution goes on
 * @throws UsageError where the request has a fault; nothing is started
 * @throws CommandFailed where AWS does not let it
 */
export async function startAndFollow(
  request: unknown,
  stateMachineArn: string,
  followEvery = FOLLOW_EVERY_MS,
): Promise<Outcome | undefined> {
  const now = new Date();
  const { request: checked } = checkRequest(request, now);
  const sfn = stepFunctionsOf(stateMachineArn);
  const start = new StartExecutionCommand({
    stateMachineArn,
    name: executionName(checked, now),
    input: JSON.stringify(request),
  });
  const { executionArn = '' } = await sfn.send(start).catch((error) => {
    throw awsFault(error, `start an execution of ${stateMachineArn}`, 'states:StartExecution');
  });
  process.stderr.write(`started ${executionArn}\n`);
  return follow(sfn, executionArn, followEvery).catch((error) => {
    leave(executionArn);
    throw awsFault(error, `say how ${executionArn} goes on`, FOLLOWING_NEEDS);
  });
}

async function follow(sfn: SFNClient, executionArn: string, every: number): Promise<Outcome | undefined> {
  const interrupted = new AbortController();
  const interrupt = () => interrupted.abort();
  process.once('SIGINT', interrupt);
  try {
    for (let before = '', behind = 0; ; ) {
      const execution = await describe(sfn, executionArn, behind < LOOKS_BEHIND);
      if (execution && hasEnded(execution)) return outcomeOf(endOf(execution));
      behind = execution ? 0 : behind + 1;
      const now = execution ? await progressOf(sfn, executionArn) : before;
      if (now !== before) process.stderr.write(`${now}\n`);
      before = now;
      await wait(every, undefined, { signal: interrupted.signal }).catch(() => undefined);
      if (interrupted.signal.aborted) return leave(executionArn, INTERRUPTED);
    }
  } finally {
    process.off('SIGINT', interrupt);
  }
}

/** Undefined where it is not there yet, or its output is not. */
async function describe(
  sfn: SFNClient,
  executionArn: string,
  mayBeBehind: boolean,
): Promise<DescribeExecutionOutput | undefined> {
  try {
    const execution = await sfn.send(new DescribeExecutionCommand({ executionArn }));
    const lacksOutput = execution.status === 'SUCCEEDED' && execution.output === undefined;
    return lacksOutput && mayBeBehind ? undefined : execution;
  } catch (error) {
    if (error instanceof ExecutionDoesNotExist && mayBeBehind) return undefined;
    throw error;
  }
}

function hasEnded({ status }: DescribeExecutionOutput): boolean {
  return status !== 'RUNNING' && status !== 'PENDING_REDRIVE';
}

function endOf({ name = '', status, error, cause, output }: DescribeExecutionOutput): ExecutionEnd {
  return {
    name,
    status: status ?? '',
    error,
    cause,
    ...(output !== undefined && { output: JSON.parse(output) }),
  };
}

async function progressOf(sfn: SFNClient, executionArn: string): Promise<string> {
  const { mapRuns = [] } = await sfn.send(new ListMapRunsCommand({ executionArn }));
  const mapRunArn = mapRuns[0]?.mapRunArn;
  if (!mapRunArn) return 'planning';
  const { itemCounts } = await sfn.send(new DescribeMapRunCommand({ mapRunArn }));
  return itemCounts
    ? `${itemCounts.succeeded} of ${itemCounts.total} windows have ended, ${itemCounts.running} are under way`
    : 'planning';
}

function leave(executionArn: string, status: number = FAILED): undefined {
  process.stderr.write(`The export goes on without this command: ${executionArn}
`);
  process.exitCode = status;
}

import { setTimeout as wait } from 'node:timers/promises';
import {
  DescribeExecutionCommand,
  type DescribeExecutionOutput,
  DescribeMapRunCommand,
  ListMapRunsCommand,
  SFNClient,
  StartExecutionCommand,
} from '@aws-sdk/client-sfn';
import { OUTPUTS_FILE, readOutput } from './deployed-outputs.ts';
import { executionName } from './execution-name.ts';
import { type ExecutionEnd, type Outcome, outcomeOf } from './outcome.ts';
import { checkRequest, readInput, requestNamed } from './request-source.ts';
import type { RunOptions } from './run-options.ts';
import { FAILED, INTERRUPTED, UsageError } from './usage.ts';

/** DescribeExecution costs nothing; an export takes minutes. */
const FOLLOW_EVERY_MS = 5_000;

/**
 * Starts the export in the deployed state machine, under a name that says what it is, and follows it.
 *
 * @returns undefined where Ctrl-C ended the following; the execution goes on
 */
export async function runDeployed(
  name: string | undefined,
  options: Pick<RunOptions, 'input' | 'stateMachine'>,
  followEvery = FOLLOW_EVERY_MS,
): Promise<Outcome | undefined> {
  const request = await findRequest(name, options);
  const { request: checked } = checkRequest(request);
  const stateMachineArn = options.stateMachine ?? (await readStateMachineArn());
  const sfn = new SFNClient({ region: stateMachineArn.split(':')[3] ?? '' });
  const { executionArn = '' } = await sfn.send(
    new StartExecutionCommand({
      stateMachineArn,
      name: executionName(checked, new Date()),
      input: JSON.stringify(request),
    }),
  );
  process.stderr.write(`started ${executionArn}\n`);
  return follow(sfn, executionArn, followEvery).catch((error) => {
    leave(executionArn);
    throw error;
  });
}

async function findRequest(name: string | undefined, { input }: Pick<RunOptions, 'input'>): Promise<unknown> {
  if ((name === undefined) === (input === undefined)) {
    throw new UsageError(['name an export of the config, or give its request with --input']);
  }
  return input === undefined ? requestNamed(name ?? '') : readInput(input);
}

async function readStateMachineArn(): Promise<string> {
  const arn = await readOutput('stateMachine');
  if (arn) return arn;
  throw new UsageError([
    `${OUTPUTS_FILE} names no state machine: run 'npm run deploy', or give --state-machine`,
  ]);
}

async function follow(sfn: SFNClient, executionArn: string, every: number): Promise<Outcome | undefined> {
  const interrupted = new AbortController();
  const interrupt = () => interrupted.abort();
  process.once('SIGINT', interrupt);
  try {
    for (let before = ''; ; ) {
      const execution = await sfn.send(new DescribeExecutionCommand({ executionArn }));
      if (hasEnded(execution)) return outcomeOf(endOf(execution));
      const now = await progressOf(sfn, executionArn);
      if (now !== before) process.stderr.write(`${now}\n`);
      before = now;
      await wait(every, undefined, { signal: interrupted.signal }).catch(() => undefined);
      if (interrupted.signal.aborted) return leave(executionArn, INTERRUPTED);
    }
  } finally {
    process.off('SIGINT', interrupt);
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

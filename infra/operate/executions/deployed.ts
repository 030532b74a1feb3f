import { type DescribeExecutionOutput, type ExecutionListItem, SFN } from '@aws-sdk/client-sfn';
import { InvalidInput } from '../../../functions/workflow/errors.ts';
import { parseJson } from '../../../functions/workflow/json.ts';
import { isOfAccounts, requestsIn } from '../../../functions/workflow/request/accounts.ts';
import { parseRequest } from '../../../functions/workflow/request/request.ts';
import type { Window } from '../../../functions/workflow/state-parts.ts';
import {
  type AccountEnd,
  type AccountsResult,
  ALREADY_STARTED,
  WindowResult,
} from '../../../functions/workflow/states.ts';
import { readStateMachineArn } from '../place/deployment.ts';
import { createAwsFailure, UsageError } from '../place/errors.ts';
import type { ExecutionEnd } from './outcome.ts';

/** The end of an execution or of a window. */
type ExecutionOutcome = 'running' | 'delivered' | 'failed' | 'stopped' | 'timed_out';

/** One window of an execution. */
export interface WindowRun {
  readonly window: Window;
  readonly outcome: ExecutionOutcome;
  /** Until now, if it is running. */
  readonly seconds: number;
  readonly bytes?: number | undefined;
  readonly rows?: number | undefined;
  readonly key?: string | undefined;
  readonly error?: string | undefined;
}

/** An execution with the outcomes of its windows. */
export type ExplainedExecution = Awaited<ReturnType<typeof explainExecution>>;

/**
 * A client for the Region of an ARN. Its operations allow 250 calls at once, and then 5 or 10 a second: the
 * SDK tries again. A failure is a CommandFailed that names the permission.
 */
export function createStepFunctions(arn: string): SFN {
  const sfn = new SFN({ region: arn.split(':')[3] ?? '', maxAttempts: 10 });
  sfn.middlewareStack.add((next, { commandName = '' }) => async (call) => {
    const operation = commandName.replace(/Command$/, '');
    return next(call).catch((error) => {
      throw createAwsFailure(error, `answer ${operation} for ${arn}`, `states:${operation}`);
    });
  });
  return sfn;
}

export function hasEnded({ status }: DescribeExecutionOutput): boolean {
  return status !== 'RUNNING' && status !== 'PENDING_REDRIVE';
}

/** Finds an execution by its name. @throws UsageError if there is none */
export async function findExecution(name: string): Promise<DescribeExecutionOutput> {
  const stateMachineArn = await readStateMachineArn();
  const executionArn = `${stateMachineArn.replace(':stateMachine:', ':execution:')}:${name}`;
  return createStepFunctions(executionArn)
    .describeExecution({ executionArn })
    .catch((error: Error) => {
      const { name } = Object(error.cause);
      if (!/^(ExecutionDoesNotExist|InvalidArn|ValidationException)$/.test(name)) throw error;
      throw new UsageError([`there is no execution ${executionArn} (${name})`]);
    });
}

export type RunningExecution = Awaited<ReturnType<typeof listRunning>>[number];

/** The executions that run, newest first. */
export async function listRunning() {
  const { sfn, running } = await readRunning();
  const descriptions = running.map(({ executionArn }) => sfn.describeExecution({ executionArn }));
  return (await Promise.all(descriptions)).map(summarize);
}

/** Their names alone need no call for each. */
export async function listRunningNames(): Promise<string[]> {
  const { running } = await readRunning();
  return running.flatMap(({ name }) => name ?? []);
}

async function readRunning() {
  const stateMachineArn = await readStateMachineArn();
  const sfn = createStepFunctions(stateMachineArn);
  return { sfn, running: await listItems(sfn, { stateMachineArn, statusFilter: 'RUNNING' }) };
}

/** Newest first. */
async function listItems(
  sfn: SFN,
  of: Parameters<SFN['paginateListExecutions']>[0],
): Promise<ExecutionListItem[]> {
  const pages = await Array.fromAsync(sfn.paginateListExecutions(of));
  return pages.flatMap(({ executions = [] }) => executions);
}

const OUTCOME_OF_STATUS: Readonly<Record<string, ExecutionOutcome>> = {
  SUCCEEDED: 'delivered',
  FAILED: 'failed',
  ABORTED: 'stopped',
  TIMED_OUT: 'timed_out',
};

/** The fields of its request are absent if the request is faulty. */
function summarize({ name = '', startDate, ...execution }: DescribeExecutionOutput) {
  if (!startDate) throw new TypeError(`Step Functions does not say when ${name} began`);
  const { status = '', stopDate, input, error } = execution;
  return {
    execution: name,
    outcome: OUTCOME_OF_STATUS[status] ?? 'running',
    ...(input !== undefined && describeInput(parseJson(input), startDate)),
    started_at: startDate.toISOString(),
    ended_at: stopDate?.toISOString(),
    /** Until now, if it is running. */
    seconds: secondsBetween(startDate, stopDate),
    error,
  };
}

/** The account or the number of accounts, the export and the days of an execution, from its input. */
function describeInput(
  input: unknown,
  startedAt: Date,
): { account?: string; accounts?: number; export?: string; start_date?: string; end_date?: string } {
  const requests = requestsIn(input);
  const { account, name } = Object(requests[0]);
  const facts = {
    ...(isOfAccounts(input) ? { accounts: requests.length } : typeof account === 'string' && { account }),
    ...(typeof name === 'string' && { export: name }),
  };
  try {
    const { start_date, end_date } = parseRequest(requests[0], startedAt).request;
    return { ...facts, start_date, end_date };
  } catch (error) {
    if (!(error instanceof InvalidInput)) throw error;
    return facts;
  }
}

/** To a tenth of a second. */
function secondsBetween(from: Date, to = new Date()): number {
  return Math.round((to.getTime() - from.getTime()) / 100) / 10;
}

/** Reads the windows of an execution, which are executions too. */
export async function explainExecution(name: string) {
  const execution = await findExecution(name);
  const { executionArn = '' } = execution;
  const sfn = createStepFunctions(executionArn);
  const { mapRuns = [] } = await sfn.listMapRuns({ executionArn });
  const children = await Promise.all(mapRuns.map(({ mapRunArn }) => listItems(sfn, { mapRunArn })));
  const windows = await Promise.all(
    children.flat().map(({ executionArn }) => sfn.describeExecution({ executionArn }).then(readWindow)),
  );
  return {
    summary: summarize(execution),
    end: await readEnd(sfn, execution),
    /** The windows that have begun, the newest days first. */
    windows: windows.sort((first, second) => second.window.start_date.localeCompare(first.window.start_date)),
    /** The page in AWS's console, with every state and its input and output. */
    console: consoleLink(executionArn),
  };
}

/**
 * Reads the end of an execution. Only its history names the accounts, if not all of them were exported. A
 * redrive does not start the execution of an account again, so there `repeated` is a failure.
 */
export async function readEnd(sfn: SFN, execution: DescribeExecutionOutput): Promise<ExecutionEnd> {
  const { executionArn = '', status, input = '', redriveCount = 0 } = execution;
  const output = parseJson(execution.output ?? '');
  const end = { ...execution, output };
  if (!isOfAccounts(parseJson(input)) || !hasEnded(execution)) return end;
  if (status !== 'FAILED') return { ...end, ...(output as Partial<AccountsResult>) };
  const { events = [] } = await sfn.getExecutionHistory({ executionArn, reverseOrder: true, maxResults: 20 });
  const states = events.map(({ stateExitedEventDetails: exited }) => exited);
  const ended = states.find((exited) => exited?.name === 'ExportAccounts');
  const { accounts } = Object(parseJson(ended?.output ?? '')) as Partial<AccountsResult>;
  return { ...end, accounts: redriveCount > 0 ? accounts?.map(failRepeated) : accounts };
}

function failRepeated(end: AccountEnd): AccountEnd {
  return end.outcome === 'repeated' ? { ...end, outcome: 'failed', error: ALREADY_STARTED } : end;
}

/** Other partitions have consoles of their own. */
const CONSOLES: Readonly<Record<string, string>> = {
  'aws-cn': 'amazonaws.cn',
  'aws-us-gov': 'amazonaws-us-gov.com',
};

function consoleLink(executionArn: string): string {
  const [, partition = '', , region] = executionArn.split(':');
  const host = `${region}.console.${CONSOLES[partition] ?? 'aws.amazon.com'}`;
  return `https://${host}/states/home?region=${region}#/v2/executions/details/${executionArn}`;
}

function readWindow(child: DescribeExecutionOutput): WindowRun {
  const { outcome, seconds, error } = summarize(child);
  const { window } = Object(parseJson(child.input ?? '')) as Pick<WindowRun, 'window'>;
  // A window is stopped with its export only.
  if (outcome === 'running' || outcome === 'stopped') return { window, outcome, seconds };
  const { data } = WindowResult.safeParse(parseJson(child.output ?? ''));
  // Without a result of its own, the execution of the window died.
  if (data?.outcome !== 'delivered')
    return { window, outcome: 'failed', seconds, error: data ? data.failure.error : error };
  const { bytes, rows, key } = data;
  return { window, outcome: 'delivered', seconds, bytes, rows, key };
}

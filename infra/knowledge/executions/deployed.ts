import { type DescribeExecutionOutput, type ExecutionListItem, SFN } from '@aws-sdk/client-sfn';
import { parseJson } from '../../../functions/workflow/json.ts';
import type { Window } from '../../../functions/workflow/state-parts.ts';
import { readStateMachineArn } from '../deployment.ts';
import { createAwsFailure, UsageError } from '../errors.ts';
import {
  describeInput,
  type ExecutionSummary,
  type ExplainedExecution,
  outcomeFor,
  plannedWindows,
  readResult,
  secondsBetween,
  unbegun,
  type WindowRun,
} from './executions.ts';

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
  const executionArn = arnOf(await readStateMachineArn(), name);
  return readExecution(createStepFunctions(executionArn), executionArn);
}

function arnOf(stateMachineArn: string, name: string): string {
  return `${stateMachineArn.replace(':stateMachine:', ':execution:')}:${name}`;
}

async function readExecution(sfn: SFN, executionArn: string): Promise<DescribeExecutionOutput> {
  return sfn.describeExecution({ executionArn }).catch((error: Error) => {
    const { name } = Object(error.cause);
    if (!/^(ExecutionDoesNotExist|InvalidArn|ValidationException)$/.test(name)) throw error;
    throw new UsageError([`there is no execution ${executionArn} (${name})`]);
  });
}

export async function findDeployed(stateMachineArn: string) {
  const sfn = createStepFunctions(stateMachineArn);
  return {
    listed: await listDeployed(stateMachineArn, 0),
    find: (execution: string) =>
      readExecution(sfn, arnOf(stateMachineArn, execution)).then(summarize, (error) => {
        if (error instanceof UsageError) return undefined;
        throw error;
      }),
  };
}

/**
 * The executions that run, and the last ones, newest first.
 *
 * @param limit of those that have ended
 */
export async function listDeployed(stateMachineArn: string, limit: number): Promise<ExecutionSummary[]> {
  const sfn = createStepFunctions(stateMachineArn);
  const running = await listItems(sfn, { stateMachineArn, statusFilter: 'RUNNING' });
  // The last ones include the running ones, unless these began long ago.
  const last = limit > 0 ? await listItems(sfn, { stateMachineArn }, limit + running.length) : [];
  const ended = last.filter(({ status }) => status !== 'RUNNING').slice(0, limit);
  const found = [...running, ...ended].map(({ executionArn }) => sfn.describeExecution({ executionArn }));
  return (await Promise.all(found)).map(summarize);
}

/** Newest first. */
async function listItems(
  sfn: SFN,
  of: Parameters<SFN['paginateListExecutions']>[0],
  limit = Number.POSITIVE_INFINITY,
): Promise<ExecutionListItem[]> {
  const items: ExecutionListItem[] = [];
  for await (const { executions = [] } of sfn.paginateListExecutions(of)) {
    items.push(...executions);
    if (items.length >= limit) break;
  }
  return items.slice(0, limit);
}

function summarize(execution: DescribeExecutionOutput): ExecutionSummary {
  const { name = '', status, startDate = new Date(0), stopDate, input, error } = execution;
  return {
    execution: name,
    outcome: outcomeFor(status),
    ...(input !== undefined && describeInput(parseJson(input), startDate)),
    started_at: startDate.toISOString(),
    ended_at: stopDate?.toISOString(),
    seconds: secondsBetween(startDate, stopDate ?? new Date()),
    error,
  };
}

/** An execution with its windows, which are executions too. */
export async function readDeployed(execution: DescribeExecutionOutput): Promise<ExplainedExecution> {
  const { executionArn = '' } = execution;
  const sfn = createStepFunctions(executionArn);
  const summary = summarize(execution);
  const [plan, { mapRuns = [] }] = await Promise.all([
    readPlan(sfn, executionArn),
    sfn.listMapRuns({ executionArn }),
  ]);
  const children = await Promise.all(mapRuns.map(({ mapRunArn }) => listItems(sfn, { mapRunArn })));
  const begun = await Promise.all(
    children.flat().map(({ executionArn }) => sfn.describeExecution({ executionArn }).then(readWindow)),
  );
  const windows = plan.map(
    (window) =>
      begun.find((run) => run.window.start_date === window.start_date) ?? {
        window,
        outcome: unbegun(summary),
      },
  );
  const end = { ...execution, output: parseJson(execution.output ?? '') };
  return { summary, end, windows, console: consoleLink(executionArn) };
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
  const { status, startDate = new Date(0), stopDate, input = '', output = '', error } = child;
  const { window } = Object(parseJson(input)) as Pick<WindowRun, 'window'>;
  const outcome = outcomeFor(status);
  const seconds = secondsBetween(startDate, stopDate ?? new Date());
  // A window is stopped with its export only.
  const isOver = stopDate !== undefined && outcome !== 'stopped';
  return { window, seconds, outcome, ...(isOver && readResult(parseJson(output), error)) };
}

/** @returns none before PlanExport has ended */
async function readPlan(sfn: SFN, executionArn: string): Promise<readonly Window[]> {
  const query = { executionArn, includeExecutionData: true, maxResults: 1_000 };
  for await (const { events = [] } of sfn.paginateGetExecutionHistory(query)) {
    const exited = events.find(({ stateExitedEventDetails: state }) => state?.name === 'PlanExport');
    if (exited) return plannedWindows(parseJson(exited.stateExitedEventDetails?.output ?? ''));
  }
  return [];
}

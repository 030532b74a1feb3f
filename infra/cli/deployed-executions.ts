import {
  DescribeExecutionCommand,
  type DescribeExecutionOutput,
  DescribeMapRunCommand,
  ExecutionDoesNotExist,
  type ExecutionListItem,
  type HistoryEvent,
  ListMapRunsCommand,
  paginateGetExecutionHistory,
  paginateListExecutions,
  type SFNClient,
} from '@aws-sdk/client-sfn';
import { parseJson } from '../../functions/workflow/json.ts';
import type { Window } from '../../functions/workflow/state-parts.ts';
import { createStepFunctions, readStateMachineArn } from './deployed.ts';
import { type CommandFailed, createAwsFailure, UsageError } from './errors.ts';
import {
  describeInput,
  type ExecutionDetails,
  type ExecutionSummary,
  inBatches,
  outcomeFor,
  readSteps,
  type StateEvent,
  secondsBetween,
  type WindowRun,
  withResult,
} from './executions.ts';

const EXECUTION_ARN = /^arn:aws[a-z-]*:states:[a-z0-9-]+:\d{12}:execution:.+:.+$/;

/** Calls at the same time. In most Regions, DescribeExecution allows 250 at once and 10 a second, GetExecutionHistory 250 and 5. */
const DESCRIPTIONS = 10;
const HISTORIES = 5;

/** @param execution a name or an ARN @param instead as in {@link readStateMachineArn}. @throws UsageError */
export async function findExecutionArn(
  execution: string,
  stateMachine: string | undefined,
  instead: string,
): Promise<string> {
  if (EXECUTION_ARN.test(execution)) return execution;
  if (execution.startsWith('arn:')) throw new UsageError([`${execution} is not the ARN of an execution`]);
  const arn = await readStateMachineArn(stateMachine, instead);
  return `${arn.replace(':stateMachine:', ':execution:')}:${execution}`;
}

/** @throws UsageError if there is no such execution */
export async function describeExecution(executionArn: string): Promise<DescribeExecutionOutput> {
  try {
    return await createStepFunctions(executionArn).send(new DescribeExecutionCommand({ executionArn }));
  } catch (error) {
    const name = error instanceof Error ? error.name : '';
    if (!/^(ExecutionDoesNotExist|InvalidArn|ValidationException)$/.test(name))
      throw createAwsFailure(error, `describe ${executionArn}`, 'states:DescribeExecution');
    throw new UsageError([`there is no execution ${executionArn} (${name})`]);
  }
}

/**
 * The executions that run, and the last ones, newest first.
 *
 * @param limit of those that have ended
 */
export async function listDeployed(stateMachineArn: string, limit: number): Promise<ExecutionSummary[]> {
  const sfn = createStepFunctions(stateMachineArn);
  try {
    const running = await listItems(sfn, { stateMachineArn, statusFilter: 'RUNNING' });
    // Those that run are among the last ones too, unless they began long ago.
    const last = await listItems(sfn, { stateMachineArn }, limit + running.length);
    const ended = last.filter(({ status }) => status !== 'RUNNING').slice(0, limit);
    return await inBatches(DESCRIPTIONS, [...running, ...ended], (item) => summarizeItem(sfn, item));
  } catch (error) {
    throw createListFailure(error, stateMachineArn);
  }
}

function createListFailure(error: unknown, stateMachineArn: string): CommandFailed {
  const permissions = 'states:ListExecutions and states:DescribeExecution';
  return createAwsFailure(error, `list the executions of ${stateMachineArn}`, permissions);
}

/** The executions that run, newest first. @throws CommandFailed */
export async function listRunning(stateMachineArn: string): Promise<ExecutionSummary[]> {
  const sfn = createStepFunctions(stateMachineArn);
  try {
    const running = await listItems(sfn, { stateMachineArn, statusFilter: 'RUNNING' });
    return await inBatches(DESCRIPTIONS, running, (item) => summarizeItem(sfn, item));
  } catch (error) {
    throw createListFailure(error, stateMachineArn);
  }
}

/** The name of the execution that began last. @throws UsageError if there is none */
export async function findNewest(stateMachineArn: string): Promise<string> {
  const [newest] = await listDeployed(stateMachineArn, 1);
  if (newest) return newest.execution;
  throw new UsageError(['nothing has run yet']);
}

/** Newest first. */
async function listItems(
  client: SFNClient,
  of: Parameters<typeof paginateListExecutions>[1],
  limit = Number.POSITIVE_INFINITY,
): Promise<ExecutionListItem[]> {
  const items: ExecutionListItem[] = [];
  for await (const { executions = [] } of paginateListExecutions({ client }, of)) {
    items.push(...executions);
    if (items.length >= limit) break;
  }
  return items.slice(0, limit);
}

async function summarizeItem(sfn: SFNClient, item: ExecutionListItem): Promise<ExecutionSummary> {
  const describe = new DescribeExecutionCommand({ executionArn: item.executionArn });
  const description = await sfn.send(describe).catch((error: unknown) => {
    // It may have been deleted since, or may not be visible yet.
    if (error instanceof ExecutionDoesNotExist) return item;
    throw error;
  });
  return summarize(description);
}

export function summarize(execution: ExecutionListItem | DescribeExecutionOutput): ExecutionSummary {
  const { name = '', status, startDate = new Date(0), stopDate } = execution;
  const { input, error } = execution as DescribeExecutionOutput;
  return {
    execution: name,
    outcome: outcomeFor(status),
    ...(input !== undefined && describeInput(parseJson(input), startDate)),
    started_at: startDate.toISOString(),
    ...(stopDate && { ended_at: stopDate.toISOString() }),
    seconds: secondsBetween(startDate, stopDate ?? new Date()),
    ...(error !== undefined && { error }),
  };
}

/** An execution with the times of its states and windows, from the histories of its executions. */
export async function readDeployed(execution: DescribeExecutionOutput): Promise<ExecutionDetails> {
  const { executionArn = '', stopDate = new Date() } = execution;
  const sfn = createStepFunctions(executionArn);
  try {
    const history = await readHistory(sfn, executionArn, true);
    const planned = history.find(({ stateExitedEventDetails: exited }) => exited?.name === 'PlanExport');
    const { windows: plan = [] } = Object(parseJson(planned?.stateExitedEventDetails?.output ?? '')) as {
      windows?: Window[];
    };
    const runs = await readWindows(sfn, executionArn);
    const waiting = plan.filter(
      ({ start_date }) => !runs.some(({ window }) => window.start_date === start_date),
    );
    return {
      summary: summarize(execution),
      end: { ...execution, output: parseJson(execution.output ?? '') },
      steps: readSteps(toStateEvents(history), stopDate.toISOString()),
      windows: [...runs, ...waiting.map((window) => ({ window, outcome: 'waiting', steps: [] }) as const)],
    };
  } catch (error) {
    const permissions =
      'states:GetExecutionHistory, states:ListMapRuns, states:DescribeMapRun, states:ListExecutions and states:DescribeExecution';
    throw createAwsFailure(error, `read the history of ${executionArn}`, permissions);
  }
}

/** The executions of an execution's windows. @throws what the SDK throws */
export async function listChildren(sfn: SFNClient, executionArn: string, running = false) {
  const { mapRuns = [] } = await sfn.send(new ListMapRunsCommand({ executionArn }));
  const filter = running ? ({ statusFilter: 'RUNNING' } as const) : {};
  const children = mapRuns.map(async ({ mapRunArn = '' }) => listItems(sfn, { mapRunArn, ...filter }));
  return {
    mapRunArns: mapRuns.map(({ mapRunArn }) => mapRunArn),
    children: (await Promise.all(children)).flat(),
  };
}

/** Without histories, the windows have no steps. @throws what the SDK throws */
export async function readWindows(
  sfn: SFNClient,
  executionArn: string,
  histories = true,
): Promise<WindowRun[]> {
  const { mapRunArns, children } = await listChildren(sfn, executionArn);
  const [mapRunArn] = mapRunArns;
  if (mapRunArn === undefined) return [];
  const { startDate: begun } = await sfn.send(new DescribeMapRunCommand({ mapRunArn }));
  const runs = await inBatches(HISTORIES, children, (child) => readWindow(sfn, child, begun, histories));
  return runs.sort((one, other) => one.window.start_date.localeCompare(other.window.start_date));
}

async function readWindow(
  sfn: SFNClient,
  { executionArn = '' }: ExecutionListItem,
  begun: Date | undefined,
  histories: boolean,
): Promise<WindowRun> {
  const child = await sfn.send(new DescribeExecutionCommand({ executionArn }));
  const { startDate = new Date(0), stopDate = new Date(), status, error } = child;
  const history = histories ? await readHistory(sfn, executionArn, false) : [];
  const { window } = Object(parseJson(child.input ?? '')) as { window: Window };
  return withResult(parseJson(child.output ?? ''), {
    window,
    outcome: outcomeFor(status),
    ...(begun && { waited_seconds: secondsBetween(begun, startDate) }),
    seconds: secondsBetween(startDate, stopDate),
    ...(error !== undefined && { error }),
    steps: readSteps(toStateEvents(history), stopDate.toISOString()),
  });
}

async function readHistory(
  client: SFNClient,
  executionArn: string,
  includeExecutionData: boolean,
): Promise<HistoryEvent[]> {
  const query = { executionArn, includeExecutionData, maxResults: 1_000 };
  const pages = await Array.fromAsync(paginateGetExecutionHistory({ client }, query));
  return pages.flatMap(({ events = [] }) => events);
}

/** The events of a Lambda or a task name no state; they belong to the one that was entered last. */
function toStateEvents(events: readonly HistoryEvent[]): StateEvent[] {
  let scheduled = 0;
  return events.flatMap((event): StateEvent[] => {
    const { type = '', timestamp = new Date(0) } = event;
    const time = timestamp.toISOString();
    const [, stateType, change] = /^(\w+)(StateEntered|StateExited)$/.exec(type) ?? [];
    if (change !== undefined) {
      scheduled = 0;
      const state = (event.stateEnteredEventDetails ?? event.stateExitedEventDetails)?.name;
      return [{ type: change, time, state, stateType }];
    }
    if (type === 'LambdaFunctionScheduled' || type === 'TaskScheduled') {
      scheduled += 1;
      return scheduled > 1 ? [{ type: 'StateRetried', time }] : [];
    }
    const isFailure = /^(LambdaFunction|Task).*(Failed|TimedOut)$/.test(type);
    return isFailure ? [{ type: 'StateFailed', time, error: errorOf(event) }] : [];
  });
}

/** Each type of failure has its own field of details. */
function errorOf(event: HistoryEvent): string {
  const errors = Object.values(event).map((details) => Object(details).error);
  return errors.find((error) => typeof error === 'string') ?? event.type ?? '';
}

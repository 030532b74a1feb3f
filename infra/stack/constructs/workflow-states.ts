import { Duration } from 'aws-cdk-lib';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import * as sfn from 'aws-cdk-lib/aws-stepfunctions';
import { EventBridgePutEvents, LambdaInvoke } from 'aws-cdk-lib/aws-stepfunctions-tasks';
import type { Construct } from 'constructs';
import type { ErrorName } from '../../../functions/workflow/errors.ts';
import type { Invocation } from '../../../functions/workflow/step.ts';
import type { StepName } from '../config/memory.ts';
import { retries } from './retries.ts';

export const EVENT_SOURCE = 'ad-report-export';

/** The 15 minutes that a Lambda function may run, and one more for Step Functions to learn how it ended. */
const TASK_TIMEOUT = Duration.minutes(16);

const ANNOUNCE_TIMEOUT = Duration.minutes(1);

/** Where the state machine puts an error that it caught. */
export const CAUGHT = '$.caught';

/** States that run a step under another name. */
const STEP_OF_STATE = {
  GetWindowToken: 'GetToken',
  RenewToken: 'GetToken',
  DescribeWindowFailure: 'DescribeFailure',
} as const satisfies Record<string, StepName>;

/** Steps that GET a report. They look at redrives, so that no GET comes early (contract 4.4). */
const GETS_REPORT: readonly StepName[] = ['CheckReport', 'SaveReport'];

export type StepFunctions = Readonly<Record<StepName, IFunction>>;

interface Invoked {
  readonly functions: StepFunctions;
  /** The next state after these errors, such as errors that a new token or a fresh URL cures. */
  readonly except?: { readonly [error in ErrorName]?: sfn.IChainable };
  /** The next state after any other error. */
  readonly failed?: sfn.IChainable;
  /** The place of the result in the state. Default: it replaces the state. */
  readonly resultPath?: string;
}

/** A state that runs a step. Its output is exactly what the handler returns. */
export function invoke(
  scope: Construct,
  id: StepName | keyof typeof STEP_OF_STATE,
  props: Invoked,
): LambdaInvoke {
  const step = id in STEP_OF_STATE ? STEP_OF_STATE[id as keyof typeof STEP_OF_STATE] : (id as StepName);
  const task = new LambdaInvoke(scope, id, {
    lambdaFunction: props.functions[step],
    payloadResponseOnly: true,
    ...(props.resultPath !== undefined && { resultPath: props.resultPath }),
    // The default Retry would repeat POST /reports, and a GET after 2 s.
    retryOnServiceExceptions: false,
    taskTimeout: sfn.Timeout.duration(TASK_TIMEOUT),
    payload: sfn.TaskInput.fromObject({
      state: sfn.JsonPath.entirePayload,
      retry_count: sfn.JsonPath.numberAt('$$.State.RetryCount'),
      ...(GETS_REPORT.includes(step) && {
        redrive_count: sfn.JsonPath.numberAt('$$.Execution.RedriveCount'),
      }),
    } satisfies Partial<Record<keyof Invocation, unknown>>),
  });
  for (const retry of retries[step]) task.addRetry(retry);
  for (const [error, next] of Object.entries(props.except ?? {}))
    task.addCatch(next, { errors: [error], resultPath: CAUGHT });
  return props.failed ? catchAll(task, props.failed) : task;
}

/** May send events of this source only, so that a changed definition cannot speak for another one. */
class OwnEvents extends EventBridgePutEvents {
  constructor(...task: ConstructorParameters<typeof EventBridgePutEvents>) {
    super(...task);
    for (const policy of this.taskPolicies ?? [])
      policy.addCondition('ForAllValues:StringEquals', { 'events:source': EVENT_SOURCE });
  }
}

/** A state that sends an event. It passes its input on, so an execution's output is its event. */
export function announce(
  scope: Construct,
  id: string,
  detailType: string,
  detail: string,
): sfn.TaskStateBase {
  const task = new OwnEvents(scope, id, {
    entries: [{ source: EVENT_SOURCE, detailType, detail: sfn.TaskInput.fromJsonPathAt(detail) }],
    taskTimeout: sfn.Timeout.duration(ANNOUNCE_TIMEOUT),
    resultPath: sfn.JsonPath.DISCARD,
  });
  for (const retry of retries.Announce) task.addRetry(retry);
  return task;
}

/** Keeps the state's input beside the error, so that the failure can be described with its ids. */
export function catchAll<T extends sfn.TaskStateBase | sfn.Map | sfn.DistributedMap>(
  state: T,
  failed: sfn.IChainable,
): T {
  state.addCatch(failed, { resultPath: CAUGHT });
  return state;
}

import { Duration } from 'aws-cdk-lib';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import * as sfn from 'aws-cdk-lib/aws-stepfunctions';
import { EventBridgePutEvents, LambdaInvoke } from 'aws-cdk-lib/aws-stepfunctions-tasks';
import type { Construct } from 'constructs';
import type { ErrorName } from '../../functions/workflow/errors.ts';
import type { WindowState } from '../../functions/workflow/states.ts';
import type { Invocation } from '../../functions/workflow/step.ts';
import { retries } from './retries.ts';

/** The steps, each a function of its own. */
export type StepName = Exclude<keyof typeof retries, 'Announce'>;

export const EVENT_SOURCE = 'ad-report-export';

/** The longest a Lambda function can run, and a minute for Step Functions to hear of its end. */
const TASK_TIMEOUT = Duration.minutes(16);

/** Where the state machine puts the failure that led to a state. */
const CAUGHT = '$.caught';

interface StepProps {
  readonly function: IFunction;
  /** The step whose handler it is, where the state bears another name. */
  readonly step?: StepName;
  /** Errors that a renewal or a replacement cures, and the state that leads there. */
  readonly curable?: { readonly errors: ErrorName[]; readonly next: sfn.IChainable };
  /** Where every other failure leads. */
  readonly failed?: sfn.IChainable;
}

/** A step's state: what the handler returns is what the next state gets, and only retries.ts repeats it. */
export function invoke(scope: Construct, id: string, props: StepProps): LambdaInvoke {
  const task = new LambdaInvoke(scope, id, {
    lambdaFunction: props.function,
    payloadResponseOnly: true,
    // Its default would repeat POST /reports, and a GET after 2 s.
    retryOnServiceExceptions: false,
    taskTimeout: sfn.Timeout.duration(TASK_TIMEOUT),
    payload: sfn.TaskInput.fromObject({
      state: sfn.JsonPath.entirePayload,
      retry_count: sfn.JsonPath.numberAt('$$.State.RetryCount'),
    } satisfies Record<keyof Invocation, unknown>),
  });
  for (const retry of retries[props.step ?? (id as StepName)]) task.addRetry(retry);
  if (props.curable) task.addCatch(props.curable.next, { errors: props.curable.errors, resultPath: CAUGHT });
  if (props.failed) catchAll(task, props.failed);
  return task;
}

/** Tells EventBridge. The state's output is its input: what is announced is also how the execution ends. */
export function announce(
  scope: Construct,
  id: string,
  detailType: string,
  detail: string,
): EventBridgePutEvents {
  const task = new EventBridgePutEvents(scope, id, {
    entries: [{ source: EVENT_SOURCE, detailType, detail: sfn.TaskInput.fromJsonPathAt(detail) }],
    taskTimeout: sfn.Timeout.duration(Duration.minutes(1)),
    resultPath: sfn.JsonPath.DISCARD,
  });
  for (const retry of retries.Announce) task.addRetry(retry);
  return task;
}

/** Keeps the state's input, so that what failed can be described with its ids. */
export function catchAll<T extends sfn.TaskStateBase | sfn.DistributedMap>(
  state: T,
  failed: sfn.IChainable,
): T {
  state.addCatch(failed, { resultPath: CAUGHT });
  return state;
}

export function is(status: WindowState['status']): sfn.Condition {
  return sfn.Condition.stringEquals('$.status', status);
}

export function isKind(kind: WindowState['request']['kind']): sfn.Condition {
  return sfn.Condition.stringEquals('$.request.kind', kind);
}

export function caught(error: ErrorName): sfn.Condition {
  return sfn.Condition.and(
    sfn.Condition.isPresent(CAUGHT),
    sfn.Condition.stringEquals(`${CAUGHT}.Error`, error),
  );
}

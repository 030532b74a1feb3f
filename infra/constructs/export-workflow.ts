import { Duration } from 'aws-cdk-lib';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import * as sfn from 'aws-cdk-lib/aws-stepfunctions';
import { EventBridgePutEvents, LambdaInvoke } from 'aws-cdk-lib/aws-stepfunctions-tasks';
import { Construct } from 'constructs';
import type { ErrorName } from '../../functions/workflow/errors.ts';
import type { WindowState } from '../../functions/workflow/states.ts';
import { POLL_SECONDS, retries } from './retries.ts';

/** The steps, each a function of its own. */
export type StepName =
  | 'PlanExport'
  | 'GetToken'
  | 'CreateReport'
  | 'CheckReport'
  | 'SaveReport'
  | 'PublishWindow'
  | 'PublishExport'
  | 'DescribeFailure';

export const EVENT_SOURCE = 'ad-report-export';

/**
 * The slowest window ends after about 4 h (three reports of 30 min, and every retry used up); with one at a time, 100
 * windows that all go as badly end in 17 days. A year is what Standard allows.
 */
const EXECUTION_TIMEOUT = Duration.days(20);

/** The longest a Lambda function can run, and a minute for Step Functions to hear of its end. */
const TASK_TIMEOUT = Duration.minutes(16);

export interface ExportWorkflowProps extends Partial<sfn.StateMachineProps> {
  readonly functions: Readonly<Record<StepName, IFunction>>;
}

/** The picture: an export, and within it one child execution per window, in the order in which they run. */
export class ExportWorkflow extends Construct {
  readonly stateMachine: sfn.StateMachine;
  private readonly functions: ExportWorkflowProps['functions'];

  constructor(scope: Construct, id: string, { functions, ...props }: ExportWorkflowProps) {
    super(scope, id);
    this.functions = functions;
    const failed = this.failed();

    const definition = this.step('PlanExport', failed, {
      payload: sfn.TaskInput.fromObject({
        'request.$': '$',
        'execution.$': '$$.Execution.Name',
        'started_at.$': '$$.Execution.StartTime',
      }),
    })
      .next(this.exportWindows(failed))
      .next(this.step('PublishExport', failed))
      .next(this.announce('AnnounceExport', 'Report Exported', '$').addCatch(failed, { resultPath: '$.caught' }))
      .next(new sfn.Succeed(this, 'Exported'));

    this.stateMachine = new sfn.StateMachine(this, 'StateMachine', {
      definitionBody: sfn.DefinitionBody.fromChainable(definition),
      stateMachineType: sfn.StateMachineType.STANDARD,
      timeout: EXECUTION_TIMEOUT,
      tracingEnabled: true,
      ...props,
    });
  }

  /** One child execution per window: a history holds 25,000 events, and one window may need 2,000 of them. */
  private exportWindows(failed: sfn.IChainable): sfn.DistributedMap {
    const windows = new sfn.DistributedMap(this, 'ExportWindows', {
      itemsPath: '$.windows',
      maxConcurrencyPath: '$.request.max_parallel',
      mapExecutionType: sfn.StateMachineType.STANDARD,
      itemSelector: {
        'execution.$': '$.execution',
        'request.$': '$.request',
        'warnings.$': '$.warnings',
        'window.$': '$$.Map.Item.Value',
        status: 'planned' satisfies WindowState['status'],
        wait_seconds: POLL_SECONDS,
        reports: [],
      },
      resultPath: '$.results',
    });
    windows.itemProcessor(this.exportWindow());
    return windows.addCatch(failed, { resultPath: '$.caught' });
  }

  /**
   * What one window goes through. Every way to a GET of a report leads over WaitForReport, so two of them are never
   * less than 10 s apart; a refused token and an expired URL take that way too.
   */
  private exportWindow(): sfn.IChainable {
    const windowFailed = this.step('DescribeWindowFailure', undefined, {}, 'DescribeFailure');
    const wait = new sfn.Wait(this, 'WaitForReport', { time: sfn.WaitTime.secondsPath('$.wait_seconds') });
    const whatNext = new sfn.Choice(this, 'WhatNext');
    const isSaved = new sfn.Choice(this, 'IsSaved');

    const getToken = this.step('GetToken', windowFailed);
    const createReport = this.step('CreateReport', windowFailed, {}, 'CreateReport', wait);
    const checkReport = this.step('CheckReport', windowFailed, {}, 'CheckReport', wait);
    const saveReport = this.step('SaveReport', windowFailed, {}, 'SaveReport', wait);

    whatNext
      .when(caught('TokenRefused'), getToken)
      .when(caught('UrlExpired'), createReport)
      .when(is('pending'), checkReport)
      .when(is('ready'), saveReport)
      .otherwise(createReport);
    isSaved.when(is('saved'), this.step('PublishWindow', windowFailed)).otherwise(wait);

    createReport.next(wait);
    checkReport.next(wait);
    saveReport.next(isSaved);
    wait.next(whatNext);
    return getToken.next(whatNext);
  }

  /** Any failure of the export: described, announced, and only then the end. */
  private failed(): sfn.IChainable {
    const end = new sfn.Fail(this, 'ExportFailed', { errorPath: '$.failure.error', causePath: '$.cause' });
    const announce = this.announce('AnnounceFailure', 'Report Export Failed', '$.failure');
    return this.step('DescribeFailure', undefined, {
      payload: sfn.TaskInput.fromObject({ 'input.$': '$', 'execution.$': '$$.Execution.Name' }),
    })
      .next(announce.addCatch(end, { resultPath: '$.caught' }))
      .next(end);
  }

  /**
   * A step's state. What the handler returns is what the next state gets; nothing but the Retry written in
   * retries.ts repeats it.
   *
   * @param onRefused where a refused token or an expired URL leads, for a step that calls the platform
   */
  private step(
    id: string,
    failed: sfn.IChainable | undefined,
    props: { readonly payload?: sfn.TaskInput } = {},
    name: StepName = id as StepName,
    onRefused?: sfn.IChainable,
  ): LambdaInvoke {
    const task = new LambdaInvoke(this, id, {
      lambdaFunction: this.functions[name],
      payloadResponseOnly: true,
      retryOnServiceExceptions: false,
      taskTimeout: sfn.Timeout.duration(TASK_TIMEOUT),
      ...props,
    });
    for (const retry of retries[name]) task.addRetry(retry);
    if (onRefused) {
      const errors: ErrorName[] = ['TokenRefused', 'UrlExpired'];
      task.addCatch(onRefused, { errors, resultPath: '$.caught' });
    }
    if (failed) task.addCatch(failed, { resultPath: '$.caught' });
    return task;
  }

  private announce(id: string, detailType: string, detail: string): EventBridgePutEvents {
    const task = new EventBridgePutEvents(this, id, {
      entries: [{ source: EVENT_SOURCE, detailType, detail: sfn.TaskInput.fromJsonPathAt(detail) }],
      taskTimeout: sfn.Timeout.duration(Duration.minutes(1)),
      resultPath: sfn.JsonPath.DISCARD,
    });
    for (const retry of retries.Announce) task.addRetry(retry);
    return task;
  }
}

function is(status: WindowState['status']): sfn.Condition {
  return sfn.Condition.stringEquals('$.status', status);
}

function caught(error: ErrorName): sfn.Condition {
  return sfn.Condition.and(
    sfn.Condition.isPresent('$.caught'),
    sfn.Condition.stringEquals('$.caught.Error', error),
  );
}

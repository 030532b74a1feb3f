import { Duration } from 'aws-cdk-lib';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import * as sfn from 'aws-cdk-lib/aws-stepfunctions';
import { Construct } from 'constructs';
import type { WindowState } from '../../functions/workflow/states.ts';
import { POLL_SECONDS } from './retries.ts';
import { announce, catchAll, caught, invoke, is, isKind, type StepName } from './workflow-states.ts';

/**
 * A window ends within 24 h whatever happens, so 100 of them, one at a time, end within 100 days; nearly all do within
 * minutes. A year is what Standard allows.
 */
const EXECUTION_TIMEOUT = Duration.days(100);

/** Where a window starts. */
const PLANNED = {
  status: 'planned',
  wait_seconds: POLL_SECONDS,
  throttled: 0,
  reports: [],
} as const satisfies Partial<WindowState>;

export interface ExportWorkflowProps extends Partial<sfn.StateMachineProps> {
  readonly functions: Readonly<Record<StepName, IFunction>>;
}

/** The picture: an export, and within it one child execution per window, in the order in which they run. */
export class ExportWorkflow extends Construct {
  readonly stateMachine: sfn.StateMachine;

  constructor(scope: Construct, id: string, { functions, ...props }: ExportWorkflowProps) {
    super(scope, id);
    this.stateMachine = new sfn.StateMachine(this, 'StateMachine', {
      definitionBody: sfn.DefinitionBody.fromChainable(this.export(functions)),
      stateMachineType: sfn.StateMachineType.STANDARD,
      timeout: EXECUTION_TIMEOUT,
      tracingEnabled: true,
      ...props,
    });
  }

  /**
   * Whatever fails is described, announced, and only then ends the execution. A token is got before any window starts:
   * a dead credential costs one request for all of them.
   */
  private export(functions: ExportWorkflowProps['functions']): sfn.IChainable {
    // An input that is no object would leave a Catch nowhere to put the error.
    const take = new sfn.Pass(this, 'TakeRequest', {
      parameters: {
        'request.$': '$',
        'execution.$': '$$.Execution.Name',
        'started_at.$': '$$.Execution.StartTime',
      },
    });
    const describe = invoke(this, 'DescribeFailure', { function: functions.DescribeFailure });
    const plan = invoke(this, 'PlanExport', { function: functions.PlanExport, failed: describe });
    const getToken = invoke(this, 'GetToken', { function: functions.GetToken, failed: describe });
    const windows = catchAll(this.windows(functions), describe);
    const publish = invoke(this, 'PublishExport', { function: functions.PublishExport, failed: describe });
    const announceExport = catchAll(announce(this, 'AnnounceExport', 'Report Exported', '$'), describe);

    const announceFailure = announce(this, 'AnnounceFailure', 'Report Export Failed', '$.failure');
    // A redrive of the failed execution fails again with the same failure; `resume` exports what is missing.
    const fail = new sfn.Fail(this, 'ExportFailed', {
      errorPath: '$.failure.error',
      causePath: '$.cause',
    });
    describe.next(catchAll(announceFailure, fail)).next(fail);

    // An export that asks only for what is missing may find nothing to do, and then asks nothing of the platform.
    const isAnyMissing = new sfn.Choice(this, 'IsAnyMissing')
      .when(sfn.Condition.isPresent('$.windows[0]'), getToken)
      .otherwise(publish);
    getToken.next(windows).next(publish).next(announceExport).next(new sfn.Succeed(this, 'Exported'));
    return take.next(plan).next(isAnyMissing);
  }

  /**
   * One child execution per window: a history holds 25,000 events, and one window may need 2,000 of them. One that dies
   * without a result must not stop the others: PublishExport misses it (see outcomes.ts).
   */
  private windows(functions: ExportWorkflowProps['functions']): sfn.DistributedMap {
    const windows = new sfn.DistributedMap(this, 'ExportWindows', {
      itemsPath: '$.windows',
      maxConcurrencyPath: '$.request.max_parallel',
      mapExecutionType: sfn.StateMachineType.STANDARD,
      toleratedFailurePercentage: 100,
      itemSelector: {
        'execution.$': '$.execution',
        'request.$': '$.request',
        'warnings.$': '$.warnings',
        'window.$': '$$.Map.Item.Value',
        ...PLANNED,
      },
      resultPath: '$.results',
    });
    return windows.itemProcessor(this.window(functions));
  }

  /**
   * What one window goes through. Every way to a GET of a report leads over WaitForReport, so two of them are never
   * less than 10 s apart; a refused token and an expired URL take that way too. A window that fails ends as a result,
   * so that the others go on. It starts hours after the export did, or not: the token is looked at again.
   */
  private window(functions: ExportWorkflowProps['functions']): sfn.IChainable {
    const failed = invoke(this, 'DescribeWindowFailure', {
      function: functions.DescribeFailure,
      step: 'DescribeFailure',
    });
    const wait = new sfn.Wait(this, 'WaitForReport', { time: sfn.WaitTime.secondsPath('$.wait_seconds') });
    const calls = { curable: { errors: ['TokenRefused' as const], next: wait }, failed };
    const fetches = {
      curable: { errors: ['TokenRefused' as const, 'UrlExpired' as const], next: wait },
      failed,
    };

    const getWindowToken = invoke(this, 'GetWindowToken', {
      function: functions.GetToken,
      step: 'GetToken',
      failed,
    });
    const createReport = invoke(this, 'CreateReport', { function: functions.CreateReport, ...calls });
    const checkReport = invoke(this, 'CheckReport', { function: functions.CheckReport, ...calls });
    const saveReport = invoke(this, 'SaveReport', { function: functions.SaveReport, ...fetches });
    const queryPurchases = invoke(this, 'QueryPurchases', { function: functions.QueryPurchases, ...calls });
    const exportList = invoke(this, 'ExportList', { function: functions.ExportList, ...calls });
    const publishWindow = invoke(this, 'PublishWindow', { function: functions.PublishWindow, failed });

    const whatNext = new sfn.Choice(this, 'WhatNext')
      .when(caught('TokenRefused'), getWindowToken)
      .when(caught('UrlExpired'), checkReport)
      .when(isKind('purchases'), queryPurchases)
      .when(isKind('list'), exportList)
      .when(is('planned'), createReport)
      .when(is('pending'), checkReport)
      .when(is('ready'), saveReport);

    getWindowToken.next(whatNext);
    createReport.next(wait);
    wait.next(whatNext);
    checkReport.next(wait);
    const isSaved = new sfn.Choice(this, 'IsSaved').when(is('saved'), publishWindow).otherwise(wait);
    for (const delivery of [saveReport, queryPurchases, exportList]) delivery.next(isSaved);
    return getWindowToken;
  }
}

import { RemovalPolicy } from 'aws-cdk-lib';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import * as sfn from 'aws-cdk-lib/aws-stepfunctions';
import { Construct } from 'constructs';
import type { ErrorName } from '../../../functions/workflow/errors.ts';
import { ALL } from '../../../functions/workflow/request/report.ts';
import type { WindowState } from '../../../functions/workflow/states.ts';
import { type Config, executionLogsOf } from '../config/config.ts';
import {
  allowChildExecutions,
  EXECUTION_TIMEOUT,
  exportAccounts,
  exportWindows,
} from './child-executions.ts';
import { announce, CAUGHT, catchAll, invoke, type StepFunctions } from './workflow-states.ts';

const { and, isPresent, stringEquals } = sfn.Condition;
const ADVERTISERS = '$.request.advertiser_ids';
const isForAllAdvertisers = and(isPresent(ADVERTISERS), stringEquals(ADVERTISERS, ALL));
const is = (status: WindowState['status']) => stringEquals('$.status', status);
const isKind = (kind: WindowState['request']['kind']) => stringEquals('$.request.kind', kind);
const isRedriven = sfn.Condition.numberGreaterThan('$$.Execution.RedriveCount', 0);
const caught = (error: ErrorName) => and(isPresent(CAUGHT), stringEquals(`${CAUGHT}.Error`, error));

interface ExportWorkflowProps extends Partial<sfn.StateMachineProps> {
  readonly functions: StepFunctions;
}

/** The state machine: its states in the order in which they run. What each state retries is in retries.ts. */
export class ExportWorkflow extends Construct {
  readonly stateMachine: sfn.StateMachine;

  constructor(scope: Construct, id: string, { functions, ...props }: ExportWorkflowProps) {
    super(scope, id);
    this.stateMachine = new sfn.StateMachine(this, 'StateMachine', {
      definitionBody: sfn.DefinitionBody.fromChainable(this.exportStates(functions)),
      stateMachineType: sfn.StateMachineType.STANDARD,
      timeout: EXECUTION_TIMEOUT,
      tracingEnabled: true,
      ...props,
    });
    allowChildExecutions(this.stateMachine);
  }

  /**
   * One export. GetToken comes before the windows, so a dead credential costs one request and not one per
   * window. One list of all advertisers serves every window; it may take several calls. An export with
   * `only_missing` may have no window to export; it sends no request to the platform.
   */
  private exportStates(functions: StepFunctions): sfn.IChainable {
    const failed = this.failureStates(functions);

    // Wraps the input: a Catch could not add the error to an input that is not an object.
    const takeRequest = new sfn.Pass(this, 'TakeRequest', {
      parameters: {
        'request.$': '$',
        'execution.$': '$$.Execution.Name',
        'started_at.$': '$$.Execution.StartTime',
      },
    });
    const planExport = invoke(this, 'PlanExport', { functions, failed });
    const isAnyMissing = new sfn.Choice(this, 'IsAnyMissing');
    const getToken = invoke(this, 'GetToken', { functions, failed });
    const isForAll = new sfn.Choice(this, 'IsForAll');
    const listAdvertisers = invoke(this, 'ListAdvertisers', {
      functions,
      failed,
      except: { TokenRefused: getToken },
    });
    const areAdvertisersListed = new sfn.Choice(this, 'AreAdvertisersListed');
    const waitForAdvertisers = new sfn.Wait(this, 'WaitForAdvertisers', {
      time: sfn.WaitTime.secondsPath('$.listing.wait_seconds'),
    });
    const accountExports = catchAll(exportAccounts(this), failed);
    const areAllExported = new sfn.Choice(this, 'AreAllExported');
    const accountsFailed = new sfn.Fail(this, 'AccountsFailed', {
      error: 'ExportIncomplete' satisfies ErrorName,
      cause: 'Not all accounts were exported. The command explain names those that failed.',
    });
    const accountsNotRestarted = new sfn.Fail(this, 'AccountsNotRestarted', {
      error: 'ExportIncomplete' satisfies ErrorName,
      cause:
        'A redrive does not start the execution of an account again. The command explain names the accounts ' +
        'that had been started before, and resume exports what they did not deliver.',
    });
    const windowExports = catchAll(exportWindows(this, this.windowStates(functions)), failed);
    const publishExport = invoke(this, 'PublishExport', { functions, failed });
    const announceExport = catchAll(announce(this, 'AnnounceExport', 'Report Exported', '$'), failed);
    const exported = new sfn.Succeed(this, 'Exported');

    takeRequest.next(planExport).next(isAnyMissing);
    isAnyMissing
      .when(isPresent('$.accounts'), accountExports)
      .when(isPresent('$.windows[0]'), getToken)
      .otherwise(publishExport);
    accountExports.next(areAllExported);
    areAllExported
      .when(sfn.Condition.booleanEquals('$.has_failed', true), accountsFailed)
      // A second start by EventBridge Scheduler finds the same, and there the first one exports the accounts.
      .when(and(sfn.Condition.booleanEquals('$.has_repeated', true), isRedriven), accountsNotRestarted)
      .otherwise(exported);
    getToken.next(isForAll);
    isForAll.when(isForAllAdvertisers, listAdvertisers).otherwise(windowExports);
    listAdvertisers.next(areAdvertisersListed);
    areAdvertisersListed.when(isPresent('$.listing'), waitForAdvertisers).otherwise(windowExports);
    waitForAdvertisers.next(listAdvertisers);
    windowExports.next(publishExport).next(announceExport).next(exported);
    return takeRequest;
  }

  /** A failed export is announced before it fails. A redrive fails again; `resume` does not. */
  private failureStates(functions: StepFunctions): sfn.IChainable {
    const describeFailure = invoke(this, 'DescribeFailure', { functions });
    const announceFailure = announce(this, 'AnnounceFailure', 'Report Export Failed', '$.failure');
    const exportFailed = new sfn.Fail(this, 'ExportFailed', {
      errorPath: '$.failure.error',
      causePath: '$.cause',
    });

    describeFailure.next(catchAll(announceFailure, exportFailed)).next(exportFailed);
    return describeFailure;
  }

  /**
   * One window. Every way to a GET of a report leads through WaitForReport, so two GETs are at least 10 s
   * apart, also after a refused token or an expired URL. GetWindowToken checks the token again because a
   * window may start hours after its export, and RenewToken replaces a refused one. A failed window ends with
   * a result, so that the other windows continue.
   */
  private windowStates(functions: StepFunctions): sfn.IChainable {
    const failed = invoke(this, 'DescribeWindowFailure', { functions });
    const wait = new sfn.Wait(this, 'WaitForReport', { time: sfn.WaitTime.secondsPath('$.wait_seconds') });
    // It sets the shortest wait: an earlier 429 may have set 15 minutes.
    const renewToken = invoke(this, 'RenewToken', { functions, failed });
    const calls = { functions, failed, except: { TokenRefused: renewToken } };
    const downloads = { ...calls, except: { ...calls.except, UrlExpired: wait } };

    const getWindowToken = invoke(this, 'GetWindowToken', { functions, failed });
    const whatNext = new sfn.Choice(this, 'WhatNext');
    const createReport = invoke(this, 'CreateReport', calls);
    const checkReport = invoke(this, 'CheckReport', calls);
    const saveReport = invoke(this, 'SaveReport', downloads);
    const queryPurchases = invoke(this, 'QueryPurchases', calls);
    const exportList = invoke(this, 'ExportList', calls);
    const isSaved = new sfn.Choice(this, 'IsSaved');
    const publishWindow = invoke(this, 'PublishWindow', { functions, failed });
    // The raw file is delivered even if CurateReport dies; PublishWindow then adds a warning.
    const curateReport = invoke(this, 'CurateReport', {
      functions,
      failed: publishWindow,
      except: { DownloadRefused: failed },
    });
    const isCurated = new sfn.Choice(this, 'IsCurated');

    getWindowToken.next(whatNext);
    whatNext
      // Gives the report up, without a GET.
      .when(caught('UrlExpired'), checkReport)
      .when(isKind('purchases'), queryPurchases)
      .when(isKind('list'), exportList)
      .when(is('planned'), createReport)
      .when(is('pending'), checkReport)
      .when(is('ready'), saveReport);
    for (const state of [renewToken, createReport, checkReport]) state.next(wait);
    wait.next(whatNext);
    for (const delivery of [saveReport, queryPurchases, exportList]) delivery.next(isSaved);
    isSaved.when(is('saved'), curateReport).otherwise(isCurated);
    curateReport.next(isCurated);
    isCurated.when(is('curated'), publishWindow).otherwise(wait);
    return getWindowToken;
  }
}

/**
 * Logs every event of every execution without its input and output. Groups under `/aws/vendedlogs/` do not
 * use up the limited size of the account's resource policy for log deliveries.
 */
export function createExecutionLogs(
  scope: Construct,
  id: string,
  { stack, log_retention_days: retention }: Config,
  encryptionKey?: IKey,
): sfn.LogOptions {
  const destination = new LogGroup(scope, id, {
    logGroupName: executionLogsOf(stack),
    retention,
    ...(encryptionKey && { encryptionKey }),
    // The name is fixed, so a group left over from a deleted stack would block the next deployment.
    removalPolicy: RemovalPolicy.DESTROY,
  });
  return { destination, level: sfn.LogLevel.ALL, includeExecutionData: false };
}

import { Duration } from 'aws-cdk-lib';
import { type IMetric, MathExpression } from 'aws-cdk-lib/aws-cloudwatch';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import type { IStateMachine } from 'aws-cdk-lib/aws-stepfunctions';
import { apiKeyUses, retriesOf, tableProblems } from './export-metrics.ts';
import type { StepName } from './retries.ts';
import type { StepFunctions } from './workflow-states.ts';

const PERIOD = Duration.minutes(5);

/** Retries outlast short throttling. Three periods (15 minutes) of it delay exports. */
const LASTING = 3;

/**
 * Steps whose throttling raises an alarm: those that windows run, many at a time. GetToken is throttled by design,
 * because it runs one at a time. An alarm accepts ten metrics.
 */
const WATCH_THROTTLING: Readonly<Record<StepName, boolean>> = {
  PlanExport: false,
  GetToken: false,
  CreateReport: true,
  CheckReport: true,
  SaveReport: true,
  QueryPurchases: true,
  ExportList: true,
  CurateReport: true,
  PublishWindow: true,
  PublishExport: false,
  DescribeFailure: false,
};

export interface AlarmSources {
  readonly stateMachine: IStateMachine;
  readonly functions: StepFunctions;
  /** The requests that schedules could not start. */
  readonly deadLetterQueue: IQueue;
  readonly hasTables: boolean;
}

/** Raises an alarm at a value of 1 or more. */
export interface AlarmCondition {
  readonly metric: IMetric;
  /** One or two sentences for the person on call. */
  readonly description: string;
  /** Periods in a row; 1 by default. */
  readonly periods?: number;
  /** Raises the alarm at values below 1, and when there is no data. */
  readonly below?: boolean;
}

/** The alarms of a stack, by name. Each has a section in the runbook. */
export function alarmConditions(
  { stateMachine, functions, deadLetterQueue, hasTables }: AlarmSources,
  stack: string,
): Readonly<Record<string, AlarmCondition>> {
  const period = PERIOD;
  return {
    ExportsFailed: {
      metric: stateMachine.metricFailed({ period }),
      description: 'An export failed: at least one of its windows was not delivered.',
    },
    ExportsTimedOut: {
      metric: stateMachine.metricTimedOut({ period }),
      description: 'An export was still running when it reached its time limit.',
    },
    ExportsThrottled: {
      metric: stateMachine.metricThrottled({ period }),
      description: 'Step Functions has throttled state transitions for 15 minutes.',
      periods: LASTING,
    },
    FunctionsThrottled: {
      metric: sumOfThrottles(functions),
      description: 'Lambda has throttled functions for 15 minutes.',
      periods: LASTING,
    },
    ExportsNotStarted: {
      metric: deadLetterQueue.metricApproximateNumberOfMessagesVisible({ period, statistic: 'Maximum' }),
      description:
        'A schedule could not start its export within an hour. The request is in the dead-letter queue.',
    },
    ReportsResubmitted: {
      metric: retriesOf('ReportResubmitted', { stack, period }),
      description: 'A report was stuck for 30 minutes or unusable, so another one was created.',
    },
    TokensRefused: {
      metric: retriesOf('TokenRefused', { stack, period }),
      description: 'The platform refused an access token that should have been valid.',
    },
    ...(hasTables && {
      TableProblems: {
        metric: tableProblems({ stack, period }),
        description: 'A report was delivered, but its days are missing in the table.',
      },
    }),
    LegacyKeyInUse: {
      metric: apiKeyUses({ stack, period: Duration.days(1) }),
      description: 'An account still uses an API key, which the platform disables on 2027-01-01.',
    },
  };
}

/** A function that was not called has no data, and SUM without FILL would then have none either. */
function sumOfThrottles(functions: StepFunctions): MathExpression {
  const steps = (Object.keys(functions) as StepName[]).filter((step) => WATCH_THROTTLING[step]);
  const metrics = steps.map((step, at) => [`f${at}`, functions[step].metricThrottles()]);
  return new MathExpression({
    expression: 'SUM(FILL(METRICS(), 0))',
    usingMetrics: Object.fromEntries(metrics),
    period: PERIOD,
  });
}

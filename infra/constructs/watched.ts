import { Duration } from 'aws-cdk-lib';
import { type IMetric, MathExpression } from 'aws-cdk-lib/aws-cloudwatch';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import type { IStateMachine } from 'aws-cdk-lib/aws-stepfunctions';
import { legacyKeys, retriesOf } from './export-metrics.ts';
import type { StepName } from './workflow-states.ts';

const SOON = Duration.minutes(5);

/** Throttling that passes is waited for; what lasts for three times five minutes delays exports. */
const LASTING = 3;

/** What windows call, whatever they export. GetToken is throttled by design, one at a time. */
const CALLED_BY_WINDOWS = [
  'CreateReport',
  'CheckReport',
  'SaveReport',
  'QueryPurchases',
  'ExportList',
  'PublishWindow',
] as const;

export interface WatchedParts {
  readonly stateMachine: IStateMachine;
  readonly functions: Readonly<Record<StepName, IFunction>>;
  /** The dead-letter queue of the schedules. */
  readonly unstarted: IQueue;
}

/** An alarm, but for what all have in common: at least one of something. */
export interface Watched {
  readonly metric: IMetric;
  readonly means: string;
  /** In a row; 1 by default. */
  readonly periods?: number;
  /** That there is none, is the alarm. */
  readonly missing?: boolean;
}

/** What somebody is told of, by the alarm's name. */
export function watched({ stateMachine, functions, unstarted }: WatchedParts, stack: string) {
  const soon = { stack, period: SOON };
  return {
    ExportsFailed: {
      metric: stateMachine.metricFailed({ period: SOON }),
      means: 'An export ended without all of its windows.',
    },
    ExportsTimedOut: {
      metric: stateMachine.metricTimedOut({ period: SOON }),
      means: 'An export was still running after the longest time that it may take.',
    },
    ExportsThrottled: {
      metric: stateMachine.metricThrottled({ period: SOON }),
      means: 'Step Functions has held back state transitions for 15 minutes.',
      periods: LASTING,
    },
    FunctionsThrottled: {
      metric: throttles(functions),
      means: 'Lambda has refused to start functions for 15 minutes.',
      periods: LASTING,
    },
    ExportsNotStarted: {
      metric: unstarted.metricApproximateNumberOfMessagesVisible({ period: SOON, statistic: 'Maximum' }),
      means:
        'A schedule could not start its export within the hour; the request is in the dead-letter queue.',
    },
    ReportsResubmitted: {
      metric: retriesOf('ReportResubmitted', soon),
      means: 'A report was stuck for 30 minutes or of no use, and another one was created in its place.',
    },
    TokensRefused: {
      metric: retriesOf('TokenRefused', soon),
      means: 'The platform refused an access token that should still have been valid.',
    },
    LegacyKeyInUse: {
      metric: legacyKeys({ stack, period: Duration.days(1) }),
      means: 'An account still uses an API key, which the platform disables on 2027-01-01.',
    },
  } as const satisfies Record<string, Watched>;
}

/**
 * An alarm takes ten metrics at most. A function that was not called has no data, and without FILL a sum would have none
 * then: CheckReport may be throttled while nothing is there to be saved.
 */
function throttles(functions: WatchedParts['functions']): MathExpression {
  const metrics = CALLED_BY_WINDOWS.map((step, at) => [`f${at}`, functions[step].metricThrottles()] as const);
  return new MathExpression({
    expression: 'SUM(FILL(METRICS(), 0))',
    usingMetrics: Object.fromEntries(metrics),
    period: SOON,
  });
}

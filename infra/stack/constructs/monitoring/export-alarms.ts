import { Duration } from 'aws-cdk-lib';
import { Alarm, type IMetric, MathExpression, Metric, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import type { ITopic } from 'aws-cdk-lib/aws-sns';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import type { IStateMachine } from 'aws-cdk-lib/aws-stepfunctions';
import { Construct } from 'constructs';
import { type MetricName, NAMESPACE } from '../../../../functions/aws/measure.ts';
import { BETWEEN_CHECKS } from '../../../../functions/check-ready.ts';
import { runbookLink } from '../../../../functions/decisions/failure-report.ts';
import type { Config } from '../../config/config.ts';

const PERIOD = Duration.minutes(5);

/** A late run is counted again with each check. Twice the time between them, so that the alarm stays on. */
const LATE_PERIOD = Duration.seconds(2 * BETWEEN_CHECKS);

interface ExportAlarmsProps {
  readonly config: Config;
  readonly stateMachine: IStateMachine;
  /** Undefined if no run has a time by which it must be ready. */
  readonly readyChecks: IStateMachine | undefined;
  /** The requests that schedules could not start. */
  readonly deadLetterQueue: IQueue;
  readonly topic: ITopic;
}

/** Notifies the topic. Each alarm's description says what happened and links to the runbook. */
export class ExportAlarms extends Construct {
  constructor(scope: Construct, id: string, props: ExportAlarmsProps) {
    super(scope, id);
    const { stack, runbook_url } = props.config;
    const action = new SnsAction(props.topic);
    for (const [name, { metric, description }] of Object.entries(alarmConditions(props))) {
      const alarm = new Alarm(this, name, {
        alarmName: `${stack}-${name}`,
        alarmDescription: `${description} What to do: ${runbookLink(name, runbook_url)}`,
        metric,
        threshold: 1,
        evaluationPeriods: 1,
        treatMissingData: TreatMissingData.NOT_BREACHING,
      });
      alarm.addAlarmAction(action);
      alarm.addOkAction(action);
    }
  }
}

/** Alarms by name, with a sentence or two for the person on call. The runbook has a section of each name. */
function alarmConditions(props: ExportAlarmsProps): Record<string, { metric: IMetric; description: string }> {
  const { stateMachine, readyChecks, deadLetterQueue } = props;
  const { stack, tables } = props.config;
  return {
    ExportsFailed: {
      metric: stateMachine.metricFailed({ period: PERIOD }),
      description: 'An export failed: at least one of its windows was not delivered.',
    },
    ExportsTimedOut: {
      metric: stateMachine.metricTimedOut({ period: PERIOD }),
      description: 'An export was still running when it reached its time limit.',
    },
    ExportsNotStarted: {
      metric: deadLetterQueue.metricApproximateNumberOfMessagesVisible({ period: PERIOD }),
      description:
        'A schedule could not start its export within an hour. The request is in the dead-letter queue.',
    },
    ...(readyChecks && {
      ReportsLate: {
        metric: new MathExpression({
          expression: 'SUM(FILL(METRICS(), 0))',
          usingMetrics: {
            late: stackMetric('LateAccounts', stack),
            failed: readyChecks.metricFailed(),
            timedOut: readyChecks.metricTimedOut(),
          },
          period: LATE_PERIOD,
        }),
        description: 'A run had not delivered when it was due, or nobody could check. A message names it.',
      },
    }),
    ...(tables && {
      TableProblems: {
        metric: stackMetric('TableProblems', stack),
        description: 'A report was delivered, but its days are missing in the table.',
      },
      DaysHeld: {
        metric: stackMetric('DaysHeld', stack),
        description: 'A report has no rows for days that had some. The table keeps the rows.',
      },
    }),
  };
}

/** A metric of measure.ts. */
function stackMetric(metricName: MetricName, stack: string): Metric {
  return new Metric({
    namespace: NAMESPACE,
    metricName,
    dimensionsMap: { service: stack },
    statistic: 'Sum',
    period: PERIOD,
  });
}

import { Duration, Stack } from 'aws-cdk-lib';
import {
  Alarm,
  type AlarmProps,
  ComparisonOperator,
  type IMetric,
  TreatMissingData,
} from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import type { ITopic } from 'aws-cdk-lib/aws-sns';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import type { IStateMachine } from 'aws-cdk-lib/aws-stepfunctions';
import { Construct } from 'constructs';
import { runbookLink } from '../../../functions/decisions/failure-report.ts';
import type { RetryKind } from '../../../functions/workflow/measure.ts';
import type { ConfiguredExport, ConfiguredRun } from '../../config/exports.ts';
import { nextStarts } from '../../config/schedule.ts';
import { freshDeliveriesOf, metricOf } from './export-metrics.ts';

/** A scheduled export delivers in four hours: three reports of 30 minutes, and the waits between. */
const MARGIN_HOURS = 4;

/** A schedule that starts more often may miss some starts. */
const SHORTEST_HOURS = 24;

/** Starts of a schedule between which the longest time counts: those of a week, if there is one each hour. */
const STARTS = 200;

const HOUR_MS = 60 * 60 * 1000;

/** CloudWatch alarms with a period of an hour evaluate seven days at most. */
const LONGEST_HOURS = 7 * 24;

const period = Duration.minutes(5);

interface AlarmCondition extends Partial<AlarmProps> {
  readonly metric: IMetric;
  /** One or two sentences for the person on call. */
  readonly description: string;
}

interface ExportAlarmsProps {
  readonly exports: readonly ConfiguredExport[];
  readonly stateMachine: IStateMachine;
  /** The requests that schedules could not start. */
  readonly deadLetterQueue: IQueue;
  readonly hasTables: boolean;
  readonly topic: ITopic;
  readonly runbookUrl: string | undefined;
}

/** Notifies the topic. Each alarm's description says what happened and links to the runbook. */
export class ExportAlarms extends Construct {
  constructor(scope: Construct, id: string, props: ExportAlarmsProps) {
    super(scope, id);
    const stack = Stack.of(this).stackName;
    for (const [name, condition] of Object.entries(alarmConditions(props, stack)))
      this.alarm(name, condition, props);
    for (const configured of props.exports) this.freshnessAlarm(configured, stack, props);
  }

  /**
   * @param name the heading of the alarm's section in the runbook, followed by `-` and the export if each
   *   export has this alarm
   */
  private alarm(name: string, condition: AlarmCondition, { topic, runbookUrl }: ExportAlarmsProps): void {
    const { description, ...props } = condition;
    const [section = name] = name.split('-');
    const alarm = new Alarm(this, name, {
      alarmName: `${Stack.of(this).stackName}-${name}`,
      alarmDescription: `${description} What to do: ${runbookLink(section, runbookUrl)}`,
      threshold: 1,
      evaluationPeriods: 1,
      treatMissingData: TreatMissingData.NOT_BREACHING,
      ...props,
    });
    alarm.addAlarmAction(new SnsAction(topic));
    alarm.addOkAction(new SnsAction(topic));
  }

  /** One alarm for both, a missing delivery and one without recent rows: a stack may have 500 resources. */
  private freshnessAlarm(configured: ConfiguredExport, stack: string, props: ExportAlarmsProps): void {
    const { account, name, runs } = configured;
    const [overdue] = runs.flatMap(overdueAfter).toSorted((one, other) => one.hours - other.hours);
    if (!overdue) return;
    const { hours, run } = overdue;
    const condition = {
      metric: freshDeliveriesOf(configured, run, { stack, period: Duration.hours(1) }),
      description: `Export ${name} of account ${account} has delivered no fresh data for ${hours} hours.`,
      evaluationPeriods: hours,
      comparisonOperator: ComparisonOperator.LESS_THAN_THRESHOLD,
      treatMissingData: TreatMissingData.BREACHING,
    };
    this.alarm(`NoFreshData-${account}.${name}`, condition, props);
  }
}

/**
 * Hours without a delivery after which a run is overdue; nothing without a schedule that is enabled, and
 * where CloudWatch does not look back far enough.
 */
function overdueAfter(run: ConfiguredRun) {
  if (!run.schedule?.enabled) return [];
  const starts = nextStarts(run.schedule, STARTS);
  const gaps = starts.slice(1).map((at, before) => (at - (starts[before] ?? at)) / HOUR_MS);
  const hours = Math.max(SHORTEST_HOURS, ...gaps) + MARGIN_HOURS;
  return hours <= LONGEST_HOURS ? [{ run, hours }] : [];
}

/** The alarms of a stack, by name. Each has a section in the runbook. */
function alarmConditions(
  { stateMachine, deadLetterQueue, hasTables }: ExportAlarmsProps,
  stack: string,
): Readonly<Record<string, AlarmCondition>> {
  return {
    ExportsFailed: {
      metric: stateMachine.metricFailed({ period }),
      description: 'An export failed: at least one of its windows was not delivered.',
    },
    ExportsTimedOut: {
      metric: stateMachine.metricTimedOut({ period }),
      description: 'An export was still running when it reached its time limit.',
    },
    ExportsNotStarted: {
      metric: deadLetterQueue.metricApproximateNumberOfMessagesVisible({ period, statistic: 'Maximum' }),
      description:
        'A schedule could not start its export within an hour. The request is in the dead-letter queue.',
    },
    ReportsResubmitted: {
      metric: metricOf('Retries', { kind: 'ReportResubmitted' satisfies RetryKind }, { stack, period }),
      description: 'A report was stuck for 30 minutes or unusable, so another one was created.',
    },
    TokensRefused: {
      metric: metricOf('Retries', { kind: 'TokenRefused' satisfies RetryKind }, { stack, period }),
      description: 'The platform refused an access token that should have been valid.',
    },
    ...(hasTables && {
      TableProblems: {
        metric: metricOf('TableProblems', {}, { stack, period }),
        description: 'A report was delivered, but its days are missing in the table.',
      },
      DaysHeld: {
        metric: metricOf('DaysHeld', {}, { stack, period }),
        description: 'A report has no rows for days that had some. The table keeps the rows.',
      },
    }),
  };
}

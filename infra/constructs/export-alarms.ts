import { Duration, Stack } from 'aws-cdk-lib';
import { Alarm, ComparisonOperator, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import type { ITopic } from 'aws-cdk-lib/aws-sns';
import { Construct } from 'constructs';
import { runbookLink } from '../../functions/decisions/failure-report.ts';
import type { ConfiguredExport } from '../config.ts';
import { longestGap } from '../schedule-gap.ts';
import { deliveriesOf } from './export-metrics.ts';
import { type Watched, type WatchedParts, watched } from './watched.ts';

/** How long after its start a scheduled export may deliver: three reports of 30 min, and what is waited for in between. */
const MARGIN_HOURS = 4;

/** CloudWatch looks back seven days at most, at periods of an hour. */
const LONGEST_HOURS = 7 * 24;

interface ExportAlarmsProps extends WatchedParts {
  readonly exports: readonly ConfiguredExport[];
  readonly topic: ITopic;
  readonly runbookUrl: string | undefined;
}

/** Tells the topic what needs a person; each alarm says what it means, and has its section in the runbook. */
export class ExportAlarms extends Construct {
  constructor(scope: Construct, id: string, props: ExportAlarmsProps) {
    super(scope, id);
    const stack = Stack.of(this).stackName;
    for (const [name, each] of Object.entries(watched(props, stack))) this.alarm(name, name, each, props);
    for (const each of props.exports) this.expectDeliveries(each, stack, props);
  }

  private alarm(
    name: string,
    section: string,
    each: Watched,
    { topic, runbookUrl }: ExportAlarmsProps,
  ): void {
    const { metric, means, periods = 1, missing = false } = each;
    const alarm = new Alarm(this, name, {
      alarmName: `${Stack.of(this).stackName}-${name}`,
      alarmDescription: `${means} What to do: ${runbookLink(section, runbookUrl)}`,
      metric,
      evaluationPeriods: periods,
      threshold: 1,
      comparisonOperator: missing
        ? ComparisonOperator.LESS_THAN_THRESHOLD
        : ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
      treatMissingData: missing ? TreatMissingData.BREACHING : TreatMissingData.NOT_BREACHING,
    });
    alarm.addAlarmAction(new SnsAction(topic));
  }

  private expectDeliveries(each: ConfiguredExport, stack: string, props: ExportAlarmsProps): void {
    const hours = overdueAfter(each);
    if (hours === undefined) return;
    const expected = {
      metric: deliveriesOf(each, { stack, period: Duration.hours(1) }),
      means: `Export ${each.name} of account ${each.account} has delivered nothing for ${hours} hours.`,
      periods: hours,
      missing: true,
    };
    this.alarm(`NothingDelivered-${each.account}.${each.name}`, 'NothingDelivered', expected, props);
  }
}

/**
 * Hours without a delivery after which a scheduled export is missed; undefined where it has no schedule, or one that is
 * too seldom for CloudWatch to notice that nothing came.
 */
export function overdueAfter({ schedule }: ConfiguredExport): number | undefined {
  const gap = schedule && longestGap(schedule.expression);
  if (gap === undefined) return undefined;
  const hours = Math.ceil(gap / 60) + MARGIN_HOURS;
  return hours <= LONGEST_HOURS ? hours : undefined;
}

import { Duration, Stack } from 'aws-cdk-lib';
import { Dashboard, GraphWidget, MathExpression, Row, TextWidget } from 'aws-cdk-lib/aws-cloudwatch';
import type { IStateMachine } from 'aws-cdk-lib/aws-stepfunctions';
import { Construct } from 'constructs';
import type { MetricName } from '../../functions/workflow/measure.ts';
import type { ConfiguredExport } from '../config.ts';
import { overdueAfter } from './export-alarms.ts';
import { every } from './export-metrics.ts';

/** Exports run by the hour or the day. */
const PERIOD = Duration.hours(1);

const EXPORT = ['account', 'export'];

/** A third of a row, which is 24 wide. */
const WIDTH = 8;

interface ExportDashboardProps {
  readonly stateMachine: IStateMachine;
  readonly exports: readonly ConfiguredExport[];
}

/** What was delivered, how fresh and how soon, and what went wrong. Each export is a line by itself, as soon as it has run. */
export class ExportDashboard extends Construct {
  constructor(scope: Construct, id: string, { stateMachine, exports }: ExportDashboardProps) {
    super(scope, id);
    const { stackName } = Stack.of(this);
    const dashboard = new Dashboard(this, 'Dashboard', {
      dashboardName: stackName,
      defaultInterval: Duration.days(7),
    });
    const graph = (title: string, metric: MetricName, by: readonly string[], ...statistics: string[]) =>
      new GraphWidget({
        title,
        width: WIDTH,
        left: statistics.map((statistic) => series(metric, by, statistic, stackName)),
      });
    dashboard.addWidgets(
      new Row(
        graph('Windows delivered', 'Deliveries', EXPORT, 'Sum'),
        graph('Freshness: age of the newest day delivered, s', 'Freshness', EXPORT, 'Minimum'),
        graph('Time to READY, p50 and p95, s', 'TimeToReady', EXPORT, 'p50', 'p95'),
      ),
      new Row(
        graph('Bytes', 'Bytes', EXPORT, 'Sum'),
        graph('Rows', 'Rows', EXPORT, 'Sum'),
        graph('Windows delivered empty', 'EmptyDeliveries', EXPORT, 'Sum'),
      ),
      new Row(
        graph('Retries by kind', 'Retries', ['kind'], 'Sum'),
        graph('Failures by error', 'Failures', ['error'], 'Sum'),
        new GraphWidget({
          title: 'Exports',
          width: WIDTH,
          left: [
            stateMachine.metricSucceeded({ period: PERIOD }),
            stateMachine.metricFailed({ period: PERIOD }),
            stateMachine.metricTimedOut({ period: PERIOD }),
          ],
        }),
      ),
      new TextWidget({ width: 24, height: 2, markdown: unwatched(exports) }),
    );
  }
}

/** CloudWatch fills each line's own dimensions into the label. */
function series(metric: MetricName, by: readonly string[], statistic: string, stack: string): MathExpression {
  return new MathExpression({
    expression: every(metric, by, statistic, { stack, period: PERIOD }),
    label: [
      ...by.map((name) => `\${PROP('Dim.${name}')}`),
      ...(statistic.startsWith('p') ? [statistic] : []),
    ].join(' '),
    usingMetrics: {},
    period: PERIOD,
  });
}

/** Nobody is told of what CloudWatch cannot notice, so this says which exports that are. */
function unwatched(exports: readonly ConfiguredExport[]): string {
  const names = exports
    .filter((each) => each.schedule && overdueAfter(each) === undefined)
    .map(({ account, name }) => `${account}.${name}`);
  return names.length === 0
    ? 'Every scheduled export has an alarm that tells when nothing was delivered.'
    : `No alarm tells when nothing was delivered by ${names.join(', ')}: the schedule is too seldom for CloudWatch.`;
}

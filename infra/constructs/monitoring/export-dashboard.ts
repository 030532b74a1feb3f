import { Duration, Stack } from 'aws-cdk-lib';
import { Dashboard, GraphWidget, MathExpression } from 'aws-cdk-lib/aws-cloudwatch';
import type { IStateMachine } from 'aws-cdk-lib/aws-stepfunctions';
import { Construct } from 'constructs';
import type { MetricName } from '../../../functions/workflow/measure.ts';
import { searchFor } from './export-metrics.ts';

/** Exports run hourly at most. */
const PERIOD = Duration.hours(1);

/** A third of a row. */
const WIDTH = 8;

interface Graph {
  readonly title: string;
  /** Dimensions; the graph has a line for each combination of their values. */
  readonly by: readonly string[];
  readonly statistics: readonly string[];
}

const EXPORT = ['account', 'export'];

/** Three graphs per row, in this order. */
const GRAPHS: Readonly<Record<MetricName, Graph>> = {
  Deliveries: { title: 'Windows delivered', by: EXPORT, statistics: ['Sum'] },
  Freshness: { title: 'Age of the newest day with rows, s', by: EXPORT, statistics: ['Minimum'] },
  TimeToReady: { title: 'Time to READY, p50 and p95, s', by: EXPORT, statistics: ['p50', 'p95'] },
  Bytes: { title: 'Bytes', by: EXPORT, statistics: ['Sum'] },
  Rows: { title: 'Rows', by: EXPORT, statistics: ['Sum'] },
  EmptyDeliveries: { title: 'Windows delivered empty', by: EXPORT, statistics: ['Sum'] },
  DaysRestated: { title: 'Days restated', by: EXPORT, statistics: ['Sum'] },
  TableProblems: { title: 'Windows missing in their table', by: [], statistics: ['Sum'] },
  DaysHeld: { title: 'Days held', by: [], statistics: ['Sum'] },
  Retries: { title: 'Retries by kind', by: ['kind'], statistics: ['Sum'] },
  Failures: { title: 'Failures by error', by: ['error'], statistics: ['Sum'] },
};

interface ExportDashboardProps {
  readonly stateMachine: IStateMachine;
}

/** Shows deliveries, freshness, durations, retries and failures. An export appears after its first run. */
export class ExportDashboard extends Construct {
  constructor(scope: Construct, id: string, { stateMachine }: ExportDashboardProps) {
    super(scope, id);
    const { stackName, region } = Stack.of(this);
    const metrics = Object.entries(GRAPHS) as [MetricName, Graph][];
    const graphs = metrics.map(([metric, graph]) => widget(metric, graph, stackName));
    const executions = new GraphWidget({
      title: 'Exports',
      width: WIDTH,
      left: [
        stateMachine.metricSucceeded({ period: PERIOD }),
        stateMachine.metricFailed({ period: PERIOD }),
        stateMachine.metricTimedOut({ period: PERIOD }),
      ],
    });
    new Dashboard(this, 'Dashboard', {
      // Dashboards have no Region: their names are unique in an AWS account.
      dashboardName: `${stackName}-${region}`,
      defaultInterval: Duration.days(7),
    }).addWidgets(...graphs, executions);
  }
}

function widget(metric: MetricName, { title, by, statistics }: Graph, stack: string): GraphWidget {
  const left = statistics.map((statistic) => {
    // CloudWatch replaces ${PROP('Dim.…')} by the dimension's value.
    const dimensions = by.map((name) => `\${PROP('Dim.${name}')}`);
    return new MathExpression({
      expression: searchFor(metric, by, statistic, { stack, period: PERIOD }),
      label: [...dimensions, ...(statistic.startsWith('p') ? [statistic] : [])].join(' ') || title,
      usingMetrics: {},
      period: PERIOD,
    });
  });
  return new GraphWidget({ title, width: WIDTH, left });
}

import type { Duration } from 'aws-cdk-lib';
import { MathExpression, Metric } from 'aws-cdk-lib/aws-cloudwatch';
import { type MetricName, NAMESPACE, type RetryKind } from '../../functions/workflow/measure.ts';
import type { ConfiguredExport } from '../config.ts';

/** What functions/workflow/measure.ts measures, as alarms read it. The dimensions must be all that it writes. */

interface Of {
  /** The dimension `service`. */
  readonly stack: string;
  readonly period: Duration;
}

/**
 * What arrived of one export, 0 where nothing did. Unfilled, CloudWatch would take an older delivery for each of the
 * periods that have none.
 */
export function deliveriesOf({ account, name }: ConfiguredExport, of: Of): MathExpression {
  const deliveries = metric('Deliveries', { account, export: name }, of);
  return new MathExpression({
    expression: 'FILL(deliveries, 0)',
    usingMetrics: { deliveries },
    period: of.period,
  });
}

export function retriesOf(kind: RetryKind, of: Of): Metric {
  return metric('Retries', { kind }, of);
}

export function legacyKeys(of: Of): Metric {
  return metric('ApiKeyDaysLeft', {}, of).with({ statistic: 'SampleCount' });
}

function metric(metricName: MetricName, dimensions: Readonly<Record<string, string>>, { stack, period }: Of) {
  return new Metric({
    namespace: NAMESPACE,
    metricName,
    dimensionsMap: { service: stack, ...dimensions },
    statistic: 'Sum',
    period,
  });
}

/**
 * Every series of a metric that has these dimensions, whatever their values: the account, export, error or kind.
 *
 * @param statistic such as `Sum` or `p95`
 */
export function every(
  metricName: MetricName,
  dimensions: readonly string[],
  statistic: string,
  { stack, period }: Of,
): string {
  const schema = [NAMESPACE, 'service', ...dimensions].join(',');
  const search = `{${schema}} MetricName="${metricName}" service="${stack}"`;
  return `SEARCH('${search}', '${statistic}', ${period.toSeconds()})`;
}

import type { Duration } from 'aws-cdk-lib';
import { MathExpression, Metric } from 'aws-cdk-lib/aws-cloudwatch';
import { type MetricName, NAMESPACE, type RetryKind } from '../../functions/workflow/measure.ts';
import type { ConfiguredExport } from '../config.ts';

// The metrics of functions/workflow/measure.ts. CloudWatch finds a metric only by all of its dimensions.

interface MetricScope {
  /** The dimension `service`. */
  readonly stack: string;
  readonly period: Duration;
}

/** Deliveries of one export. Without FILL, CloudWatch would use an older value for a period without data. */
export function deliveriesOf({ account, name }: ConfiguredExport, of: MetricScope): MathExpression {
  const deliveries = metric('Deliveries', { account, export: name }, of);
  return new MathExpression({
    expression: 'FILL(deliveries, 0)',
    usingMetrics: { deliveries },
    period: of.period,
  });
}

export function retriesOf(kind: RetryKind, of: MetricScope): Metric {
  return metric('Retries', { kind }, of);
}

export function apiKeyUses(of: MetricScope): Metric {
  return metric('ApiKeyDaysLeft', {}, of).with({ statistic: 'SampleCount' });
}

function metric(
  metricName: MetricName,
  dimensions: Readonly<Record<string, string>>,
  { stack, period }: MetricScope,
) {
  return new Metric({
    namespace: NAMESPACE,
    metricName,
    dimensionsMap: { service: stack, ...dimensions },
    statistic: 'Sum',
    period,
  });
}

/**
 * A search expression for a metric with any values of these dimensions.
 *
 * @param statistic such as `Sum` or `p95`
 */
export function searchFor(
  metricName: MetricName,
  dimensions: readonly string[],
  statistic: string,
  { stack, period }: MetricScope,
): string {
  const schema = [NAMESPACE, 'service', ...dimensions].join(',');
  const search = `{${schema}} MetricName="${metricName}" service="${stack}"`;
  return `SEARCH('${search}', '${statistic}', ${period.toSeconds()})`;
}

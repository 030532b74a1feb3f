import { Duration } from 'aws-cdk-lib';
import { MathExpression, Metric } from 'aws-cdk-lib/aws-cloudwatch';
import { type MetricName, NAMESPACE } from '../../../functions/workflow/measure.ts';
import type { ConfiguredExport, ConfiguredRun } from '../../config/exports.ts';

// The metrics of functions/workflow/measure.ts. CloudWatch finds a metric only by all of its dimensions.

interface MetricScope {
  /** The dimension `service`. */
  readonly stack: string;
  readonly period: Duration;
}

/** Campaigns may pause on a weekend: on Monday morning, Friday's rows are two days and some hours old. */
const STALE_AFTER_DAYS = 3;

/** A run on the last day of a month delivers the month before. */
const LONGEST_MONTH = 31;

/**
 * 1 in a period in which the export delivered fresh data, otherwise less. Rows of unknown age are fresh. A run
 * that looks back for less than STALE_AFTER_DAYS may cover a weekend, so it may have no rows.
 *
 * Between two series, CloudWatch takes a missing value as 0, so an export that never had an empty delivery or
 * rows of a known age is right too. Without FILL, it would use an older value for a period without deliveries.
 * If there never was one, there is no value, and the alarm goes off as well.
 */
export function freshDeliveriesOf(
  { account, name }: ConfiguredExport,
  { request: { period } }: ConfiguredRun,
  of: MetricScope,
): MathExpression {
  const dimensions = { account, export: name };
  const isMonth = period === 'previous_month';
  const [, days = 0] = /^last_(\d+)_days$/.exec(String(period)) ?? [];
  const mayBeEmpty = !isMonth && Number(days) < STALE_AFTER_DAYS;
  const maxAge = Duration.days(STALE_AFTER_DAYS + (isMonth ? LONGEST_MONTH : 0)).toSeconds();
  const counted = mayBeEmpty ? 'FILL(deliveries, 0)' : '(FILL(deliveries, 0) - empty)';
  return new MathExpression({
    expression: `(${counted} >= 1) - (age > ${maxAge})`,
    usingMetrics: {
      deliveries: metricOf('Deliveries', dimensions, of),
      // The newest data counts: a backfill in the same period is older.
      age: metricOf('Freshness', dimensions, of).with({ statistic: 'Minimum' }),
      ...(!mayBeEmpty && { empty: metricOf('EmptyDeliveries', dimensions, of) }),
    },
    period: of.period,
  });
}

export function metricOf(
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

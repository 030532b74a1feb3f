import { Metrics } from '@aws-lambda-powertools/metrics';
import { METRICS, type Measurement, type MetricName, NAMESPACE } from '../workflow/measure.ts';

/**
 * Writes a measurement to the log as a line in CloudWatch's embedded metric format, which needs no call and no permission.
 *
 * @param about ids and names that become properties of the line, not dimensions
 */
type Meter = (measurement: Measurement, about: Readonly<Record<string, unknown>>) => void;

/** Powertools bypasses `console.log`: Lambda's runtime wraps those lines, and CloudWatch would find no metric in them. */
export function createMeter(): Meter {
  const metrics = new Metrics({ namespace: NAMESPACE });
  return ({ values, dimensions }, about) => {
    for (const [name, value] of Object.entries(values)) {
      metrics.addMetric(name, METRICS[name as MetricName], value);
    }
    for (const [name, value] of Object.entries(dimensions)) metrics.addDimension(name, value);
    for (const [name, value] of Object.entries(about)) {
      if (value !== undefined && !(name in dimensions)) metrics.addMetadata(name, String(value));
    }
    metrics.publishStoredMetrics();
  };
}

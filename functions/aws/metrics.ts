import { Metrics, MetricUnit } from '@aws-lambda-powertools/metrics';

/** Where CloudWatch shows them. */
const NAMESPACE = 'AdReportExport';

/** Counts and gauges, written to the log in CloudWatch's embedded metric format: no call, no permission. */
export interface Meter {
  /** Days until the platform disables the key that the account still uses (contract 9.6). */
  apiKeyDaysLeft(account: string, days: number): void;
}

export function openMeter(): Meter {
  const metrics = new Metrics({ namespace: NAMESPACE });
  return {
    apiKeyDaysLeft(account, days) {
      const single = metrics.singleMetric();
      single.addDimension('account', account);
      single.addMetric('ApiKeyDaysLeft', MetricUnit.Count, days);
    },
  };
}

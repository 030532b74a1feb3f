import { describe, expect, it } from 'vitest';
import { type Metric, metricsIn } from '../support/emf.ts';
import { expectNoSecretWritten } from '../support/secrecy.ts';
import { startWorkflow } from '../support/workflow.ts';

function total(metrics: readonly Metric[], name: string, dimensions: Readonly<Record<string, string>> = {}) {
  const all = { service: 'ad-report-export', ...dimensions };
  return metrics
    .filter((metric) => metric.name === name && JSON.stringify(metric.dimensions) === JSON.stringify(all))
    .reduce((sum, { value }) => sum + value, 0);
}

describe('the metrics of a whole run', () => {
  it('are valid in the embedded metric format, say what was delivered and what was retried, and hold no secret', async () => {
    await using workflow = await startWorkflow({
      sandbox: { faults: ['create nth=1 status=401', 'report nth=1 status=429', 'storage nth=1 status=403'] },
    });
    const ended = await workflow.run();
    const metrics = metricsIn(workflow.logs);
    const { bytes, rows } = ended.output as { bytes: number; rows: number };
    const of = { account: 'sandbox', export: 'daily-campaigns' };
    expect(total(metrics, 'Deliveries', of)).toBe(1);
    expect(total(metrics, 'Bytes', of)).toBe(bytes);
    expect(total(metrics, 'Rows', of)).toBe(rows);
    expect(total(metrics, 'TimeToReady', of)).toBeGreaterThanOrEqual(10);
    expect(total(metrics, 'Freshness', of)).toBeGreaterThan(0);
    for (const kind of ['TokenRefused', 'Throttled', 'UrlExpired']) {
      expect(total(metrics, 'Retries', { kind }), kind).toBe(1);
    }
    expect(total(metrics, 'ApiKeyDaysLeft')).toBe(0);
    await expectNoSecretWritten(workflow);
  });

  it('say whose they are in the line, not in a dimension that would be paid for', async () => {
    await using workflow = await startWorkflow({ sandbox: { faults: ['create nth=1 status=401'] } });
    const { name } = await workflow.run();
    const [refused] = metricsIn(workflow.logs).filter(({ dimensions }) => dimensions.kind === 'TokenRefused');
    expect(refused).toMatchObject({
      namespace: 'AdReportExport',
      dimensions: { service: 'ad-report-export', kind: 'TokenRefused' },
      properties: {
        execution: name,
        account: 'sandbox',
        export: 'daily-campaigns',
        window: '2026-10-01/2026-10-08',
      },
    });
  });

  it('count a failed window once, by its error', async () => {
    await using workflow = await startWorkflow();
    await workflow.run(workflow.request({ metrics: ['no_such_metric'] }));
    await workflow.run({ ...workflow.request(), end_date: 'never' });
    const failures = metricsIn(workflow.logs).filter((metric) => metric.name === 'Failures');
    expect(failures.map(({ dimensions, value }) => [dimensions.error, value])).toEqual([
      ['RequestRefused', 1],
      ['InvalidInput', 1],
    ]);
  });
});

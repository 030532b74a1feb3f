import { describe, expect, it } from 'vitest';
import { type Metric, metricsIn } from '../support/emf.ts';
import { type Outcome, runExport, shareWorkflow } from '../support/run-export.ts';

const workflow = await shareWorkflow({ sandbox: { tokenSeconds: 86_400 } });

/** What another test's functions wrote may come late. */
function metricsOf({ logged, name }: Outcome): Metric[] {
  const own = logged.filter((text) => text.includes(JSON.stringify(name)));
  return metricsIn(own.map((text) => ({ function: 'any', stream: 'stdout', text })));
}

function total(metrics: readonly Metric[], name: string, dimensions: Readonly<Record<string, string>> = {}) {
  const all = { service: 'ad-report-export', ...dimensions };
  return metrics
    .filter((metric) => metric.name === name && JSON.stringify(metric.dimensions) === JSON.stringify(all))
    .reduce((sum, { value }) => sum + value, 0);
}

describe('the metrics of a whole run', () => {
  it('are valid in the embedded metric format, say what was delivered and what was retried, and hold no secret', async () => {
    const ended = await runExport(workflow, {
      faults: ['create nth=1 status=401', 'report nth=1 status=429', 'storage nth=1 status=403'],
    });
    const metrics = metricsOf(ended);
    const { bytes, rows } = ended.output as { bytes: number; rows: number };
    const of = { account: 'sandbox', export: String(ended.request.name) };
    expect(total(metrics, 'Deliveries', of)).toBe(1);
    expect(total(metrics, 'Bytes', of)).toBe(bytes);
    expect(total(metrics, 'Rows', of)).toBe(rows);
    expect(total(metrics, 'TimeToReady', of)).toBeGreaterThanOrEqual(10);
    expect(total(metrics, 'Freshness', of)).toBeGreaterThan(0);
    for (const kind of ['TokenRefused', 'Throttled', 'UrlExpired']) {
      expect(total(metrics, 'Retries', { kind }), kind).toBe(1);
    }
    expect(total(metrics, 'ApiKeyDaysLeft')).toBe(0);
  });

  it('say whose they are in the line, not in a dimension that would be paid for', async () => {
    const ended = await runExport(workflow, { faults: ['create nth=1 status=401'] });
    const [refused] = metricsOf(ended).filter(({ dimensions }) => dimensions.kind === 'TokenRefused');
    expect(refused).toMatchObject({
      namespace: 'AdReportExport',
      dimensions: { service: 'ad-report-export', kind: 'TokenRefused' },
      properties: {
        execution: ended.name,
        account: 'sandbox',
        export: ended.request.name,
        window: '2026-10-01/2026-10-08',
      },
    });
  });

  it('count a failed window once, by its error', async () => {
    const refused = await runExport(workflow, { request: { metrics: ['no_such_metric'] } });
    const invalid = await runExport(workflow, { request: { end_date: 'never' } });
    const failures = [refused, invalid].flatMap(metricsOf).filter((metric) => metric.name === 'Failures');
    expect(failures.map(({ dimensions, value }) => [dimensions.error, value])).toEqual([
      ['RequestRefused', 1],
      ['InvalidInput', 1],
    ]);
  });
});

import { describe, expect, it } from 'vitest';
import { sumDays } from '../../support/day-sums.ts';
import { commonWorkflow, deliver, runExport } from '../../support/run-export.ts';

const workflow = await commonWorkflow();
const METRICS = ['spend', 'impressions', 'conversions'];
const request = {
  start_date: '2026-10-01',
  end_date: '2026-10-03',
  metrics: [...METRICS, 'ctr'],
  dimensions: ['campaign_id'],
  reconcile: true,
  reconcile_tolerance: { spend: 0.5 },
  table: false,
};

describe("61: the platform's total", () => {
  it('is fetched after the rows, also after a 401, and stands beside their sums in manifest and event', async () => {
    const faults = ['create nth=2 status=401'];
    const { reports, callsTo, manifest, output, status } = await runExport(workflow, { request, faults });
    const [rows, total] = reports.map(({ file }) =>
      sumDays(Buffer.concat([...file.read()]).toString(), METRICS),
    );
    const sum = (days = rows, metric = '') =>
      [...(days?.values() ?? [])].reduce((all, { sums }) => all + (sums[metric] ?? 0n), 0n);
    const metrics = METRICS.toSorted().map((metric) => ({
      metric,
      rows_sum: Number(sum(rows, metric)) / 1e6,
      platform_total: Number(sum(total, metric)) / 1e6,
      difference: Number(sum(rows, metric) - sum(total, metric)) / 1e6,
    }));
    const comparison = { days: 2, above_tolerance: 0, metrics };
    const key = String(manifest?.key).replace('report.json', 'total.json');
    expect([status, callsTo('create').length]).toEqual(['SUCCEEDED', 3]);
    expect(manifest?.reconciled).toEqual({ ...comparison, report_id: reports[1]?.id, key });
    expect(output).toMatchObject({ reconciled: comparison, warnings: [] });
    expect(metrics[2]?.difference).not.toBe(0);
  });

  it.each([
    ['is refused when it is polled', ['report nth=3 status=403'], /^RequestRefused: .*403/],
    ['does not exist', ['report nth=3 status=404 times=always'], /^ReportStuck: .*does not exist/],
    ['is no report', ['storage nth=2 body="<html>"'], /^DownloadRefused/],
  ])('leaves a window delivered, and a warning, if it %s', async (_, faults, reason) => {
    const { output, manifest, reports, callsTo } = await deliver(workflow, { request, faults });
    expect(output).toMatchObject({ rows: 12, windows: [{ report_id: reports[0]?.id }] });
    const [warning = ''] = manifest?.warnings as string[];
    const [, why] = /^the platform's total was not compared with the rows: (.*)/.exec(warning) ?? [];
    expect(why).toMatch(reason);
    expect(manifest).not.toHaveProperty('reconciled');
    expect(callsTo('create')).toHaveLength(2);
  });
});

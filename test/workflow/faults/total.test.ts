import { describe, expect, it } from 'vitest';
import type { ExportResult } from '../../../functions/workflow/states.ts';
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
  // The rows come first.
  max_parallel: 1,
  reconcile_tolerance: { spend: 0.5 },
  table: false,
};

describe("61: the platform's total", () => {
  it('is fetched beside the rows, also after a 401, and compared with their sums in the event', async () => {
    const faults = ['create nth=2 status=401'];
    const { reports, callsTo, output, status } = await runExport(workflow, { request, faults });
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
    expect({ status, creates: callsTo('create').length }).toEqual({ status: 'SUCCEEDED', creates: 3 });
    expect(output).toMatchObject({ reconciled: comparison, warnings: [], windows: { length: 1 } });
    expect(metrics[2]?.difference).not.toBe(0);
  });

  it.each([
    ['is refused when it is polled', ['report nth=3 status=403'], /^RequestRefused: .*403/],
    ['does not exist', ['report nth=3 status=404 times=always'], /^ReportStuck: .*does not exist/],
    ['is no report', ['storage nth=2 body="<html>"'], /^DownloadRefused/],
  ])('leaves a window delivered, and a warning, if it %s', async (_, faults, reason) => {
    const { output } = await deliver(workflow, { request, faults });
    expect(output).toMatchObject({ rows: 12, windows: { length: 1 } });
    const [warning = ''] = (output as ExportResult).warnings;
    const [, why] = /^the platform's total was not compared with the rows: [^:]*: (.*)/.exec(warning) ?? [];
    expect(why).toMatch(reason);
  });
});

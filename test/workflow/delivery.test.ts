import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { costOf } from '../../infra/config/cost.ts';
import { queryDays, sumDays } from '../support/day-sums.ts';
import { commonWorkflow, keysOf, runExport } from '../support/run-export.ts';

const workflow = await commonWorkflow();

function prefixOf(name: string): string {
  return `exports/account=sandbox/export=${name}/start_date=2026-10-01/end_date=2026-10-08/`;
}

describe('an export of one window', () => {
  it('leaves the report, its manifest and an event, in this order (P2)', async () => {
    const request = { name: 'one', dimensions: ['campaign_id'], options: { attribution_window: '7d' } };
    const outcome = await runExport(workflow, { request });
    const { name, status, output, s3, announced, manifest, reports, events } = outcome;
    expect(status).toBe('SUCCEEDED');
    // `plan` counts these states to estimate the cost.
    const entered = events.filter(({ type }) => type === 'StateEntered');
    expect(entered).toHaveLength(costOf('report', 1, 0).transitions);
    const prefix = prefixOf('one');
    expect(await keysOf(workflow, 'one')).toEqual(
      ['_manifest.json', 'report.json'].map((file) => `${prefix}${file}`),
    );
    const puts = s3.filter(({ method }) => method === 'PUT').map(({ key }) => key);
    const tables = ['tables/one/sandbox.2026-10.parquet', 'tables/ledger/sandbox.one.2026-10.parquet'];
    const plan = 'exports/account=sandbox/export=one/_plans/2026-10-01_2026-10-08.json';
    expect(puts).toEqual([plan, `${prefix}report.json`, ...tables, `${prefix}_manifest.json`]);
    expect(announced).toMatchObject([
      { source: 'ad-report-export', 'detail-type': 'Report Exported', detail: output },
    ]);
    const published = Date.parse(String(manifest?.published_at));
    expect(Date.parse(announced[0]?.time ?? '')).toBeGreaterThanOrEqual(published - 1000);
    expect(manifest).toMatchObject({
      request: { dimensions: ['campaign_id'], attribution_window: '7d' },
      revision: workflow.sandbox.revision,
      report_id: reports[0]?.id,
      execution: name,
    });
  });

  it('23: delivers a file without rows, and says that it is empty', async () => {
    const { status, manifest, output } = await runExport(workflow, { sandbox: { report: { rows: 0 } } });
    expect(status).toBe('SUCCEEDED');
    expect(manifest).toMatchObject({ rows: 0 });
    expect(output).toMatchObject({ rows: 0, empty: true });
  });

  it('delivers CSV, and its table has the sums of the same report in JSON', async () => {
    const fields = { dimensions: ['campaign_id', 'campaign_name'], metrics: ['spend', 'impressions'] };
    const json = await runExport(workflow, { request: { name: 'as-json', ...fields } });
    const csv = await runExport(workflow, { request: { name: 'as-csv', ...fields, format: 'CSV' } });
    expect(csv.manifest).toMatchObject({
      key: `${prefixOf('as-csv')}report.csv`,
      content_type: 'text/csv',
      rows: json.manifest?.rows,
    });
    const folder = join(workflow.out, workflow.bucket, 'tables', 'as-csv');
    const days = await queryDays(folder, 'sandbox', fields.metrics);
    expect(days).toEqual(sumDays(String(json.object), fields.metrics));
    expect(days).toHaveProperty('size', 7);
  });
});

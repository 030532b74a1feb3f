import { expect, it } from 'vitest';
import { costOf } from '../../infra/config/cost.ts';
import { commonWorkflow, keysOf, runExport } from '../support/run-export.ts';

const workflow = await commonWorkflow();

it('an export of one window leaves the report, its manifest and an event, in this order (P2)', async () => {
  const request = { name: 'one', dimensions: ['campaign_id'], options: { attribution_window: '7d' } };
  const outcome = await runExport(workflow, { request });
  const { name, status, output, s3, announced, manifest, reports, events } = outcome;
  expect(status).toBe('SUCCEEDED');
  // `plan` counts these states to estimate the cost.
  const entered = events.filter(({ type }) => type === 'StateEntered');
  expect(entered).toHaveLength(costOf('report', 1, 0).transitions);
  const prefix = 'exports/account=sandbox/export=one/start_date=2026-10-01/end_date=2026-10-08/';
  expect(await keysOf(workflow, 'one')).toEqual(
    ['_manifest.json', 'report.json'].map((file) => `${prefix}${file}`),
  );
  const written = s3.filter(({ method, key }) => method === 'PUT' && !key.startsWith('leases/'));
  const tables = ['tables/one/sandbox.2026-10.parquet', 'tables/ledger/sandbox.one.2026-10.parquet'];
  const plan = 'exports/account=sandbox/export=one/_plans/2026-10-01_2026-10-08.json';
  expect(written.map(({ key }) => key)).toEqual([
    plan,
    `${prefix}report.json`,
    ...tables,
    `${prefix}_manifest.json`,
  ]);
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

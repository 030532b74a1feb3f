import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { loadAssembly, prepareAssembly } from '../../infra/local/assembly.ts';
import type { ReportSettings } from '../../infra/sandbox/settings.ts';
import { sumDays } from '../support/day-sums.ts';
import { queryDays } from '../support/query-days.ts';
import { commonWorkflow, keysOf, runExport, startFastWorkflow } from '../support/run-export.ts';
import { forgetTokens } from '../support/workflow-secrets.ts';

const workflow = await commonWorkflow();

function prefixOf(name: string): string {
  return `exports/account=sandbox/export=${name}/start_date=2026-10-01/end_date=2026-10-08/`;
}

describe('an export of one window', () => {
  it('leaves the report, its manifest and an event, in this order (P2)', async () => {
    const { status, output, s3, announced, manifest } = await runExport(workflow, {
      request: { name: 'one' },
    });
    expect(status).toBe('SUCCEEDED');
    const prefix = prefixOf('one');
    expect(await keysOf(workflow, 'one')).toEqual(
      ['_ledger.json', '_manifest.json', 'report.json'].map((file) => `${prefix}${file}`),
    );
    const puts = s3.filter(({ method }) => method === 'PUT').map(({ key }) => key);
    const days = puts.slice(1, 8);
    const table = days.map((_, at) => `tables/one/account=sandbox/date=2026-10-0${at + 1}/data.parquet`);
    expect(days.toSorted()).toEqual(table);
    expect(puts.toSpliced(1, 7)).toEqual(
      ['report.json', '_ledger.json', '_manifest.json'].map((file) => `${prefix}${file}`),
    );
    expect(announced).toMatchObject([
      { source: 'ad-report-export', 'detail-type': 'Report Exported', detail: output },
    ]);
    const published = Date.parse(String(manifest?.published_at));
    expect(Date.parse(announced[0]?.time ?? '')).toBeGreaterThanOrEqual(published - 1000);
  });

  it('writes into the manifest what was requested and how to check the bytes', async () => {
    const { name, object, manifest, reports } = await runExport(workflow, {
      request: { name: 'told', dimensions: ['campaign_id'], options: { attribution_window: '7d' } },
    });
    const bytes = object ?? Buffer.alloc(0);
    const checksum = Buffer.alloc(4);
    checksum.writeUInt32BE(crc32(bytes));
    expect(manifest).toMatchObject({
      version: '1',
      account: 'sandbox',
      export: 'told',
      request: {
        start_date: '2026-10-01',
        end_date: '2026-10-08',
        metrics: ['spend'],
        dimensions: ['campaign_id'],
        attribution_window: '7d',
      },
      revision: workflow.sandbox.revision,
      report_id: reports[0]?.id,
      bucket: workflow.bucket,
      key: `${prefixOf('told')}report.json`,
      bytes: bytes.length,
      rows: JSON.parse(String(bytes)).length,
      checksum: { algorithm: 'CRC32', type: 'FULL_OBJECT', value: checksum.toString('base64') },
      content_type: 'application/json',
      execution: name,
    });
  });

  // runExport compares the object with the source's length and digest.
  it.each<[string, ReportSettings, Record<string, unknown>]>([
    ['0 rows', { rows: 0 }, { rows: 0, empty: true }],
    ['1 row', { rows: 1 }, { rows: 1, empty: false }],
    ['60 MB', { bytes: 60_000_000 }, { empty: false }],
  ])('23: delivers the bytes of the source, and says whether it is empty: %s', async (_, report, expected) => {
    const { status, reports, manifest, output } = await runExport(workflow, { sandbox: { report } });
    expect(status).toBe('SUCCEEDED');
    const { length, rows } = workflow.sandbox.expected(reports[0]?.id ?? '');
    expect(manifest).toMatchObject({ bytes: length, rows });
    expect(output).toMatchObject({ rows, ...expected });
  });

  it('delivers CSV, and its table has the sums of the same report in JSON', async () => {
    const fields = { dimensions: ['campaign_id', 'campaign_name'], metrics: ['spend', 'impressions'] };
    const json = await runExport(workflow, { request: { name: 'as-json', ...fields } });
    const csv = await runExport(workflow, { request: { name: 'as-csv', ...fields, format: 'CSV' } });
    expect(csv.manifest).toMatchObject({
      ...{ key: `${prefixOf('as-csv')}report.csv`, content_type: 'text/csv', rows: json.manifest?.rows },
    });
    const folder = join(workflow.out, workflow.bucket, 'tables', 'as-csv');
    const days = await queryDays(folder, 'sandbox', fields.metrics);
    expect(days).toEqual(sumDays(String(json.object), fields.metrics));
    expect(days).toHaveProperty('size', 7);
  });

  it('P5: leaves the same objects when it is run twice, with one token', async () => {
    await forgetTokens(workflow);
    const twice = { request: { name: 'twice' } };
    const [first, second] = [await runExport(workflow, twice), await runExport(workflow, twice)];
    expect(second.object).toEqual(first.object);
    expect(await keysOf(workflow, 'twice')).toHaveLength(3);
    expect([...first.callsTo('token'), ...second.callsTo('token')]).toHaveLength(1);
  });

  it('runs the stack with a KMS key too', async () => {
    const assembly = loadAssembly(await prepareAssembly({ kms_key: 'create' }));
    await using workflow = await startFastWorkflow({ assembly });
    expect(await workflow.run()).toMatchObject({ status: 'SUCCEEDED' });
  });
});

import { crc32 } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { ReportSettings } from '../../infra/local/sandbox/settings.ts';
import { keysOf, runExport, shareWorkflow } from '../support/run-export.ts';
import { forgetTokens } from '../support/workflow-secrets.ts';

const workflow = await shareWorkflow({ sandbox: { tokenSeconds: 86_400 } });

function prefixOf(name: string): string {
  return `exports/account=sandbox/export=${name}/start_date=2026-10-01/end_date=2026-10-08/`;
}

describe('an export of one window', () => {
  it('leaves the report, its manifest, and an event, in this order (P2)', async () => {
    const { status, output, s3, announced, manifest } = await runExport(workflow, {
      request: { name: 'one' },
    });
    expect(status).toBe('SUCCEEDED');
    const prefix = prefixOf('one');
    expect(await keysOf(workflow, 'one')).toEqual([`${prefix}_manifest.json`, `${prefix}report.json`]);
    const puts = s3.filter(({ method }) => method === 'PUT').map(({ key }) => key);
    expect(puts).toEqual([`${prefix}report.json`, `${prefix}_manifest.json`]);
    expect(announced).toMatchObject([
      { source: 'ad-report-export', 'detail-type': 'Report Exported', detail: output },
    ]);
    const published = Date.parse(String(manifest?.published_at));
    expect(Date.parse(announced[0]?.time ?? '')).toBeGreaterThanOrEqual(published - 1000);
  });

  it('says in the manifest what was asked, when, and how the bytes can be checked', async () => {
    const asked = { dimensions: ['campaign_id'], options: { attribution_window: '7d' } };
    const { name, object, manifest, reports } = await runExport(workflow, {
      request: { name: 'told', ...asked },
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

  it.each<[string, ReportSettings, number | undefined]>([
    ['0 rows', { rows: 0 }, 0],
    ['1 row', { rows: 1 }, 1],
    ['200 MB', { bytes: 200 * 1024 * 1024 }, undefined],
  ])('delivers the source’s bytes: %s', async (_, report, rows) => {
    // Holds the object to the source's length and digest.
    const { status, reports, manifest } = await runExport(workflow, { sandbox: { report } });
    expect(status).toBe('SUCCEEDED');
    const expected = workflow.sandbox.expected(reports[0]?.id ?? '');
    expect(manifest).toMatchObject({ bytes: expected.length, rows: rows ?? expected.rows });
  });

  it('P5: run twice, converges to the same objects with one token', async () => {
    await forgetTokens(workflow);
    const day = { request: { name: 'twice' } };
    const [first, second] = [await runExport(workflow, day), await runExport(workflow, day)];
    expect(second.object).toEqual(first.object);
    expect(await keysOf(workflow, 'twice')).toHaveLength(2);
    expect([...first.callsTo('token'), ...second.callsTo('token')]).toHaveLength(1);
  });
});

import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { ReportSettings } from '../../infra/local/sandbox/settings.ts';
import { startWorkflow, type Workflow } from '../support/workflow.ts';

const PREFIX = 'exports/account=sandbox/export=daily-campaigns/start_date=2026-10-01/end_date=2026-10-08/';

async function manifestOf(workflow: Workflow, prefix = PREFIX) {
  return JSON.parse(String(await workflow.object(`${prefix}_manifest.json`)));
}

describe('an export of one window', () => {
  it('leaves the report, its manifest, and an event, in this order (P2)', async () => {
    await using workflow = await startWorkflow();
    const ended = await workflow.run();
    expect(ended.status).toBe('SUCCEEDED');
    expect(await workflow.keys()).toEqual([`${PREFIX}_manifest.json`, `${PREFIX}report.json`]);
    const puts = workflow.s3.journal.filter(({ method }) => method === 'PUT').map(({ key }) => key);
    expect(puts).toEqual([`${PREFIX}report.json`, `${PREFIX}_manifest.json`]);
    expect(workflow.bus.events).toMatchObject([
      { source: 'ad-report-export', 'detail-type': 'Report Exported', detail: ended.output },
    ]);
    const published = Date.parse((await manifestOf(workflow)).published_at);
    expect(Date.parse(workflow.bus.events[0]?.time ?? '')).toBeGreaterThanOrEqual(published - 1000);
  });

  it('says in the manifest what was asked, when, and how the bytes can be checked', async () => {
    await using workflow = await startWorkflow();
    const request = workflow.request({ dimensions: ['campaign_id'], options: { attribution_window: '7d' } });
    const { name } = await workflow.run(request);
    const [report] = workflow.sandbox.reports();
    const bytes = await workflow.object(`${PREFIX}report.json`);
    const checksum = Buffer.alloc(4);
    checksum.writeUInt32BE(crc32(bytes));
    expect(await manifestOf(workflow)).toMatchObject({
      version: '1',
      account: 'sandbox',
      export: 'daily-campaigns',
      request: {
        start_date: '2026-10-01',
        end_date: '2026-10-08',
        metrics: ['spend'],
        dimensions: ['campaign_id'],
        attribution_window: '7d',
      },
      revision: workflow.sandbox.revision,
      report_id: report?.id,
      bucket: workflow.bucket,
      key: `${PREFIX}report.json`,
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
    await using workflow = await startWorkflow({ sandbox: { report } });
    const { status } = await workflow.run();
    expect(status).toBe('SUCCEEDED');
    const expected = workflow.sandbox.expected(workflow.sandbox.reports()[0]?.id ?? '');
    const bytes = await workflow.object(`${PREFIX}report.json`);
    expect(bytes.length).toBe(expected.length);
    expect(createHash('sha256').update(bytes).digest('hex')).toBe(expected.sha256());
    expect(await manifestOf(workflow)).toMatchObject({ bytes: expected.length, rows: rows ?? expected.rows });
  });

  it('P5: run twice, converges to the same objects with one token', async () => {
    await using workflow = await startWorkflow();
    await workflow.run();
    const first = await workflow.object(`${PREFIX}report.json`);
    await workflow.run();
    expect(await workflow.object(`${PREFIX}report.json`)).toEqual(first);
    expect(await workflow.keys()).toHaveLength(2);
    expect(workflow.sandbox.journal.filter(({ endpoint }) => endpoint === 'token')).toHaveLength(1);
  });
});

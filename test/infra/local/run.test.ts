import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { runExport, shareWorkflow } from '../../support/run-export.ts';
import { startWorkflow } from '../../support/workflow.ts';
import { forgetTokens } from '../../support/workflow-secrets.ts';

const SECRET_CANARIES = ['sbx_cs_', 'Bearer ', 'X-Sandbox-Signature', 'download_url'];

const workflow = await shareWorkflow({});

describe('a run', () => {
  test('writes the report, its manifest, an event and the history', async () => {
    const workflow = await startWorkflow();
    await using _ = workflow;
    const { status, output, events } = await workflow.run();
    expect(status).toBe('SUCCEEDED');

    const window = 'exports/account=sandbox/export=daily-campaigns/start_date=2026-10-01/end_date=2026-10-08';
    expect(await workflow.keys()).toEqual([
      `${window}/_manifest.json`,
      `${window}/report.json`,
      'leases/sandbox.json',
      'tables/daily-campaigns/sandbox.2026-10.parquet',
      'tables/ledger/sandbox.daily-campaigns.2026-10.parquet',
    ]);
    const [report] = workflow.sandbox.reports();
    const stored = createHash('sha256').update(await workflow.object(`${window}/report.json`));
    expect(stored.digest('hex')).toBe(workflow.sandbox.expected(report?.id ?? '').sha256());

    const [event, ...others] = (await readFile(join(workflow.out, 'events.jsonl'), 'utf8'))
      .trim()
      .split('\n');
    expect(others).toEqual([]);
    expect(JSON.parse(event ?? '')).toMatchObject({
      source: 'ad-report-export',
      'detail-type': 'Report Exported',
      account: '000000000000',
      detail: output,
    });

    await workflow.history.save();
    const { executions } = JSON.parse(await readFile(join(workflow.out, 'history.json'), 'utf8'));
    expect(executions).toEqual([{ execution: 'export-1', result: { status, output }, events }]);
    expect(
      events.filter(({ type, state }) => type === 'StateExited' && state === 'SaveReport'),
    ).toMatchObject([{ window: 0, input: { status: 'ready' }, output: { status: 'saved' } }]);
  });

  test('writes no secret, and the sweep reads the log lines and the assembly too', async () => {
    await forgetTokens(workflow);
    await runExport(workflow);
    const written = await workflow.everythingWritten();
    expect(written).toContain('a token was issued');
    expect(written).toContain('"timeoutSeconds":');
    for (const canary of SECRET_CANARIES) expect(written).not.toContain(canary);
  });
});

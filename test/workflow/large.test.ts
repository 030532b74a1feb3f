import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { gaps } from '../support/journal.ts';
import { startWorkflow, type Workflow, type WorkflowOptions } from '../support/workflow.ts';

const MiB = 1024 * 1024;
const PREFIX = 'exports/account=sandbox/export=daily-campaigns/start_date=2026-10-01/end_date=2026-10-08/';

/** A report of 40 MiB, five parts, which is copied in as many ranges as 16 MiB allow: five. */
function startLarge({ sandbox, ...options }: WorkflowOptions = {}): Promise<Workflow> {
  return startWorkflow({
    speed: 20,
    config: { parallel_above_bytes: 16 * MiB },
    sandbox: { ...sandbox, report: { bytes: 40 * MiB, ...sandbox?.report } },
    ...options,
  });
}

async function expectDelivered(workflow: Workflow): Promise<void> {
  const [report] = workflow.sandbox.reports().slice(-1);
  const expected = workflow.sandbox.expected(report?.id ?? '');
  const bytes = await workflow.object(`${PREFIX}report.json`);
  expect(createHash('sha256').update(bytes).digest('hex')).toBe(expected.sha256());
  const manifest = JSON.parse(String(await workflow.object(`${PREFIX}_manifest.json`)));
  expect(manifest).toMatchObject({ bytes: expected.length, rows: expected.rows });
}

describe('a file that is copied in ranges', () => {
  it('P3: arrives whole, and its ranges GET the report 10 s apart', async () => {
    await using workflow = await startLarge();
    const { status } = await workflow.run();
    expect(status).toBe('SUCCEEDED');
    await expectDelivered(workflow);
    const fetched = workflow.sandbox.journal.filter(({ endpoint }) => endpoint === 'storage');
    expect(fetched.filter(({ headers }) => headers.range?.match(/^bytes=\d+-\d+$/)).length).toBe(6);
    expect(Math.min(...gaps(workflow.sandbox))).toBeGreaterThanOrEqual(10);
  });
});

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { shownDays } from '../../support/day-sums.ts';
import { commonWorkflow, deliver, runExport } from '../../support/run-export.ts';

// The state machine after faults of CurateReport. test/functions judges what becomes of a file and a table.
const workflow = await commonWorkflow();

/** The days of the window that a workflow's request has by default. */
const WEEK = ['01', '02', '03', '04', '05', '06', '07'].map((day) => `2026-10-${day}`);

/** The storage host serves a row for each day. */
const ONES = { on: 'storage', body: JSON.stringify(WEEK.map((date) => ({ date, spend: 1 }))) } as const;

/** The days that a table lists. */
async function daysOf(table: string): Promise<string[]> {
  const folder = join(workflow.out, workflow.bucket, 'tables', table);
  return Object.keys(await shownDays(folder, 'sandbox'));
}

it('41, 43: if Glue fails for a while, PlanExport goes on, and CurateReport writes the month later', async () => {
  const name = 'conflict';
  const month = { operation: 'PutObject', key: `tables/${name}/sandbox.2026-10.parquet` } as const;
  const { output } = await runExport(workflow, {
    request: { name },
    faults: [ONES],
    glue: [
      // The SDK gives up after three tries: the first three are PlanExport's.
      { operation: 'GetTable', answer: 'ThrottlingException', times: 2 },
      { operation: 'GetTable', answer: 'InternalServiceException', times: 2 },
      { operation: 'GetTable', answer: 'reset', times: 2 },
    ],
    s3: [
      { ...month, answer: 'PreconditionFailed', times: 2 },
      { ...month, answer: 'ConditionalRequestConflict' },
    ],
  });
  const warnings = [expect.stringContaining('the request was not compared with the configured one')];
  expect(output).toMatchObject({ rows: 7, restated: 0, warnings });
  expect(await daysOf(name)).toEqual(WEEK);
});

it('41: a Glue that throttles for ever costs the rows, and not the file', async () => {
  const glue = [{ operation: 'GetTable', answer: 'ThrottlingException', times: 99 }] as const;
  const { manifest } = await deliver(workflow, { request: { name: 'throttled' }, glue });
  expect(manifest?.warnings).toEqual([
    expect.stringMatching(/^the request was not compared.*ThrottlingException/),
    expect.stringMatching(/^the rows were not read.*ThrottlingException/),
  ]);
});

it('45: a file that another run replaces before it is read is copied again', async () => {
  const name = 'replaced';
  const key = `exports/account=sandbox/export=${name}/start_date=2026-10-01/end_date=2026-10-08/report.json`;
  const before = workflow.glue.journal.length;
  const { output, object, manifest } = await runExport(workflow, {
    request: { name },
    faults: [{ ...ONES, times: 2 }],
    glue: [{ operation: 'GetTable', answer: 'stall', times: 2 }],
    meanwhile: async () => {
      // PlanExport asks Glue first, and then CurateReport.
      const hangs = () => workflow.glue.journal.slice(before).filter(({ error }) => error === 'stall');
      await vi.waitUntil(() => hangs().length === 2, { timeout: 30_000 });
      await writeFile(join(workflow.out, workflow.bucket, key), '[]');
    },
  });
  expect(output).toMatchObject({ rows: 7, warnings: [expect.stringContaining('not compared')] });
  expect(manifest).toMatchObject({ rows: 7 });
  expect(JSON.parse(String(object))).toHaveLength(7);
});

import { existsSync } from 'node:fs';
import { describe, expect, it, vi } from 'vitest';
import {
  commonWorkflow,
  recordJournals,
  runExport,
  setFaults,
  startFastWorkflow,
} from '../../support/run-export.ts';
import { daysOf, ONES, WEEK } from '../../support/week-table.ts';
import type { Workflow } from '../../support/workflow.ts';
import { replaceObject } from '../../support/workflow-objects.ts';

const workflow = await commonWorkflow();

describe('23: a file', () => {
  it('that is not a report of the window fails it, and no day is written', async () => {
    const body = '[{"date":"2026-10-08","spend":1}]';
    const { status, error, manifest } = await runExport(workflow, {
      request: { name: 'outside' },
      faults: [{ on: 'storage', times: 99, body }],
    });
    expect([status, error, manifest]).toEqual(['FAILED', 'DownloadRefused', undefined]);
    expect(await daysOf(workflow, 'outside')).toEqual([]);
  });

  it('that only the table cannot take is delivered with a warning, and no day is written', async () => {
    const body = '[{"date":"2026-10-01","spend":1},{"date":"2026-10-02","spend":"much"}]';
    const { status, output, manifest } = await runExport(workflow, {
      request: { name: 'much' },
      faults: [{ on: 'storage', body }],
    });
    expect(status).toBe('SUCCEEDED');
    expect(output).toMatchObject({
      warnings: [expect.stringContaining('row 2 has "much" in the column spend')],
    });
    expect(manifest).not.toHaveProperty('table');
    expect(await daysOf(workflow, 'much')).toEqual([]);
  });
});

describe('45: a file that another run replaces before it is read', () => {
  const keyOf = (name: string) =>
    `exports/account=sandbox/export=${name}/start_date=2026-10-01/end_date=2026-10-08/report.json`;

  /** Puts another run's file in the place of the copy, while CurateReport waits for Glue. */
  function replaceCopy(runs: Workflow, name: string) {
    const before = runs.glue.journal.length;
    return async () => {
      const hangs = () => runs.glue.journal.slice(before).some(({ error }) => error === 'stall');
      await vi.waitUntil(hangs, { timeout: 20_000 });
      await replaceObject(runs, keyOf(name), '[]');
    };
  }

  it('is copied again', async () => {
    const name = 'replaced';
    const { output, object, manifest } = await runExport(workflow, {
      request: { name },
      faults: [{ ...ONES, times: 2 }],
      meanwhile: replaceCopy(workflow, name),
      glue: [{ operation: 'GetTable', answer: 'stall' }],
    });
    expect(output).toMatchObject({ rows: 7, warnings: [] });
    expect([manifest?.rows, JSON.parse(String(object)).length]).toEqual([7, 7]);
  });

  it('is read in the version that SaveReport stored, if the bucket has versions', async () => {
    const name = 'versions';
    await using versioned = await startFastWorkflow({ versioned: true });
    const since = recordJournals(versioned);
    const { output, manifest } = await runExport(versioned, {
      request: { name },
      faults: [ONES],
      meanwhile: replaceCopy(versioned, name),
      glue: [{ operation: 'GetTable', answer: 'stall' }],
    });
    expect(output).toMatchObject({ rows: 7, warnings: [] });
    expect(manifest).toMatchObject({ rows: 7, sums: { spend: '7' } });
    expect(await daysOf(versioned, name)).toEqual(WEEK);
    expect(since().callsTo('storage')).toHaveLength(1);
  });

  it('is copied four times at most', async () => {
    const s3 = [{ operation: 'GetObject', key: keyOf('gone'), answer: 'NoSuchKey', times: 99 }] as const;
    const request = { name: 'gone' };
    const { output, callsTo } = await runExport(workflow, { request, faults: [{ ...ONES, times: 5 }], s3 });
    expect(output).toMatchObject({
      warnings: ['the rows were not read: other runs replaced the file 4 times'],
    });
    expect(callsTo('storage')).toHaveLength(4);
    expect(await daysOf(workflow, 'gone')).toEqual([]);
  });
});

describe('46: a file that is too much for CurateReport', () => {
  it.each([
    ['max_curate_bytes', { settings: { MAX_CURATE_BYTES: '10' } }, /max_curate_bytes \(10\)/],
    // The step stops itself a minute before the function's end.
    ['its timeout', { functionSeconds: { CurateReport: 60 } }, /timeout; raise its memory in/],
    ['its memory', { functionMemory: { CurateReport: 370 } }, /memory; raise it in/],
  ])('is delivered without rows, and the warning names %s', async (_, options, limit) => {
    await using small = await startFastWorkflow(options);
    setFaults(small, {});
    const { status, output, manifest } = await runExport(small);
    expect(status).toBe('SUCCEEDED');
    expect(output).toMatchObject({ warnings: [expect.stringMatching(/^the rows were not read: /)] });
    expect(output).toMatchObject({ warnings: [expect.stringMatching(limit)] });
    expect(manifest).not.toHaveProperty('rows');
    expect((await small.keys()).filter((key) => key.startsWith('tables/'))).toEqual([]);
  });

  it.runIf(existsSync('/dev/full'))(
    'for the storage is delivered with rows, and its table stays as it was',
    async () => {
      await using small = await startFastWorkflow({ fullStorage: true });
      const { output, manifest } = await runExport(small, { request: { name: 'full' }, faults: [ONES] });
      const warning = /^table full is not written: .*storage; raise max_curate_bytes/;
      expect(output).toMatchObject({ rows: 7, table_problem: expect.stringMatching(warning) });
      expect(manifest).toMatchObject({ rows: 7, sums: { spend: '7' } });
      expect(await daysOf(small, 'full')).toEqual([]);
    },
  );
});

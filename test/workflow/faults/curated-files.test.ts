import { existsSync } from 'node:fs';
import { describe, expect, it, vi } from 'vitest';
import {
  commonWorkflow,
  recordJournals,
  runExport,
  setFaults,
  startFastWorkflow,
} from '../../support/run-export.ts';
import { ALL, daysOf, ONES, WEEK } from '../../support/week-table.ts';
import type { Workflow } from '../../support/workflow.ts';
import { replaceObject } from '../../support/workflow-objects.ts';

const workflow = await commonWorkflow();

describe('45: a file that another run replaces before it is read', () => {
  const keyOf = (name: string) =>
    `exports/account=sandbox/export=${name}/start_date=2026-10-01/end_date=2026-10-08/report.json`;

  /** Puts another run's file in the place of the copy, while CurateReport waits for Glue. */
  function replaceCopy(runs: Workflow, name: string) {
    const before = runs.glue.journal.length;
    return async () => {
      const hangs = () => runs.glue.journal.slice(before).some(({ error }) => error === 'hang');
      await vi.waitUntil(hangs, { timeout: 20_000 });
      await replaceObject(runs, keyOf(name), '[]');
    };
  }

  it('is copied again', async () => {
    const name = 'replaced';
    const { output, object, manifest } = await runExport(workflow, {
      ...{ request: { name }, faults: [{ ...ONES, times: 2 }], meanwhile: replaceCopy(workflow, name) },
      glue: [{ operation: 'GetTable', answer: 'hang' }],
    });
    expect(output).toMatchObject({ rows: 7, warnings: [] });
    expect([manifest?.rows, JSON.parse(String(object)).length]).toEqual([7, 7]);
  });

  it('is read in the version that SaveReport stored, if the bucket has versions', async () => {
    const name = 'versions';
    await using versioned = await startFastWorkflow({ versioned: true });
    const since = recordJournals(versioned);
    const { output, manifest } = await runExport(versioned, {
      ...{ request: { name }, faults: [ONES], meanwhile: replaceCopy(versioned, name) },
      glue: [{ operation: 'GetTable', answer: 'hang' }],
    });
    expect(output).toMatchObject({ rows: 7, warnings: [] });
    expect(manifest).toMatchObject({ rows: 7, sums: { spend: '7' } });
    expect(await daysOf(versioned, name)).toEqual(ALL);
    expect(since().callsTo('storage')).toHaveLength(1);
  });

  it.each([
    [3, { rows: 7, warnings: [] }],
    [4, { warnings: ['the rows were not read: other runs replaced the file 4 times'] }],
  ])('is copied four times at most: here it is gone %i times', async (times, expected) => {
    const name = `gone-${times}`;
    const s3 = [{ operation: 'GetObject', key: keyOf(name), answer: 'NoSuchKey', times }] as const;
    const request = { name };
    const { output, callsTo } = await runExport(workflow, { request, faults: [{ ...ONES, times: 5 }], s3 });
    expect(output).toMatchObject(expected);
    expect(callsTo('storage')).toHaveLength(4);
    const days = times === 3 ? ALL : { objects: [], partitions: [] };
    expect(await daysOf(workflow, name)).toEqual(days);
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
    const warning = expect.stringMatching(/^the rows were not read: /);
    expect(output).toMatchObject({ warnings: [warning] });
    expect(output).toMatchObject({ warnings: [expect.stringMatching(limit)] });
    expect(output).not.toHaveProperty('rows');
    expect(manifest).not.toHaveProperty('rows');
    expect((await small.keys()).filter((key) => key.startsWith('tables/'))).toEqual([]);
  });

  it.runIf(existsSync('/dev/full'))(
    'for the storage after three days is delivered with rows, and shows the three days in the catalog',
    async () => {
      await using small = await startFastWorkflow({ storageDays: 3 });
      const { output, manifest } = await runExport(small, { request: { name: 'full' }, faults: [ONES] });
      const warning =
        /^4 of 7 days of table full are not written, the first is 2026-10-04: .*storage; raise max_curate_bytes/;
      expect(output).toMatchObject({ rows: 7, restated: 0, warnings: [expect.stringMatching(warning)] });
      expect(manifest).toMatchObject({ rows: 7, sums: { spend: '7' }, table: { days: 3, kept: 0 } });
      const three = WEEK.slice(0, 3);
      expect(await daysOf(small, 'full')).toEqual({ objects: three, partitions: three });
      const { days } = JSON.parse(String(await small.object(String(manifest?.ledger_key))));
      expect(days.map(({ rows, written = true }: Record<string, unknown>) => [rows, written])).toEqual([
        ...three.map(() => [1, true]),
        ...WEEK.slice(3).map(() => [1, false]),
      ]);
    },
  );
});

it('27: a ledger that S3 refuses costs the ledger only, and the warning names the permission', async () => {
  const s3 = [{ operation: 'PutObject', key: '_ledger.json', answer: 'AccessDenied', times: 99 }] as const;
  const { output, manifest } = await runExport(workflow, {
    request: { name: 'unlogged' },
    faults: [ONES],
    s3,
  });
  const warning = expect.stringMatching(/^the ledger is not stored: .*s3:PutObject/);
  expect(output).toMatchObject({ rows: 7, restated: 0, warnings: [warning] });
  expect(manifest).toMatchObject({ rows: 7, sums: { spend: '7' }, table: { days: 7 } });
  expect(manifest).not.toHaveProperty('ledger_key');
  expect(await daysOf(workflow, 'unlogged')).toEqual(ALL);
});

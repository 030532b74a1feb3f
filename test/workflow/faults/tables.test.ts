import { existsSync } from 'node:fs';
import { describe, expect, it, vi } from 'vitest';
import type { Fault } from '../../../infra/sandbox/faults/fault.ts';
import {
  recordJournals,
  runExport,
  setFaults,
  shareWorkflow,
  startFastWorkflow,
} from '../../support/run-export.ts';
import type { Workflow } from '../../support/workflow.ts';
import { metadataOf, replaceObject } from '../../support/workflow-objects.ts';

const workflow = await shareWorkflow();

const WEEK = ['01', '02', '03', '04', '05', '06', '07'].map((day) => `2026-10-${day}`);

/** The storage host serves a row for each day, with this spend. */
function report(spends: readonly number[]): Fault {
  const rows = spends.map((spend, at) => ({ date: WEEK[at], spend }));
  return { on: 'storage', body: JSON.stringify(rows) };
}

const ONES = report([1, 1, 1, 1, 1, 1, 1]);

function dayKey(table: string, day: string): string {
  return `tables/${table}/account=sandbox/date=${day}/data.parquet`;
}

/** The days that a table has, and those that its partitions show. */
async function daysOf({ keys, glue }: Workflow, table: string) {
  const objects = (await keys()).filter((key) => key.startsWith(`tables/${table}/`));
  const partitions = glue.partitionsOf(table.replaceAll('-', '_')).map(({ Values }) => Values[1]);
  return { objects: objects.map((key) => /date=([\d-]+)/.exec(key)?.[1]), partitions: partitions.sort() };
}

const ALL = { objects: WEEK, partitions: WEEK };
const NONE = { objects: [], partitions: [] };

const always = (operation: 'GetTable' | 'BatchCreatePartition', answer: 'AccessDeniedException') => [
  { operation, answer, times: 99 } as const,
];

describe('41: Glue', () => {
  it.each([
    'ThrottlingException',
    'InternalServiceException',
    'reset',
  ] as const)('that answers %s for a while is called again', async (answer) => {
    const name = `glue-${answer.slice(0, 5).toLowerCase()}`;
    const glue = (['GetTable', 'BatchGetPartition', 'BatchCreatePartition'] as const).map((operation) => ({
      ...{ operation, answer },
    }));
    const { output } = await runExport(workflow, { request: { name }, faults: [ONES], glue });
    expect(output).toMatchObject({ rows: 7, restated: 0, warnings: [] });
    expect(await daysOf(workflow, name)).toEqual(ALL);
  });

  it('that throttles for ever costs the rows, and not the file', async () => {
    const glue = [{ operation: 'GetTable', answer: 'ThrottlingException', times: 99 }] as const;
    const { status, manifest } = await runExport(workflow, { request: { name: 'throttled' }, glue });
    expect(status).toBe('SUCCEEDED');
    expect(manifest?.warnings).toEqual([
      expect.stringMatching(/^the rows were not read.*ThrottlingException/),
    ]);
  });

  it('that refuses GetTable costs the table only, and the warning names the permission', async () => {
    const glue = always('GetTable', 'AccessDeniedException');
    const { output, manifest } = await runExport(workflow, {
      request: { name: 'unread' },
      faults: [ONES],
      glue,
    });
    const warning = /^table unread is not written: .*glue:GetTable/;
    expect(output).toMatchObject({ rows: 7, warnings: [expect.stringMatching(warning)] });
    expect(manifest).toMatchObject({ rows: 7, sums: { spend: '7' } });
    expect(manifest).not.toHaveProperty('table');
    expect(await daysOf(workflow, 'unread')).toEqual(NONE);
  });

  it('that refuses BatchCreatePartition loses no count of restated days', async () => {
    const request = { name: 'unlisted' };
    const glue = always('BatchCreatePartition', 'AccessDeniedException');
    await runExport(workflow, { request, faults: [ONES], glue });
    const faults = [report([2, 2, 2, 2, 2, 2, 1])];
    const { output, manifest } = await runExport(workflow, { request, faults, glue });
    const warning =
      /^table unlisted is written, but its days are not in the catalog: .*glue:BatchCreatePartition/;
    expect(output).toMatchObject({ restated: 6, warnings: [expect.stringMatching(warning)] });
    expect(manifest).toMatchObject({ table: { days: 7, restated: 6 } });
    expect(await daysOf(workflow, 'unlisted')).toEqual({ objects: WEEK, partitions: [] });
  });
});

describe('42: a table', () => {
  it('that is missing is not written', async () => {
    const glue = [{ operation: 'GetTable', answer: 'EntityNotFoundException', times: 99 }] as const;
    const { output } = await runExport(workflow, { request: { name: 'missing' }, faults: [ONES], glue });
    expect(output).toMatchObject({ rows: 7, warnings: [expect.stringContaining('no such table')] });
    expect(await daysOf(workflow, 'missing')).toEqual(NONE);
  });

  it('whose types differ from those of its objects is not written', async () => {
    const request = { name: 'drift', end_date: '2026-10-03' };
    await runExport(workflow, { request, faults: [report([1, 1])] });
    const [first] = workflow.glue.partitionsOf('drift');
    const [column] = first?.StorageDescriptor.Columns ?? [];
    Object.assign(column ?? {}, { Type: 'double' });
    const before = await metadataOf(workflow, dayKey('drift', '2026-10-01'));
    const { output } = await runExport(workflow, { request, faults: [report([2, 2])] });
    const warning = expect.stringMatching(/column spend is decimal\(18,6\) now.*written as double/);
    expect(output).toMatchObject({ rows: 2, warnings: [warning] });
    expect(await metadataOf(workflow, dayKey('drift', '2026-10-01'))).toEqual(before);
  });

  it('is not written by a request that differs from the configured one', async () => {
    const request = { name: 'configured' };
    await runExport(workflow, { request, faults: [ONES] });
    const meanwhile = async () => {
      const { Parameters = {} } = workflow.glue.tables.get('configured') ?? {};
      Object.assign(Parameters, { 'request.sandbox': 'another hash' });
    };
    const { output } = await runExport(workflow, { request, faults: [report([2])], meanwhile });
    expect(output).toMatchObject({ warnings: [expect.stringContaining('the request differs')] });
  });
});

describe('43: a day', () => {
  it.each([
    'PreconditionFailed',
    'ConditionalRequestConflict',
  ] as const)('whose PUT ends with %s three times is written in the end', async (answer) => {
    const name = `conflict-${answer.length}`;
    const s3 = [{ operation: 'PutObject', key: 'date=2026-10-03/data.parquet', answer, times: 3 }] as const;
    const { output } = await runExport(workflow, { request: { name }, faults: [ONES], s3 });
    expect(output).toMatchObject({ restated: 0, warnings: [] });
    expect(await daysOf(workflow, name)).toEqual(ALL);
  });

  it('shows the newest report, also if an older one finishes later', async () => {
    const request = workflow.request({ name: 'order' });
    const report = { secondsToReady: (_: unknown, ordinal: number) => (ordinal === first ? 900 : 0) };
    const first = workflow.sandbox.reports().length + 1;
    const { options } = workflow.sandbox;
    const before = options.report;
    options.report = { ...before, ...report };
    const journals = recordJournals(workflow);
    const slow = workflow.run(request);
    await vi.waitUntil(() => journals().reports.length === 1, { timeout: 20_000 });
    const quick = await workflow.run(request);
    const { output } = await slow;
    Object.assign(options, { report: before });
    const [older, newer] = journals().reports;
    expect([quick.status, older?.id === newer?.id]).toEqual(['SUCCEEDED', false]);
    expect(output).toMatchObject({ restated: 0, windows: [{ report_id: older?.id }] });
    for (const day of WEEK)
      expect(await metadataOf(workflow, dayKey('order', day))).toMatchObject({ 'report-id': newer?.id });
    const key = 'exports/account=sandbox/export=order/start_date=2026-10-01/end_date=2026-10-08/_ledger.json';
    const { days } = JSON.parse(String(await workflow.object(key)));
    expect(days.every(({ kept }: { kept?: boolean }) => kept)).toBe(true);
  });
});

describe('44: CurateReport that is killed', () => {
  const restating = report([1, 2, 1, 2, 1, 2, 1]);
  const isDay = ({ method, key, status }: { method: string; key: string; status?: number | undefined }) =>
    method === 'PUT' && status === 200 && key.endsWith('data.parquet');

  it.each([
    [
      'between two days',
      { s3: [{ operation: 'PutObject', key: 'date=2026-10-04/data.parquet', answer: 'stall' }] },
      3,
    ],
    [
      'between the last day and the registration',
      { glue: [{ operation: 'BatchCreatePartition', answer: 'hang' }] },
      7,
    ],
  ] as const)('%s completes all days and restates the same', async (when, conditions, puts) => {
    const name = `killed-${puts}`;
    // Leaves objects and no partitions, so that the next run has some to register.
    const glue = always('BatchCreatePartition', 'AccessDeniedException');
    await runExport(workflow, { request: { name }, faults: [ONES], glue });
    const journals = recordJournals(workflow);
    const kill = async () => {
      await vi.waitUntil(() => journals().s3.filter(isDay).length >= puts, { timeout: 20_000 });
      await vi.waitUntil(() =>
        workflow
          .functionOf('CurateReport')
          .kill()
          .then((count) => count > 0),
      );
    };
    const { output, manifest } = await runExport(workflow, {
      ...{ request: { name }, faults: [restating], meanwhile: kill },
      ...conditions,
    });
    const restated = { restated: 3, first_restated: '2026-10-02', last_restated: '2026-10-06' };
    expect(output, when).toMatchObject({ ...restated, rows: 7, warnings: [] });
    expect(manifest?.table).toEqual({ name, days: 7, kept: 0, ...restated });
    expect(await daysOf(workflow, name)).toEqual(ALL);
  });
});

describe('45: a file that another run replaces before it is read', () => {
  it('is copied again', async () => {
    const name = 'replaced';
    const key = `exports/account=sandbox/export=${name}/start_date=2026-10-01/end_date=2026-10-08/report.json`;
    const calls = workflow.glue.journal.length;
    const replace = async () => {
      await vi.waitUntil(() => workflow.glue.journal.length > calls, { timeout: 20_000 });
      await replaceObject(workflow, key, '[]');
    };
    const { output, object, manifest } = await runExport(workflow, {
      ...{ request: { name }, faults: [{ ...ONES, times: 2 }], meanwhile: replace },
      glue: [{ operation: 'GetTable', answer: 'hang' }],
    });
    expect(output).toMatchObject({ rows: 7, warnings: [] });
    expect([manifest?.rows, JSON.parse(String(object)).length]).toEqual([7, 7]);
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

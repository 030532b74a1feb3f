import { describe, expect, it, vi } from 'vitest';
import { commonWorkflow, recordJournals, runExport } from '../../support/run-export.ts';
import { ALL, daysOf, ONES, report, WEEK } from '../../support/week-table.ts';
import { metadataOf } from '../../support/workflow-objects.ts';

const workflow = await commonWorkflow();

function dayKey(table: string, day: string): string {
  return `tables/${table}/account=sandbox/date=${day}/data.parquet`;
}

describe('41: Glue', () => {
  it('that throttles, fails or resets for a while is called again', async () => {
    const { output } = await runExport(workflow, {
      request: { name: 'glue' },
      faults: [ONES],
      glue: [
        { operation: 'GetTable', answer: 'ThrottlingException' },
        { operation: 'GetPartitions', answer: 'InternalServiceException' },
        { operation: 'BatchCreatePartition', answer: 'reset' },
      ],
    });
    expect(output).toMatchObject({ rows: 7, restated: 0, warnings: [] });
    expect(await daysOf(workflow, 'glue')).toEqual(ALL);
  });

  it('that throttles for ever costs the rows, and not the file', async () => {
    const glue = [{ operation: 'GetTable', answer: 'ThrottlingException', times: 99 }] as const;
    const { status, manifest } = await runExport(workflow, { request: { name: 'throttled' }, glue });
    expect(status).toBe('SUCCEEDED');
    expect(manifest?.warnings).toEqual([
      expect.stringMatching(/^the rows were not read.*ThrottlingException/),
    ]);
  });

  it.each([
    ['GetTable', 'unread', /^table unread is not written: .*glue:GetTable.*see TableProblems in infra/, []],
    [
      'BatchCreatePartition',
      'unlisted',
      /^table unlisted is written, but its days are not in the catalog: .*glue:BatchCreatePartition/,
      WEEK,
    ],
  ] as const)('that refuses %s costs the table only, and the warning names the permission', async (operation, name, warning, objects) => {
    const { output, manifest } = await runExport(workflow, {
      request: { name },
      faults: [ONES],
      glue: [{ operation, answer: 'AccessDeniedException', times: 99 }],
    });
    expect(output).toMatchObject({ rows: 7, warnings: [expect.stringMatching(warning)] });
    expect(manifest).toMatchObject({ rows: 7, sums: { spend: '7' } });
    expect(await daysOf(workflow, name)).toEqual({ objects, partitions: [] });
  });
});

describe('42: a table', () => {
  it('that is missing is not written', async () => {
    const glue = [{ operation: 'GetTable', answer: 'EntityNotFoundException', times: 99 }] as const;
    const { output } = await runExport(workflow, { request: { name: 'missing' }, faults: [ONES], glue });
    expect(output).toMatchObject({ rows: 7, warnings: [expect.stringContaining('no such table')] });
    expect(await daysOf(workflow, 'missing')).toEqual({ objects: [], partitions: [] });
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

  it('that showed another request warns of the days that show this one now', async () => {
    const name = 'taken';
    await runExport(workflow, { request: { name }, faults: [ONES] });
    const advertiser_ids = workflow.sandbox.advertiserIds.slice(0, 2);
    const { output } = await runExport(workflow, { request: { name, advertiser_ids }, faults: [ONES] });
    const warning =
      'days of table taken that showed another request (other advertisers, columns or options) until now: 7, the first is 2026-10-01';
    expect(output).toMatchObject({ restated: 0, warnings: [warning] });
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
  it('whose PUT is refused three times because of another writer is written in the end', async () => {
    const day = { operation: 'PutObject', key: 'date=2026-10-03/data.parquet' } as const;
    const s3 = [
      { ...day, answer: 'PreconditionFailed', times: 2 },
      { ...day, answer: 'ConditionalRequestConflict' },
    ] as const;
    const { output } = await runExport(workflow, { request: { name: 'conflict' }, faults: [ONES], s3 });
    expect(output).toMatchObject({ restated: 0, warnings: [] });
    expect(await daysOf(workflow, 'conflict')).toEqual(ALL);
  });
});

describe('44: CurateReport that is killed', () => {
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
      { glue: [{ operation: 'BatchCreatePartition', answer: 'stall' }] },
      7,
    ],
  ] as const)('%s completes all days and restates the same', async (when, conditions, puts) => {
    const name = `killed-${puts}`;
    // Leaves objects and no partitions, so that the next run has some to register.
    const glue = [{ operation: 'BatchCreatePartition', answer: 'AccessDeniedException', times: 99 }] as const;
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
    const restating = report([1, 2, 1, 2, 1, 2, 1]);
    const { output, manifest } = await runExport(workflow, {
      request: { name },
      faults: [restating],
      meanwhile: kill,
      ...conditions,
    });
    const restated = { restated: 3, first_restated: '2026-10-02', last_restated: '2026-10-06' };
    expect(output, when).toMatchObject({ ...restated, rows: 7, warnings: [] });
    expect(manifest?.table).toEqual({ name, days: 7, kept: 0, ...restated });
    expect(await daysOf(workflow, name)).toEqual(ALL);
  });
});

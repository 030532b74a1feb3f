import { describe, expect, it, vi } from 'vitest';
import { commonWorkflow, recordJournals, runExport } from '../../support/run-export.ts';
import { daysOf, ONES, report, WEEK } from '../../support/week-table.ts';

const workflow = await commonWorkflow();

/** The days of the window are in one month. */
const MONTH = 'sandbox.2026-10.parquet';

describe('41: Glue', () => {
  it('that throttles, fails or resets for a while is called again', async () => {
    const { output } = await runExport(workflow, {
      request: { name: 'glue' },
      faults: [ONES],
      glue: [
        { operation: 'GetTable', answer: 'ThrottlingException' },
        { operation: 'GetTable', answer: 'InternalServiceException' },
        { operation: 'GetTable', answer: 'reset' },
      ],
    });
    expect(output).toMatchObject({ rows: 7, restated: 0, warnings: [] });
    expect(await daysOf(workflow, 'glue')).toEqual(WEEK);
  });

  it('that throttles for ever costs the rows, and not the file', async () => {
    const glue = [{ operation: 'GetTable', answer: 'ThrottlingException', times: 99 }] as const;
    const { status, manifest } = await runExport(workflow, { request: { name: 'throttled' }, glue });
    expect(status).toBe('SUCCEEDED');
    expect(manifest?.warnings).toEqual([
      expect.stringMatching(/^the rows were not read.*ThrottlingException/),
    ]);
  });

  it('that refuses costs the table only, and the warning names the permission', async () => {
    const name = 'unread';
    const glue = [{ operation: 'GetTable', answer: 'AccessDeniedException', times: 99 }] as const;
    const { output, manifest } = await runExport(workflow, { request: { name }, faults: [ONES], glue });
    const warning = /^table unread is not written: .*glue:GetTable.*see TableProblems in infra/;
    expect(output).toMatchObject({ rows: 7, warnings: [expect.stringMatching(warning)] });
    expect(manifest).toMatchObject({ rows: 7, sums: { spend: '7' } });
    expect(await daysOf(workflow, name)).toEqual([]);
  });
});

describe('42: a table', () => {
  it('that is missing is not written', async () => {
    const glue = [{ operation: 'GetTable', answer: 'EntityNotFoundException', times: 99 }] as const;
    const { output } = await runExport(workflow, { request: { name: 'missing' }, faults: [ONES], glue });
    expect(output).toMatchObject({ rows: 7, warnings: [expect.stringContaining('no such table')] });
    expect(await daysOf(workflow, 'missing')).toEqual([]);
  });

  it('whose types differ from those of its objects is not written', async () => {
    const request = { name: 'drift', end_date: '2026-10-03' };
    await runExport(workflow, { request, faults: [report([1, 1])] });
    const meanwhile = async () => {
      const { Columns = [] } = workflow.glue.tables.get('drift')?.StorageDescriptor ?? {};
      Object.assign(Columns.find(({ Name }) => Name === 'spend') ?? {}, { Type: 'double' });
    };
    const { output } = await runExport(workflow, { request, faults: [report([2, 2])], meanwhile });
    const warning = expect.stringMatching(/column spend is double now, but was written as decimal\(18,6\)/);
    expect(output).toMatchObject({ rows: 2, table_problem: warning });
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

describe('43: a month', () => {
  it('whose PUT is refused three times because of another writer is written in the end', async () => {
    const month = { operation: 'PutObject', key: `tables/conflict/${MONTH}` } as const;
    const s3 = [
      { ...month, answer: 'PreconditionFailed', times: 2 },
      { ...month, answer: 'ConditionalRequestConflict' },
    ] as const;
    const { output } = await runExport(workflow, { request: { name: 'conflict' }, faults: [ONES], s3 });
    expect(output).toMatchObject({ restated: 0, warnings: [] });
    expect(await daysOf(workflow, 'conflict')).toEqual(WEEK);
  });
});

describe('44: CurateReport that is killed', () => {
  it.each([
    ['between two months', 'killed-month', 'tables/killed-month/sandbox.2026-11.parquet'],
    [
      'between the table and the ledger',
      'killed-ledger',
      'tables/ledger/sandbox.killed-ledger.2026-10.parquet',
    ],
  ])('%s completes both and restates the same', async (when, name, key) => {
    const request = { name, start_date: '2026-10-30', end_date: '2026-11-02' };
    const rowsOf = (spend: number) => ({
      on: 'storage' as const,
      body: JSON.stringify(['2026-10-30', '2026-11-01'].map((date) => ({ date, spend }))),
    });
    await runExport(workflow, { request, faults: [rowsOf(1)] });
    const journals = recordJournals(workflow);
    const kill = async () => {
      const isStalled = () => journals().s3.some((call) => call.key === key && call.error === 'stall');
      await vi.waitUntil(isStalled, { timeout: 20_000 });
      await workflow.functionOf('CurateReport').kill();
    };
    const { output, manifest } = await runExport(workflow, {
      request,
      faults: [rowsOf(2)],
      meanwhile: kill,
      s3: [{ operation: 'PutObject', key, answer: 'stall' }],
    });
    const restated = { restated: 2, first_restated: '2026-10-30', last_restated: '2026-11-01' };
    expect(output, when).toMatchObject({ ...restated, rows: 2, held: 0, warnings: [] });
    expect(manifest?.table).toMatchObject({ name, days: 3, kept: 0, ...restated });
    expect(await daysOf(workflow, name)).toEqual(['2026-10-30', '2026-10-31', '2026-11-01']);
  });
});

describe('47: a newer report', () => {
  it('without rows is delivered and held, and let in if the request says so', async () => {
    const request = { name: 'held' };
    await runExport(workflow, { request, faults: [ONES] });
    const { output } = await runExport(workflow, { request, faults: [report([])] });
    const held = { held: 7, first_held: '2026-10-01', last_held: '2026-10-07' };
    const warning = expect.stringMatching(
      /^7 days that had 7 rows have none in the new report; the table keeps them/,
    );
    expect(output).toMatchObject({ ...held, rows: 0, restated: 0, warnings: [warning] });
    const accepted = await runExport(workflow, {
      request: { ...request, accept_empty: true },
      faults: [report([])],
    });
    expect(accepted.output).toMatchObject({ held: 0, restated: 7, warnings: [] });
    expect(await daysOf(workflow, 'held')).toEqual(WEEK);
  });
});

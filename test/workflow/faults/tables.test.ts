import { describe, expect, it, vi } from 'vitest';
import type { Fault } from '../../../infra/sandbox/faults/fault.ts';
import { commonWorkflow, recordJournals, runExport } from '../../support/run-export.ts';
import { ALL, daysOf, ONES, report, WEEK } from '../../support/week-table.ts';
import { metadataOf } from '../../support/workflow-objects.ts';

const workflow = await commonWorkflow();

function dayKey(table: string, day: string): string {
  return `tables/${table}/account=sandbox/date=${day}/data.parquet`;
}

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
    const glue = (['GetTable', 'GetPartitions', 'BatchGetPartition', 'BatchCreatePartition'] as const).map(
      (operation) => ({
        ...{ operation, answer },
      }),
    );
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
    const warning =
      /^table unread is not written: .*glue:GetTable.*[^.]; see TableProblems in infra\/RUNBOOK.md$/;
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

it('a report without rows empties the days of a table, and a warning counts them', async () => {
  const request = { name: 'emptied' };
  await runExport(workflow, { request, faults: [ONES] });
  const { output } = await runExport(workflow, { request, faults: [{ on: 'storage', body: '{"rows":[]}' }] });
  const warning = 'the report has no rows; 7 days of table emptied that had rows have none now';
  expect(output).toMatchObject({ rows: 0, restated: 7, warnings: [warning] });
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

    const later = { ...request, start_date: '2027-10-01', end_date: '2027-10-02' };
    const rows = { on: 'storage', body: '[{"date":"2027-10-01","spend":1}]' } as const;
    const far = await runExport(workflow, { request: later, faults: [rows] });
    expect(far.output).toMatchObject({ rows: 1, warnings: expect.arrayContaining([warning]) });
    expect(far.manifest).not.toHaveProperty('table');
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
    const report = { secondsToReady: (_: unknown, ordinal: number) => (ordinal === first ? 1500 : 0) };
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

  it('restates the same after a metric was added', async () => {
    const metrics = ['impressions', 'clicks'];
    const rows = (names: readonly string[], value: (day: string) => number): Fault => {
      const body = WEEK.map((date) => ({
        date,
        ...Object.fromEntries(names.map((each) => [each, value(date)])),
      }));
      return { on: 'storage', body: JSON.stringify(body) };
    };
    const request = { name: 'added', metrics };
    await runExport(workflow, { request, faults: [rows(metrics, () => 1)] });
    const more = [...metrics, 'spend'];
    const journals = recordJournals(workflow);
    const kill = async () => {
      await vi.waitUntil(() => journals().s3.filter(isDay).length === 7, { timeout: 20_000 });
      await workflow.functionOf('CurateReport').kill();
    };
    const { output } = await runExport(workflow, {
      request: { ...request, metrics: more },
      faults: [rows(more, (date) => (date === WEEK[2] ? 2 : 1))],
      glue: [{ operation: 'BatchUpdatePartition', answer: 'hang' }],
      meanwhile: kill,
    });
    expect(output).toMatchObject({ restated: 1, first_restated: WEEK[2], last_restated: WEEK[2] });
  });
});

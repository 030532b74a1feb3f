import { describe, expect, it } from 'vitest';
import { describeFailure } from '../../functions/describe-failure.ts';
import { ExportIncomplete, InvalidInput } from '../../functions/workflow/errors.ts';
import type { ExportFailed, FailureReport } from '../../functions/workflow/states.ts';
import { caughtFrom, createFailureDependencies } from '../support/failures.ts';
import { windowOf } from '../support/steps.ts';

const AT = '2026-11-21T06:00:00Z';
const NOW = '2026-11-21T06:00:00.000Z';
const PREFIX = 'exports/account=acme/export=daily/';
const KEY = `${PREFIX}start_date=2026-11-01/end_date=2026-11-02/_failure.json`;
const { request } = windowOf(['7d2f8a54-5f0e-4a3c-9f5e-0f4b8a1c2d3e']);

/** The window of one day at this index. */
function createWindow(index: number) {
  const date = (day: number) => new Date(Date.UTC(2026, 0, 1 + day)).toISOString().slice(0, 10);
  return { start_date: date(index), end_date: date(index + 1) };
}

function createWindows(count: number) {
  return Array.from({ length: count }, (_, index) => createWindow(index));
}

type Failed = NonNullable<FailureReport['failed_windows']>[number];

/** The failure of the window at this index. */
function reportOf(index: number, fields: Partial<Failed> = {}): Failed {
  return {
    window: createWindow(index),
    error: 'ReportStuck',
    happened: `Window ${index} is stuck.`,
    todo: 'Give the ids.',
    report_ids: [`r${index}`],
    request_ids: [`q${index}`],
    ...fields,
  };
}

function failed({ window, ...failure }: Failed) {
  return { outcome: 'failed', window, failure };
}

function delivered(index: number) {
  const window = createWindow(index);
  return { outcome: 'delivered', window, key: 'k', manifest_key: 'm', bytes: 1 };
}

const incomplete = caughtFrom(new ExportIncomplete('2 of 3 windows were not delivered.'));
const planned = { execution: 'e', started_at: AT, request, warnings: [], windows: createWindows(3) };

async function describeExport(state: object) {
  const { dependencies, written } = createFailureDependencies();
  const input = { execution: 'e', caught: incomplete, ...state };
  const { failure, cause } = (await describeFailure(input, dependencies)) as ExportFailed;
  expect(JSON.parse(cause)).toEqual(failure);
  return { failure, written: [...written] };
}

describe('DescribeFailure of an export whose windows failed', () => {
  it('has the error of the windows if all failed with the same one', async () => {
    const reports = [reportOf(0, { faults: ['f0'] }), reportOf(2, { faults: ['f2'] })] as const;
    const results = [failed(reports[0]), delivered(1), failed(reports[1])];
    const { failure, written } = await describeExport({ ...planned, results });
    const { window, ...first } = reportOf(0);
    expect(failure).toStrictEqual({
      ...first,
      version: '1',
      happened: '2 of 3 windows were not delivered. Window 0 is stuck.',
      runbook: 'infra/RUNBOOK.md#reportstuck',
      execution: 'e',
      account: 'acme',
      export: 'daily',
      report_ids: ['r0', 'r2'],
      request_ids: ['q0', 'q2'],
      faults: ['f0'],
      failed_windows: reports,
      windows_failed: 2,
      windows_delivered: 1,
      failed_at: NOW,
      bucket: 'test-bucket',
      key: KEY,
    });
    expect(written).toEqual([[KEY, failure]]);
  });

  it('says only what happened if there is one window', async () => {
    const state = { ...planned, windows: createWindows(1), results: [failed(reportOf(0))] };
    expect((await describeExport(state)).failure.happened).toBe('Window 0 is stuck.');
  });

  it('is ExportIncomplete if the windows failed with different errors', async () => {
    const other = { error: 'RequestRefused', todo: 'Correct it.', faults: ['f1'] };
    const results = [failed(reportOf(0)), failed(reportOf(1, other)), failed(reportOf(2))];
    const { failure } = await describeExport({ ...planned, results });
    expect(failure).toMatchObject({
      error: 'ExportIncomplete',
      todo: expect.stringContaining('resume the execution'),
      runbook: 'infra/RUNBOOK.md#exportincomplete',
      happened: '3 of 3 windows were not delivered. Window 0 is stuck.',
      windows_failed: 3,
      windows_delivered: 0,
    });
    expect(failure).not.toHaveProperty('faults');
  });

  it('says if the table did not take a window that was delivered', async () => {
    const results = [{ ...delivered(0), table_problem: 'the rows were not read' }, failed(reportOf(1))];
    const { failure } = await describeExport({ ...planned, windows: createWindows(2), results });
    expect(failure).toMatchObject({ windows_delivered: 1, table_problem: 'the rows were not read' });
  });

  it('shows the ids of at most ten windows, each request once', async () => {
    const windows = createWindows(11);
    const reports = windows.map((_, index) =>
      reportOf(index, {
        report_ids: [`a${index}`, `b${index}`, `c${index}`],
        request_ids: index === 1 ? ['q0', 'q1'] : [`q${index}`],
      }),
    );
    const { failure } = await describeExport({ ...planned, windows, results: reports.map(failed) });
    const shown = reports.slice(0, 10);
    expect(failure).toMatchObject({
      failed_windows: shown,
      windows_failed: 11,
      windows_delivered: 0,
      report_ids: shown.flatMap(({ report_ids }) => report_ids),
      request_ids: shown.map((_, index) => `q${index}`),
    });
  });

  it('28: writes the failure report of a window whose execution died, and of no other', async () => {
    const died = { Error: 'States.DataLimitExceeded', Cause: 'too large' };
    const results = [delivered(0), died, failed(reportOf(2))];
    const { failure, written } = await describeExport({ ...planned, results });
    const lost = {
      error: 'StepFunctions.DataLimitExceeded',
      happened: 'too large',
      todo: expect.stringContaining("Read the execution's history"),
      window: createWindow(1),
      report_ids: [],
      request_ids: [],
    };
    const runbook = 'infra/RUNBOOK.md#stepfunctionsdatalimitexceeded';
    const names = { version: '1', execution: 'e', account: 'acme', export: 'daily', failed_at: NOW };
    expect(written).toEqual([
      [`${PREFIX}start_date=2026-01-02/end_date=2026-01-03/_failure.json`, { ...lost, ...names, runbook }],
      [KEY, failure],
    ]);
    expect(failure.failed_windows).toEqual([lost, reportOf(2)]);
    expect(failure).toMatchObject({ windows_failed: 2, windows_delivered: 1 });
  });

  it('31: logs each report that could not be written, and still describes the failure', async () => {
    const { dependencies, lines } = createFailureDependencies();
    const reasons = [new TypeError('quotes a secret'), 'only text'];
    const store = { putJson: () => Promise.reject(reasons.shift()), bucket: 'b' };
    const state = { caught: incomplete, ...planned, windows: createWindows(1), results: [] };
    const described = await describeFailure(state, { ...dependencies, store });
    expect(described).toMatchObject({ failure: { windows_failed: 1, error: 'StepFunctions.TaskFailed' } });
    const warning = { level: 'warn', message: 'the failure report could not be written' };
    const key = `${PREFIX}start_date=2026-01-01/end_date=2026-01-02/_failure.json`;
    expect(lines).toEqual([
      { ...warning, fields: { key, error: 'TypeError' } },
      { ...warning, fields: { key: KEY, error: 'unknown' } },
    ]);
  });
});

describe('DescribeFailure of an export whose windows did not fail', () => {
  const caught = { Error: 'States.Timeout', Cause: 'It timed out.' };
  const named = {
    version: '1',
    error: 'StepFunctions.Timeout',
    failed_at: NOW,
    happened: 'It timed out.',
    execution: 'e',
    account: 'acme',
    export: 'daily',
    todo: expect.stringContaining("Read the execution's history"),
    runbook: 'infra/RUNBOOK.md#stepfunctionstimeout',
    report_ids: [],
    request_ids: [],
  };
  const { account, name, start_date, end_date } = request;
  const result = { bucket: 'b', account, name, start_date, end_date };

  const both = [0, 1].map(delivered);

  it.each<[string, object, object]>([
    ['before its windows had ended', planned, {}],
    [
      'after all of them were delivered',
      { ...planned, windows: createWindows(2), results: both },
      { windows_delivered: 2 },
    ],
    ['without windows to export', { ...planned, windows: [], results: [] }, { windows_delivered: 0 }],
    [
      '31: when it could not be announced',
      { ...result, version: '1', kind: 'report', windows: both },
      { windows_delivered: 2 },
    ],
  ])('writes its report at the key of the whole range: %s', async (_, state, windows) => {
    const { failure, written } = await describeExport({ ...state, caught });
    const expected = { ...named, ...windows, bucket: 'test-bucket', key: KEY };
    expect(failure).toStrictEqual(expected);
    expect(written).toEqual([[KEY, expected]]);
  });

  it('36: lists the faults of a refused request, and writes no report', async () => {
    const refused = caughtFrom(new InvalidInput('It has a fault.', { faults: ['name: is missing'] }));
    const { failure, written } = await describeExport({ caught: refused, request: { account: '../acme' } });
    expect(failure).toMatchObject({ error: 'InvalidInput', faults: ['name: is missing'] });
    expect([failure.account, failure.key, written]).toEqual([undefined, undefined, []]);
  });
});

import { describe, expect, it } from 'vitest';
import { describeFailure } from '../../functions/describe-failure.ts';
import { ExportIncomplete, InvalidInput, RequestRefused } from '../../functions/workflow/errors.ts';
import { MAX_REQUEST_BYTES } from '../../functions/workflow/request/request.ts';
import type { FailureReport } from '../../functions/workflow/state-parts.ts';
import type { ExportFailed, FailedWindow } from '../../functions/workflow/states.ts';
import { caughtFrom, createFailureDependencies } from '../support/failures.ts';
import { reportRef, windowOf } from '../support/steps.ts';

const NOW = '2026-11-21T06:00:00.000Z';
const PREFIX = 'exports/account=acme/export=daily/';
const KEY = `${PREFIX}start_date=2026-11-01/end_date=2026-11-02/_failure.json`;
const NAMES = { version: '1', execution: 'e', account: 'acme', export: 'daily', failed_at: NOW };
const state = { ...windowOf(['7d2f8a54-5f0e-4a3c-9f5e-0f4b8a1c2d3e']), execution: 'e' };
const { request } = state;

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
  return { outcome: 'delivered', window: createWindow(index), key: 'k', manifest_key: 'm', bytes: 1 };
}

const incomplete = caughtFrom(new ExportIncomplete('2 of 3 windows were not delivered.'));
const planned = { execution: 'e', started_at: NOW, request, warnings: [], windows: createWindows(3) };

async function failExport(state: object) {
  const { dependencies, written } = createFailureDependencies();
  const input = { execution: 'e', caught: incomplete, ...state };
  const { failure, cause } = (await describeFailure(input, dependencies)) as ExportFailed;
  expect(JSON.parse(cause)).toEqual(failure);
  return { failure, written: [...written] };
}

describe('DescribeFailure of a window', () => {
  it('says what happened, to which ids, and what to do', async () => {
    const facts = { request_id: 'req_1', status: 422, faults: ['metrics: unknown'] };
    const caught = caughtFrom(new RequestRefused('The platform answered 422: metrics: unknown.', facts));
    const { dependencies, written } = createFailureDependencies();
    const result = await describeFailure({ ...state, caught, reports: [reportRef('r1')] }, dependencies);
    const failure = {
      error: 'RequestRefused',
      happened: 'The platform answered 422: metrics: unknown.',
      todo: 'Correct what the message names, then run the export again.',
      report_ids: ['r1'],
      request_ids: ['req_1'],
      faults: ['metrics: unknown'],
    };
    expect(result).toEqual({ outcome: 'failed', window: state.window, failure });
    const runbook = 'infra/RUNBOOK.md#requestrefused';
    expect([...written]).toEqual([[KEY, { ...failure, ...NAMES, window: state.window, runbook }]]);
  });

  it.each([
    ['letters', 'x'],
    ['quotes and backslashes', '\\"'],
    ['characters of several bytes', '✓'],
  ])('100 of them fit into the state and a Cause, even if all is long: %s', async (_, text) => {
    const faults = Array.from({ length: 900 }, () => text.repeat(900));
    const request_id = text.repeat(500);
    const { Cause } = caughtFrom(new RequestRefused(text.repeat(50_000), { request_id, faults }));
    const reports = ['0', '1', '2'].map((id) => reportRef(id.repeat(256)));
    const { dependencies } = createFailureDependencies();
    const failing = describeFailure(
      { ...state, reports, caught: { Error: 'DownloadRefused', Cause } },
      dependencies,
    );
    const lost = (await failing) as FailedWindow;
    expect(Buffer.byteLength(JSON.stringify(lost))).toBeLessThanOrEqual(2_200);
    const options = { filter: 'x'.repeat(MAX_REQUEST_BYTES) };
    const all = {
      ...planned,
      request: { ...request, options },
      windows: createWindows(100),
      results: createWindows(100).map((window) => ({ ...lost, window })),
    };
    expect(Buffer.byteLength(JSON.stringify({ ...all, caught: incomplete }))).toBeLessThan(256 * 1024);
    const { failure } = await failExport(all);
    expect(JSON.stringify(failure).length).toBeLessThanOrEqual(32_768);
    expect(failure).toMatchObject({ error: 'DownloadRefused', windows_failed: 100, windows_delivered: 0 });
  });
});

describe('DescribeFailure of an export whose windows failed', () => {
  it('has the error of the windows if all failed with the same one', async () => {
    const reports = [reportOf(0, { faults: ['f0'] }), reportOf(2, { faults: ['f2'] })] as const;
    const problem = { ...delivered(1), table_problem: 'the rows were not read' };
    const results = [failed(reports[0]), problem, failed(reports[1])];
    const { failure, written } = await failExport({ ...planned, results });
    const { window, ...first } = reportOf(0);
    expect(failure).toEqual({
      ...first,
      ...NAMES,
      happened: '2 of 3 windows were not delivered. Window 0 is stuck.',
      runbook: 'infra/RUNBOOK.md#reportstuck',
      report_ids: ['r0', 'r2'],
      request_ids: ['q0', 'q2'],
      faults: ['f0'],
      failed_windows: reports,
      windows_failed: 2,
      windows_delivered: 1,
      table_problem: 'the rows were not read',
      bucket: 'test-bucket',
      key: KEY,
    });
    expect(written).toEqual([[KEY, failure]]);
  });

  it('says only what happened if there is one window', async () => {
    const single = { windows: createWindows(1), results: [failed(reportOf(0))] };
    const { failure } = await failExport({ ...planned, ...single });
    expect(failure.happened).toBe('Window 0 is stuck.');
  });

  it('is ExportIncomplete if the windows failed with different errors', async () => {
    const refusal = { error: 'RequestRefused', todo: 'Correct it.', faults: ['f1'] };
    const results = [failed(reportOf(0)), failed(reportOf(1, refusal)), failed(reportOf(2))];
    const { failure } = await failExport({ ...planned, results });
    expect(failure).toMatchObject({
      error: 'ExportIncomplete',
      todo: expect.stringContaining('resume the execution'),
      runbook: 'infra/RUNBOOK.md#exportincomplete',
      happened: '3 of 3 windows were not delivered. Window 0 is stuck.',
    });
    expect(failure).not.toHaveProperty('faults');
  });

  it('shows the ids of at most ten windows, each request once', async () => {
    const windows = createWindows(11);
    const request_ids = ['q0', 'q1'];
    const reports = windows.map((_, index) => reportOf(index, index === 1 ? { request_ids } : {}));
    const { failure } = await failExport({ ...planned, windows, results: reports.map(failed) });
    const shown = reports.slice(0, 10);
    expect(failure).toMatchObject({
      failed_windows: shown,
      windows_failed: 11,
      report_ids: shown.map((_, index) => `r${index}`),
      request_ids: shown.map((_, index) => `q${index}`),
    });
  });

  it('28: writes the failure report of a window whose execution died, and of no other', async () => {
    const died = { Error: 'States.DataLimitExceeded', Cause: 'too large' };
    const results = [delivered(0), died, failed(reportOf(2))];
    const { failure, written } = await failExport({ ...planned, results });
    const lost = {
      error: 'StepFunctions.DataLimitExceeded',
      happened: 'too large',
      todo: expect.stringContaining("Read the execution's history"),
      window: createWindow(1),
      report_ids: [],
      request_ids: [],
    };
    const runbook = 'infra/RUNBOOK.md#stepfunctionsdatalimitexceeded';
    expect(written).toEqual([
      [`${PREFIX}start_date=2026-01-02/end_date=2026-01-03/_failure.json`, { ...lost, ...NAMES, runbook }],
      [KEY, failure],
    ]);
    expect(failure.failed_windows).toEqual([lost, reportOf(2)]);
  });

  it('31: logs each report that could not be written, and still describes the failure', async () => {
    const { dependencies, lines } = createFailureDependencies();
    const store = { putJson: () => Promise.reject(new TypeError('quotes a secret')), bucket: 'b' };
    const state = { caught: incomplete, ...planned, windows: createWindows(1), results: [] };
    const described = await describeFailure(state, { ...dependencies, store });
    expect(described).toMatchObject({ failure: { windows_failed: 1, error: 'StepFunctions.TaskFailed' } });
    const key = `${PREFIX}start_date=2026-01-01/end_date=2026-01-02/_failure.json`;
    expect(lines.map(({ fields }) => fields)).toEqual([
      { key, error: 'TypeError' },
      { key: KEY, error: 'TypeError' },
    ]);
  });
});

describe('DescribeFailure of an export whose windows did not fail', () => {
  const { account, name, start_date, end_date } = request;
  const sums = { bucket: 'b', bytes: 1, warnings: [] };
  const result = { version: '1', kind: 'report', account, name, start_date, end_date, ...sums };
  const both = [0, 1].map(delivered);

  it.each<[string, object, object]>([
    ['before its windows had ended', planned, {}],
    ['after delivery', { ...planned, windows: createWindows(2), results: both }, { windows_delivered: 2 }],
    ['without windows to export', { ...planned, windows: [], results: [] }, { windows_delivered: 0 }],
    ['31: when it could not be announced', { ...result, windows: both }, { windows_delivered: 2 }],
  ])('writes its report at the key of the whole range: %s', async (_, state, windows) => {
    const caught = { Error: 'States.Timeout', Cause: 'It timed out.' };
    const { failure, written } = await failExport({ ...state, caught });
    expect(failure).toEqual({
      ...NAMES,
      ...windows,
      error: 'StepFunctions.Timeout',
      happened: 'It timed out.',
      todo: expect.stringContaining("Read the execution's history"),
      runbook: 'infra/RUNBOOK.md#stepfunctionstimeout',
      report_ids: [],
      request_ids: [],
      bucket: 'test-bucket',
      key: KEY,
    });
    expect(written).toEqual([[KEY, failure]]);
  });

  it('36: lists the faults of a refused request, and writes no report', async () => {
    const refused = caughtFrom(new InvalidInput('It has a fault.', { faults: ['name: is missing'] }));
    const { failure, written } = await failExport({ caught: refused, request: { account: '../acme' } });
    expect(failure).toMatchObject({ error: 'InvalidInput', faults: ['name: is missing'] });
    const { account, key } = failure;
    expect({ account, key }).toEqual({ account: undefined, key: undefined });
    expect(written).toEqual([]);
  });
});

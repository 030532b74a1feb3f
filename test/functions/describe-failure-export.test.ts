import { describe, expect, it } from 'vitest';
import { describeFailure } from '../../functions/describe-failure.ts';
import { ExportIncomplete, InvalidInput } from '../../functions/workflow/errors.ts';
import type { ExportFailed, FailureReport } from '../../functions/workflow/states.ts';
import { caughtFrom, createFailureDependencies } from '../support/failures.ts';
import { windowOf } from '../support/steps.ts';

const AT = '2026-11-21T06:00:00Z';
const PREFIX = 'exports/account=acme/export=daily/';
const KEY = `${PREFIX}start_date=2026-11-01/end_date=2026-11-02/_failure.json`;
const { request } = windowOf(['7d2f8a54-5f0e-4a3c-9f5e-0f4b8a1c2d3e']);

/** Windows of one day each. */
function createWindows(count: number) {
  const date = (day: number) => new Date(Date.UTC(2026, 0, 1 + day)).toISOString().slice(0, 10);
  return Array.from({ length: count }, (_, at) => ({ start_date: date(at), end_date: date(at + 1) }));
}

/** The failure report of the window at this index. */
function reportOf(index: number, fields: Partial<FailureReport> = {}): FailureReport {
  return {
    ...{ version: '1', error: 'ReportStuck', happened: `Window ${index} is stuck.`, todo: 'Give the ids.' },
    ...{ runbook: 'infra/RUNBOOK.md#reportstuck', execution: 'e', account: 'acme', export: 'daily' },
    window: createWindows(index + 1)[index],
    ...{ report_ids: [`r${index}`], request_ids: [`q${index}`] },
    timeline: [{ step: 'CheckReport', outcome: `s${index}`, from: AT, to: AT, times: 1 }],
    ...fields,
  };
}

function failed(failure: FailureReport) {
  return { outcome: 'failed', window: failure.window, failure };
}

function delivered(index: number) {
  const window = createWindows(index + 1)[index];
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
      happened: '2 of 3 windows were not delivered. Window 0 is stuck.',
      ...{ report_ids: ['r0', 'r2'], request_ids: ['q0', 'q2'], faults: ['f0'] },
      ...{ failed_windows: reports, windows_failed: 2, windows_delivered: 1 },
      delivered_windows: [{ window: createWindows(2)[1], key: 'k' }],
      ...{ bucket: 'test-bucket', key: KEY },
    });
    expect(written).toEqual([[KEY, failure]]);
  });

  it('counts the restated days of all windows, delivered or not', async () => {
    const days = { restated: 2, first_restated: '2026-10-03', last_restated: '2026-10-05' };
    const more = { restated: 1, first_restated: '2026-10-20', last_restated: '2026-10-20' };
    const results = [{ ...delivered(0), ...days }, failed(reportOf(1)), failed(reportOf(2, more))];
    const { failure } = await describeExport({ ...planned, results });
    expect(failure).toMatchObject({ restated: 3, first_restated: '2026-10-03', last_restated: '2026-10-20' });
  });

  it('says only what happened if there is one window', async () => {
    const state = { ...planned, windows: createWindows(1), results: [failed(reportOf(0))] };
    expect((await describeExport(state)).failure.happened).toBe('Window 0 is stuck.');
  });

  it('has no faults if the first window has none', async () => {
    const results = [failed(reportOf(0)), failed(reportOf(1, { faults: ['f1'] }))];
    expect((await describeExport({ ...planned, results })).failure).not.toHaveProperty('faults');
  });

  it('is ExportIncomplete if the windows failed with different errors', async () => {
    const other = { error: 'RequestRefused', todo: 'Correct it.', runbook: 'x', faults: ['f1'] };
    const results = [failed(reportOf(0)), failed(reportOf(1, other)), failed(reportOf(2))];
    const { failure } = await describeExport({ ...planned, results });
    expect(failure).toMatchObject({
      error: 'ExportIncomplete',
      todo: expect.stringContaining('resume the execution'),
      runbook: 'infra/RUNBOOK.md#exportincomplete',
      happened: '3 of 3 windows were not delivered. Window 0 is stuck.',
      ...{ windows_failed: 3, windows_delivered: 0 },
    });
    expect(failure).not.toHaveProperty('faults');
  });

  it('names every report, each request once, and at most ten windows', async () => {
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
      ...{ failed_windows: shown, windows_failed: 11, windows_delivered: 0 },
      report_ids: reports.flatMap(({ report_ids }) => report_ids),
      request_ids: windows.map((_, index) => `q${index}`),
    });
  });

  it('fits into a Cause even if the windows do not', async () => {
    const windows = createWindows(100);
    const report_ids = ['r', 's', 't'].map((id) => id.repeat(256));
    const happened = '✓'.repeat(6_000);
    const results = windows.map((_, index) => failed(reportOf(index, { happened, report_ids })));
    results[99] = { ...delivered(99), key: 'k'.repeat(1_000) } as never;
    const { failure } = await describeExport({ ...planned, windows, results });
    expect(Buffer.byteLength(JSON.stringify(failure))).toBeLessThanOrEqual(32_768);
    expect(failure).toMatchObject({ error: 'ReportStuck', windows_failed: 99, windows_delivered: 1 });
    expect(failure.delivered_windows).toEqual([]);
  });

  it('28: writes the failure report of a window whose execution died, and of no other', async () => {
    const died = { Error: 'States.DataLimitExceeded', Cause: 'too large' };
    const results = [delivered(0), died, failed(reportOf(2))];
    const { failure, written } = await describeExport({ ...planned, results });
    const lost = {
      ...{ version: '1', error: 'StepFunctions.DataLimitExceeded', happened: 'too large' },
      aws_error: 'States.DataLimitExceeded',
      todo: expect.stringContaining("Read the execution's history"),
      runbook: 'infra/RUNBOOK.md#stepfunctionsdatalimitexceeded',
      ...{ execution: 'e', account: 'acme', export: 'daily', window: createWindows(2)[1] },
      ...{ report_ids: [], request_ids: [] },
      timeline: [{ outcome: 'States.DataLimitExceeded', from: AT, to: AT, times: 1 }],
    };
    expect(written).toEqual([
      [`${PREFIX}start_date=2026-01-02/end_date=2026-01-03/_failure.json`, lost],
      [KEY, failure],
    ]);
    expect(failure.failed_windows).toEqual([lost, reportOf(2)]);
    expect(failure).toMatchObject({ windows_failed: 2, windows_delivered: 1 });
  });

  it('28: uses no name that AWS reserves if all windows died with the same error of AWS', async () => {
    const died = { Error: 'States.Runtime', Cause: 'x' };
    const { failure } = await describeExport({ ...planned, results: planned.windows.map(() => died) });
    expect(failure).toMatchObject({ error: 'StepFunctions.Runtime', aws_error: 'States.Runtime' });
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
  const unnamed = {
    ...{ version: '1', error: 'StepFunctions.Timeout', aws_error: 'States.Timeout' },
    ...{ happened: 'It timed out.', execution: 'e' },
    todo: expect.stringContaining("Read the execution's history"),
    ...{ runbook: 'infra/RUNBOOK.md#stepfunctionstimeout', report_ids: [], request_ids: [] },
    timeline: [{ outcome: 'States.Timeout', from: AT, to: AT, times: 1 }],
  };
  const named = { ...unnamed, account: 'acme', export: 'daily' };
  const { account, name, start_date, end_date } = request;
  const result = { bucket: 'b', account, name, start_date, end_date };

  const both = [0, 1].map(delivered);
  const objects = both.map(({ window, key }) => ({ window, key }));

  it.each<[string, object, object]>([
    ['before its windows had ended', planned, {}],
    [
      'after all of them were delivered',
      { ...planned, windows: createWindows(2), results: both },
      { delivered_windows: objects },
    ],
    ['without windows to export', { ...planned, windows: [], results: [] }, { delivered_windows: [] }],
    [
      '31: when it could not be announced',
      { ...result, version: '1', kind: 'report', windows: both, restated: 0 },
      { delivered_windows: objects, restated: 0 },
    ],
  ])('writes its report at the key of the whole range: %s', async (_, state, windows) => {
    const { failure, written } = await describeExport({ ...state, caught });
    const expected = { ...named, ...windows, bucket: 'test-bucket', key: KEY };
    expect(failure).toStrictEqual(expected);
    expect(written).toEqual([[KEY, expected]]);
  });

  it.each<[unknown, object]>([
    [
      { account: 'acme', name: 'daily' },
      { account: 'acme', export: 'daily' },
    ],
    [{ account: 7, name: 'daily' }, { export: 'daily' }],
    [{ account: 'acme', name: null }, { account: 'acme' }],
    [{ start_date: '2026-11-01' }, {}],
    ['acme', {}],
    [['acme'], {}],
    [null, {}],
    [request, { account: 'acme', export: 'daily' }],
    [
      { account: 'a'.repeat(64), name: 'n'.repeat(65) },
      { account: 'a'.repeat(64), export: 'n'.repeat(64) },
    ],
  ])('36: reads the names of an unchecked request, and writes no report: %j', async (input, names) => {
    const { failure, written } = await describeExport({ caught, request: input, started_at: AT });
    expect(failure).toStrictEqual({ ...unnamed, ...names });
    expect(written).toEqual([]);
  });

  it('36: lists the faults of a refused request', async () => {
    const refused = caughtFrom(new InvalidInput('It has a fault.', { faults: ['name: is missing'] }));
    const { failure } = await describeExport({ caught: refused, request: 'acme' });
    expect(failure).toMatchObject({ error: 'InvalidInput', faults: ['name: is missing'] });
  });

  it.each<[string, object]>([
    ['windows', { ...planned, windows: undefined }],
    ['windows with dates', { ...planned, windows: [{ start: 'x' }] }],
    ['a checked request', { ...planned, request: { ...request, kind: 'other' } }],
    ...Object.keys(result).map((field): [string, object] => [field, { ...result, [field]: undefined }]),
  ])('writes no report if the state has no %s', async (_, state) => {
    expect((await describeExport({ ...state, caught })).written).toEqual([]);
  });
});

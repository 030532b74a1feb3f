import { describe, expect, it } from 'vitest';
import { describeFailure } from '../../functions/describe-failure.ts';
import { ExportIncomplete } from '../../functions/workflow/errors.ts';
import type { ExportFailed, FailureReport } from '../../functions/workflow/states.ts';
import { caughtFrom, openBucket } from '../support/failures.ts';
import { windowOf } from '../support/steps.ts';

const AT = '2026-11-21T06:00:00Z';
const { request } = windowOf(['7d2f8a54-5f0e-4a3c-9f5e-0f4b8a1c2d3e']);
const PREFIX = 'exports/account=acme/export=daily/';
const RANGE = `${PREFIX}start_date=2026-11-01/end_date=2026-11-02/_failure.json`;

/** As many windows of a day each. */
function windowsOf(count: number) {
  const dateOf = (at: number) => new Date(Date.UTC(2026, 0, 1 + at)).toISOString().slice(0, 10);
  return Array.from({ length: count }, (_, at) => ({ start_date: dateOf(at), end_date: dateOf(at + 1) }));
}

/** The card of a window, as DescribeWindowFailure left it. */
function cardOf(at: number, fields: Partial<FailureReport> = {}): FailureReport {
  return {
    ...{ version: '1', error: 'ReportStuck', happened: `Window ${at} is stuck.`, todo: 'Give the ids.' },
    ...{ runbook: 'infra/RUNBOOK.md#reportstuck', execution: 'e', account: 'acme', export: 'daily' },
    window: windowsOf(at + 1)[at],
    ...{ report_ids: [`r${at}`], request_ids: [`q${at}`] },
    timeline: [{ step: 'CheckReport', outcome: `s${at}`, from: AT, to: AT, times: 1 }],
    ...fields,
  };
}

function failed(failure: FailureReport) {
  return { outcome: 'failed', window: failure.window, failure };
}

function delivered(at: number) {
  const window = windowsOf(at + 1)[at];
  return { outcome: 'delivered', window, key: 'k', manifest_key: 'm', bytes: 1 };
}

const incomplete = caughtFrom(
  new ExportIncomplete('2 of 3 windows were not delivered.', { failed: 2, delivered: 1 }),
);
const planned = { execution: 'e', started_at: AT, request, warnings: [], windows: windowsOf(3) };

/** What the export came to, and what was left in the bucket. */
async function describeExport(state: object) {
  const { dependencies, written, lines } = openBucket();
  const { failure } = (await describeFailure(
    { execution: 'e', caught: incomplete, ...state },
    dependencies,
  )) as ExportFailed;
  return { failure, written, lines };
}

describe('DescribeFailure of an export whose windows failed', () => {
  it('has the name of what they failed of where it was the same, and what to do about that', async () => {
    const cards = [cardOf(0, { faults: ['f0'] }), cardOf(2, { faults: ['f2'] })];
    const results = [failed(cards[0] ?? cardOf(0)), delivered(1), failed(cards[1] ?? cardOf(2))];
    const { failure, written } = await describeExport({ ...planned, results });
    expect(failure).toStrictEqual({
      version: '1',
      error: 'ReportStuck',
      happened: '2 of 3 windows were not delivered. Window 0 is stuck.',
      todo: 'Give the ids.',
      runbook: 'infra/RUNBOOK.md#reportstuck',
      ...{ execution: 'e', account: 'acme', export: 'daily' },
      ...{ report_ids: ['r0', 'r2'], request_ids: ['q0', 'q2'], faults: ['f0'] },
      timeline: cards[0]?.timeline,
      ...{ failed_windows: cards, windows_failed: 2, windows_delivered: 1 },
    });
    expect([...written]).toEqual([[RANGE, failure]]);
  });

  it('has no faults where the first window has none', async () => {
    const results = [failed(cardOf(0)), failed(cardOf(1, { faults: ['f1'] }))];
    const { failure } = await describeExport({ ...planned, results });
    expect(failure).not.toHaveProperty('faults');
  });

  it('is incomplete, and no more, where they failed of different things', async () => {
    const other = { error: 'RequestRefused', todo: 'Correct it.', runbook: 'x', faults: ['f1'] };
    const results = [failed(cardOf(0)), failed(cardOf(1, other)), failed(cardOf(2))];
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

  it('names each request once, and shows ten windows, ten requests and thirty reports at most', async () => {
    const windows = windowsOf(11);
    const cards = windows.map((_, at) =>
      cardOf(at, {
        report_ids: [`a${at}`, `b${at}`, `c${at}`],
        request_ids: at === 1 ? ['q0', 'q1'] : [`q${at}`],
      }),
    );
    const { failure } = await describeExport({ ...planned, windows, results: cards.map(failed) });
    const shown = cards.slice(0, 10);
    expect(failure).toMatchObject({
      ...{ failed_windows: shown, windows_failed: 11, windows_delivered: 0 },
      report_ids: shown.flatMap(({ report_ids }) => report_ids),
      request_ids: Array.from({ length: 10 }, (_, at) => `q${at}`),
    });
  });

  it('fits into the Cause, whatever the windows hold', async () => {
    const windows = windowsOf(100);
    const report_ids = ['r', 's', 't'].map((id) => id.repeat(256));
    const happened = '✓'.repeat(6_000);
    const results = windows.map((_, at) => failed(cardOf(at, { happened, report_ids })));
    const { failure } = await describeExport({ ...planned, windows, results });
    expect(Buffer.byteLength(JSON.stringify(failure))).toBeLessThanOrEqual(32_768);
    expect(failure).toMatchObject({ error: 'ReportStuck', windows_failed: 100 });
  });

  it('28: leaves a card of each window that could not leave its own, and of no other', async () => {
    const killed = { Error: 'States.DataLimitExceeded', Cause: 'too large' };
    const results = [delivered(0), killed, failed(cardOf(2))];
    const { failure, written } = await describeExport({ ...planned, results });
    const lost = {
      ...{ version: '1', error: 'States.DataLimitExceeded', happened: 'too large' },
      todo: expect.stringContaining("Read the execution's history"),
      runbook: 'infra/RUNBOOK.md#statesdatalimitexceeded',
      ...{ execution: 'e', account: 'acme', export: 'daily', window: windowsOf(2)[1] },
      ...{ report_ids: [], request_ids: [] },
      timeline: [{ outcome: 'States.DataLimitExceeded', from: AT, to: AT, times: 1 }],
    };
    const key = `${PREFIX}start_date=2026-01-02/end_date=2026-01-03/_failure.json`;
    expect([...written]).toEqual([
      [key, lost],
      [RANGE, failure],
    ]);
    expect(failure.failed_windows).toEqual([lost, cardOf(2)]);
    expect(failure).toMatchObject({ windows_failed: 2, windows_delivered: 1 });
  });

  it('31: is described all the same where no card can be written, and the log says of which', async () => {
    const { dependencies, lines } = openBucket();
    const reasons = [new TypeError('quotes a secret'), 'only text'];
    const putJson = () => Promise.reject(reasons.shift());
    const state = { caught: incomplete, ...planned, windows: windowsOf(1), results: [] };
    const broken = { ...dependencies, store: { putJson } };
    expect(await describeFailure(state, broken)).toMatchObject({ failure: { windows_failed: 1 } });
    const about = { level: 'warn', message: 'the failure report could not be written' };
    const key = `${PREFIX}start_date=2026-01-01/end_date=2026-01-02/_failure.json`;
    expect(lines).toEqual([
      { ...about, fields: { key, error: 'TypeError' } },
      { ...about, fields: { key: RANGE, error: 'unknown' } },
    ]);
  });
});

describe('DescribeFailure of an export that failed by itself', () => {
  const caught = { Error: 'States.Timeout', Cause: 'It timed out.' };
  const card = {
    ...{ version: '1', error: 'States.Timeout', happened: 'It timed out.', execution: 'e' },
    todo: expect.stringContaining("Read the execution's history"),
    ...{ runbook: 'infra/RUNBOOK.md#statestimeout', report_ids: [], request_ids: [] },
    timeline: [{ outcome: 'States.Timeout', from: AT, to: AT, times: 1 }],
  };
  const named = { ...card, account: 'acme', export: 'daily' };

  it.each<[string, object]>([
    ['before its windows had ended', {}],
    ['when all of them were delivered', { results: [delivered(0), delivered(1), delivered(2)] }],
    ['when there was none to export', { windows: [], results: [] }],
  ])('counts no windows %s, and leaves its card where the whole range would be', async (_, state) => {
    const { failure, written } = await describeExport({ ...planned, caught, ...state });
    expect(failure).toStrictEqual(named);
    expect([...written]).toEqual([[RANGE, named]]);
  });

  it('31: leaves its card there as well where it could not be announced', async () => {
    const { account, name, start_date, end_date } = request;
    const windows = [{ window: windowsOf(1)[0], key: 'k', manifest_key: 'm', bytes: 1 }];
    const about = {
      version: '1',
      kind: 'report',
      account,
      name,
      start_date,
      end_date,
      bytes: 1,
      warnings: [],
    };
    const { failure, written } = await describeExport({ ...about, caught, bucket: 'b', windows });
    expect(failure).toStrictEqual(named);
    expect([...written]).toEqual([[RANGE, named]]);
  });

  it.each<[string, unknown, object]>([
    ['a request that has no range', { account: 'acme', name: 'daily' }, { account: 'acme', export: 'daily' }],
    ['a request whose account is none', { account: 7, name: 'daily' }, { export: 'daily' }],
    ['a request whose name is none', { account: 'acme', name: null }, { account: 'acme' }],
    ['a request without names', { start_date: '2026-11-01' }, {}],
    ['a text', 'acme', {}],
    ['a list', ['acme'], {}],
    ['nothing', null, {}],
    ['a whole request that nobody has checked', request, { account: 'acme', export: 'daily' }],
    [
      'names of any length',
      { account: 'a'.repeat(64), name: 'n'.repeat(65) },
      { account: 'a'.repeat(64), export: 'n'.repeat(64) },
    ],
  ])('36: reads what it can of %s, and leaves no card, whose key would be made of it', async (_, input, names) => {
    const { failure, written } = await describeExport({ caught, request: input, started_at: AT });
    expect(failure).toStrictEqual({ ...card, ...names });
    expect([...written]).toEqual([]);
  });

  it.each<[string, object]>([
    ['windows', { windows: undefined }],
    ['windows of another form', { windows: [{ start: 'x' }] }],
    ['a request that was checked', { request: { ...request, kind: 'other' } }],
  ])('makes no key of a state without %s', async (_, state) => {
    const { written } = await describeExport({ ...planned, caught, ...state });
    expect([...written]).toEqual([]);
  });

  it.each([
    'bucket',
    'account',
    'name',
    'start_date',
    'end_date',
  ])('makes no key of a result without %s', async (field) => {
    const { account, name, start_date, end_date } = request;
    const result = { bucket: 'b', account, name, start_date, end_date, [field]: undefined };
    const { written } = await describeExport({ ...result, caught });
    expect([...written]).toEqual([]);
  });
});

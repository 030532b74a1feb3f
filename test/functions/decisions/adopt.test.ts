import { describe, expect, it } from 'vitest';
import { findAdoptable, resumeName } from '../../../functions/decisions/adopt.ts';
import { failureKey } from '../../../functions/workflow/keys.ts';
import type { ExportRequest } from '../../../functions/workflow/request/request.ts';
import type { FailureReport } from '../../../functions/workflow/states.ts';
import { windowOf } from '../../support/steps.ts';

const { request, window } = windowOf(['7d2f8a54-5f0e-4a3c-9f5e-0f4b8a1c2d3e']);
const other = { start_date: '2026-11-02', end_date: '2026-11-03' };
const adoptable_report = { id: 'r1', created_at: '2026-11-02T00:00:00.000Z' };
const REPORT: FailureReport = {
  ...{ version: '1', error: 'RateLimited', happened: 'h', todo: 't', runbook: 'r', execution: 'nightly' },
  ...{ report_ids: [], request_ids: [], timeline: [] },
};
const FAILED = { ...REPORT, window, adoptable_report };

/** Looks for reports of two windows, if the first one left this failure report. */
async function find(
  failure: unknown,
  { execution = 'resume-nightly', changes = {} }: { execution?: string; changes?: object } = {},
) {
  const texts = new Map([[failureKey(request, window), JSON.stringify(failure)]]);
  const read: string[] = [];
  const getText = async (key: string) => {
    read.push(key);
    return texts.get(key);
  };
  const changed = { ...request, ...changes } as ExportRequest;
  const windows = await findAdoptable(changed, [window, other], { store: { getText }, execution });
  return { windows, read };
}

const FOUND = [{ ...window, adoptable_report }, other];
const NONE = [window, other];

describe('30: an execution that resumes a failed one', () => {
  it.each([
    ['its own', FAILED],
    ['the one of an export of one window', { ...REPORT, failed_windows: [FAILED] }],
  ])('adopts the report that a failure report names: %s', async (_, failure) => {
    expect((await find(failure)).windows).toEqual(FOUND);
  });

  it.each([
    ['another execution', { ...FAILED, execution: 'manual' }],
    ['another window', { ...FAILED, window: { ...window, end_date: '2026-11-05' } }],
    ['no report', { ...FAILED, adoptable_report: undefined }],
    ['an id that the state cannot hold', { ...FAILED, adoptable_report: { ...adoptable_report, id: 'r/1' } }],
    ['nothing', null],
  ])('adopts nothing if the failure report names %s', async (_, failure) => {
    expect((await find(failure)).windows).toEqual(NONE);
  });

  it.each([
    ['2026-11-01T23:59:59.999Z', 'UTC', NONE],
    ['2026-11-02T07:59:59.999Z', 'America/Los_Angeles', NONE],
    ['2026-11-02T08:00:00.000Z', 'America/Los_Angeles', FOUND],
  ])('adopts a report created at %s only if the last day had ended in %s', async (created_at, time_zone, expected) => {
    const report = { ...adoptable_report, created_at };
    const { windows } = await find({ ...FAILED, adoptable_report: report }, { changes: { time_zone } });
    expect(windows.map((each) => 'adoptable_report' in each)).toEqual(
      expected.map((each) => 'adoptable_report' in each),
    );
  });
});

it.each([
  ['resumes nothing', { execution: 'nightly' }],
  ['exports no report', { changes: { kind: 'purchases' } }],
])('an execution that %s reads no failure report', async (_, options) => {
  expect(await find(FAILED, options)).toEqual({ windows: NONE, read: [] });
});

it.each([
  ['nightly', 'resume-nightly'],
  ['n'.repeat(73), `resume-${'n'.repeat(73)}`],
  ['n'.repeat(74), expect.stringMatching(/^resume-[0-9a-f]{64}$/)],
])('the name of the execution that resumes %s fits into 80 characters', (execution, expected) => {
  expect(resumeName(execution)).toEqual(expected);
});

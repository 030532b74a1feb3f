import { describe, expect, it } from 'vitest';
import { describeFailure } from '../../functions/describe-failure.ts';
import { ExportIncomplete, RequestRefused } from '../../functions/workflow/errors.ts';
import { MAX_REQUEST_BYTES } from '../../functions/workflow/request/request.ts';
import type { FailedWindow, WindowFailure } from '../../functions/workflow/states.ts';
import { caughtFrom, createFailureDependencies } from '../support/failures.ts';
import { windowOf } from '../support/steps.ts';

const PREFIX = 'exports/account=acme/export=daily/start_date=2026-11-01/end_date=2026-11-02/';
const refused = new RequestRefused('The platform answered 422: metrics: unknown.', {
  request_id: 'req_1',
  status: 422,
  faults: ['metrics: unknown'],
});
const window = windowOf(['7d2f8a54-5f0e-4a3c-9f5e-0f4b8a1c2d3e']);
const state: WindowFailure = { ...window, caught: caughtFrom(refused) };

async function describeWindow(input: WindowFailure = state) {
  const { dependencies, ...seen } = createFailureDependencies();
  const failed = await describeFailure(input, dependencies);
  return { ...seen, failed: failed as FailedWindow };
}

function reportRef(id: string) {
  return { id, created_at: '2026-11-21T06:00:00.000Z', useless_answers: 0, given_up: false };
}

describe('DescribeFailure of a window', () => {
  it('says what happened, to which ids, and what to do', async () => {
    const { failed, written } = await describeWindow({ ...state, reports: [reportRef('r1')] });
    expect(failed).toEqual({
      outcome: 'failed',
      window: window.window,
      failure: {
        error: 'RequestRefused',
        happened: 'The platform answered 422: metrics: unknown.',
        todo: 'Correct what the message names, then run the export again.',
        report_ids: ['r1'],
        request_ids: ['req_1'],
        faults: ['metrics: unknown'],
      },
    });
    expect([...written]).toEqual([
      [
        `${PREFIX}_failure.json`,
        {
          ...failed.failure,
          version: '1',
          execution: 'test-execution',
          account: 'acme',
          export: 'daily',
          window: window.window,
          runbook: 'infra/RUNBOOK.md#requestrefused',
          failed_at: '2026-11-21T06:00:00.000Z',
        },
      ],
    ]);
  });

  it.each([
    ['letters', 'x'],
    ['quotes and backslashes', '\\"'],
    ['characters of several bytes', '✓'],
  ])('100 of them fit into the state and a Cause, even if all is long: %s', async (_, text) => {
    const faults = Array.from({ length: 900 }, () => text.repeat(900));
    const request_id = text.repeat(500);
    const caught = caughtFrom(new RequestRefused(text.repeat(50_000), { request_id, faults }));
    const refusal = { Error: 'DownloadRefused', Cause: caught.Cause };
    const reports = ['0', '1', '2'].map((id) => reportRef(id.repeat(256)));
    const key = `${PREFIX}${'k'.repeat(150)}`;
    const { failed } = await describeWindow({ ...window, reports, caught: refusal });
    expect(Buffer.byteLength(JSON.stringify(failed))).toBeLessThanOrEqual(2_200);
    const delivered = { outcome: 'delivered', window: window.window, key, manifest_key: key, bytes: 1 };
    const exportState = {
      execution: 'e',
      request: { ...window.request, options: { filter: 'x'.repeat(MAX_REQUEST_BYTES) } },
      warnings: [],
      windows: Array.from({ length: 100 }, () => window.window),
      results: Array.from({ length: 100 }, () => failed),
      caught: caughtFrom(new ExportIncomplete('100 of 100 windows were not delivered.')),
    };
    expect(Buffer.byteLength(JSON.stringify(exportState))).toBeLessThan(256 * 1024);
    const mixed = {
      ...exportState,
      windows: exportState.windows.map((_, at) => createWindow(at)),
      results: exportState.windows.map((_, at) => ({
        ...(at < 50 ? failed : delivered),
        window: createWindow(at),
      })),
    };
    const { failure } = await describeFailure(mixed, createFailureDependencies().dependencies);
    expect(JSON.stringify(failure).length).toBeLessThanOrEqual(32_768);
    expect(failure).toMatchObject({ error: 'DownloadRefused', windows_failed: 50, windows_delivered: 50 });
  });
});

function createWindow(at: number) {
  const date = (day: number) => new Date(Date.UTC(2026, 0, 1 + day)).toISOString().slice(0, 10);
  return { start_date: date(at), end_date: date(at + 1) };
}

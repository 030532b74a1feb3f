import { describe, expect, it, onTestFinished } from 'vitest';
import { handler, publishExport } from '../../functions/publish-export.ts';
import type { DeliveredWindow, FailedWindow } from '../../functions/workflow/states.ts';
import { asLambda, awsEnvironment, SETTINGS } from '../support/lambda.ts';
import { BUCKET, openS3 } from '../support/s3.ts';
import { windowOf } from '../support/steps.ts';

const { request } = windowOf(['7d2f8a54-5f0e-4a3c-9f5e-0f4b8a1c2d3e']);
const PREFIX = 'exports/account=acme/export=daily/';
const plan = {
  execution: 'e',
  started_at: '2026-11-21T06:00:00.000Z',
  request,
  warnings: ['w'],
  windows: ['2026-10-01', '2026-10-02'].map((start) => windowFrom(start)),
};

function windowFrom(start: string) {
  return { start_date: start, end_date: '2026-11-02' };
}

/** A bucket that keeps what was removed from it. */
function keepRemoved() {
  const removed: string[] = [];
  const remove = async (key: string) => void removed.push(key);
  return { removed, store: { bucket: 'b', remove } };
}

function delivered(start: string, rows?: number): DeliveredWindow {
  return {
    outcome: 'delivered',
    window: windowFrom(start),
    key: `${start}/report.json`,
    manifest_key: `${start}/_manifest.json`,
    report_id: 'r',
    bytes: 10,
    ...(rows !== undefined && { rows }),
  };
}

const failed: FailedWindow = {
  outcome: 'failed',
  window: windowFrom('2026-10-02'),
  failure: {
    version: '1',
    error: 'RequestRefused',
    happened: 'x',
    todo: 'y',
    runbook: 'z',
    execution: 'e',
    timeline: [],
    report_ids: [],
    request_ids: [],
  },
};

describe('PublishExport', () => {
  it('sums up what was delivered', async () => {
    const { store, removed } = keepRemoved();
    const results = [delivered('2026-10-01', 3), delivered('2026-10-02', 0)];
    const result = await publishExport({ ...plan, results }, { store });
    expect(result).toMatchObject({
      version: '1',
      execution: 'e',
      bucket: 'b',
      bytes: 20,
      rows: 3,
      warnings: ['w'],
    });
    expect(result.windows.map(({ key }) => key)).toEqual([
      '2026-10-01/report.json',
      '2026-10-02/report.json',
    ]);
    expect(removed).toEqual([`${PREFIX}start_date=2026-11-01/end_date=2026-11-02/_failure.json`]);
  });

  it('is what the event announces: the request, each window, and how much it was of all', async () => {
    const { store } = keepRemoved();
    const results = [delivered('2026-10-01', 3), delivered('2026-10-02', 1)];
    expect(await publishExport({ ...plan, results, already_delivered: 5 }, { store })).toStrictEqual({
      ...{ version: '1', execution: 'e', account: 'acme', name: 'daily', kind: 'report' },
      ...{ start_date: '2026-11-01', end_date: '2026-11-02', bucket: 'b' },
      windows: results.map(({ outcome, ...window }) => window),
      ...{ already_delivered: 5, bytes: 20, rows: 4, empty: false, warnings: ['w'] },
    });
  });

  it('23: says that nothing was in it where no window has a row', async () => {
    const { store } = keepRemoved();
    const results = [delivered('2026-10-01', 0), delivered('2026-10-02', 0)];
    const result = await publishExport({ ...plan, results }, { store });
    expect(result).toMatchObject({ rows: 0, empty: true });
    expect(result).not.toHaveProperty('already_delivered');
  });

  it('says nothing of rows where no window was left to export, and removes the failure of a former run', async () => {
    const { store, removed } = keepRemoved();
    for (const results of [{}, { results: [] }]) {
      const nothing = { ...plan, windows: [], already_delivered: 2, ...results };
      const result = await publishExport(nothing, { store });
      expect(result).toMatchObject({ windows: [], already_delivered: 2, bytes: 0 });
      expect([result.rows, result.empty]).toEqual([undefined, undefined]);
    }
    expect(removed).toHaveLength(2);
  });

  it('leaves the failure of a former run to the window that is the whole range', async () => {
    const { store, removed } = keepRemoved();
    const windows = [windowFrom('2026-11-01')];
    await publishExport({ ...plan, windows, results: [delivered('2026-11-01')] }, { store });
    expect(removed).toEqual([]);
  });

  it('says nothing of rows where those of one window are not known', async () => {
    const { store } = keepRemoved();
    const results = [delivered('2026-10-01', 3), delivered('2026-10-02')];
    expect(await publishExport({ ...plan, results }, { store })).not.toHaveProperty('rows');
  });

  it('23: calls nothing empty of which some was delivered before', async () => {
    const { store } = keepRemoved();
    const empty = { ...plan, results: [delivered('2026-10-01', 0), delivered('2026-10-02', 0)] };
    expect(await publishExport(empty, { store })).toMatchObject({ rows: 0, empty: true });
    expect(await publishExport({ ...empty, already_delivered: 0 }, { store })).toMatchObject({ empty: true });
    const rest = await publishExport({ ...empty, already_delivered: 1 }, { store });
    expect([rest.rows, 'empty' in rest]).toEqual([0, false]);
  });

  it('fails where a window failed, and counts', async () => {
    const { store, removed } = keepRemoved();
    const results = [delivered('2026-10-01'), failed];
    await expect(publishExport({ ...plan, results }, { store })).rejects.toMatchObject({
      name: 'ExportIncomplete',
      message: expect.stringContaining('1 of 2 windows were not delivered.'),
      facts: { failed: 1, delivered: 1 },
    });
    expect(removed).toEqual([]);
  });

  it.each([
    ['nothing', []],
    ['null', [null]],
    ['an error', [{ Error: 'States.DataLimitExceeded', Cause: 'x' }]],
    ['a shape that nobody knows', [{ Status: 'FAILED' }]],
  ])('fails where a window’s execution left %s instead of a result', async (_, left) => {
    const { store, removed } = keepRemoved();
    const results = [delivered('2026-10-01'), ...left];
    await expect(publishExport({ ...plan, results }, { store })).rejects.toMatchObject({
      name: 'ExportIncomplete',
      facts: { failed: 1, delivered: 1 },
    });
    expect(removed).toEqual([]);
  });
});

describe('PublishExport as a function', () => {
  it('removes the failure of a former run from the bucket of its settings', async () => {
    const s3 = await openS3({ requireOwner: true });
    onTestFinished(() => s3.close());
    const environment = { ...SETTINGS, ...awsEnvironment({ S3: s3.endpoint }), STEP: 'PublishExport' };
    const lambda = asLambda(environment);
    const results = [delivered('2026-10-01', 3), delivered('2026-10-02', 0)];
    expect(await lambda.call(handler, { ...plan, results })).toMatchObject({ bucket: BUCKET, rows: 3 });
    const key = `${PREFIX}start_date=2026-11-01/end_date=2026-11-02/_failure.json`;
    expect(s3.journal).toMatchObject([{ operation: 'DeleteObject', bucket: BUCKET, key, status: 204 }]);
  });
});

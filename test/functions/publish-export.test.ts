import { describe, expect, it } from 'vitest';
import { publishExport } from '../../functions/publish-export.ts';
import type { DeliveredWindow, FailedWindow } from '../../functions/workflow/states.ts';
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

  it('fails where a window failed, and counts', async () => {
    const { store, removed } = keepRemoved();
    const results = [delivered('2026-10-01'), failed];
    await expect(publishExport({ ...plan, results }, { store })).rejects.toMatchObject({
      name: 'ExportIncomplete',
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

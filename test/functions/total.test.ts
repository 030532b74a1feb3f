import { readFileSync, writeFileSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import { describe, expect, it, vi } from 'vitest';
import { base64Crc32 } from '../../functions/aws/s3.ts';
import { createReport } from '../../functions/create-report.ts';
import { curateReport } from '../../functions/curate-report.ts';
import { planExport } from '../../functions/plan-export.ts';
import { publishExport } from '../../functions/publish-export.ts';
import type { ReportRequest } from '../../functions/workflow/request/request.ts';
import type { ReportRef } from '../../functions/workflow/state-parts.ts';
import type { DeliveredWindow, ExportPlan, SavedWindow } from '../../functions/workflow/states.ts';
import { createBucket } from '../support/manifests.ts';
import { keepLog, reportRef, startStep, storedObject, windowOf } from '../support/steps.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const RECONCILED = { dimensions: ['campaign_id'], metrics: ['spend', 'reach'], reconcile: true };
const NO_TOTAL = "the platform's total was not compared with the rows: ";
const target = { platform: 'api.platform.example/v1', revision: '2026-09-01' };

describe("61: PlanExport plans the platform's total", () => {
  async function plan(fields: object) {
    const { request } = windowOf(['7d2f8a54-5f0e-4a3c-9f5e-0f4b8a1c2d3e']);
    const input = { request: { ...request, ...RECONCILED, ...fields }, execution: 'e', started_at: NOW };
    const dependencies = { log: keepLog().log, store: createBucket().store, catalog: undefined, ...target };
    const now = () => new Date(NOW);
    return (await planExport(input, { ...dependencies, now })) as ExportPlan;
  }

  it('as a window beside each window of rows', async () => {
    const { windows } = await plan({ start_date: '2026-01-01', end_date: '2026-03-01' });
    const [late, early] = [
      { start_date: '2026-02-15', end_date: '2026-03-01' },
      { start_date: '2026-01-01', end_date: '2026-02-15' },
    ];
    const content = 'total';
    expect(windows).toEqual([late, { ...late, content }, early, { ...early, content }]);
  });

  it('for at most 50 windows, so that both kinds together are 100', async () => {
    const range = { start_date: '2010-01-01', end_date: '2016-02-29' };
    expect((await plan(range)).windows).toHaveLength(100);
    const refused = plan({ ...range, end_date: '2016-03-01' });
    await expect(refused).rejects.toMatchObject({ facts: { faults: [expect.stringContaining('2250')] } });
  });
});

const NOW = '2026-11-21T06:00:00.000Z';

/** The runs of an export in a bucket that has none. */
const NO_RUNS = {
  list: async () => [],
  getText: async () => undefined,
  remove: async () => {},
};

it("61: CreateReport asks for the platform's total without dimensions", async () => {
  const { sandbox, access, window } = await startStep();
  const request = { ...window.request, ...RECONCILED };
  await createReport({ ...window, request }, access);
  await createReport({ ...window, request, window: { ...window.window, content: 'total' } }, access);
  const [rows, total] = sandbox.reports();
  expect(total?.request).toEqual({ ...rows?.request, dimensions: [] });
});

function objectOf(key: string, body: string) {
  return storedObject({ key, bytes: body.length, crc32: base64Crc32(crc32(body)) });
}

const ROWS = JSON.stringify([
  { date: '2026-11-01', campaign_id: 'a', spend: 1.004, reach: 5 },
  { date: '2026-11-01', campaign_id: 'b', spend: 1.004, reach: 5 },
  { date: '2026-11-03', campaign_id: 'a', spend: 3, reach: 5 },
]);
const TOTALS = JSON.stringify([
  { date: '2026-11-01', spend: 2.01, reach: 7 },
  { date: '2026-11-02', spend: 0.5, reach: 7 },
]);

const WINDOW = { start_date: '2026-11-01', end_date: '2026-11-04' };
const TOTAL = { ...WINDOW, content: 'total' } as const;

interface Setting {
  readonly rows?: string;
  readonly hasTables?: boolean;
  /** The ids of the two reports. */
  readonly ids?: readonly [rows: string, total: string];
  /** An earlier execution got two reports with the same ids. */
  readonly isAgain?: boolean;
  /** The same reports are in the ledger as days of a table too: `table` was set when they came. */
  readonly isOfTable?: boolean;
  /** Another warning of the total's window. */
  readonly warning?: string;
}

/** Curates the rows of a window and the total beside it, and publishes their export. */
async function publish(
  totals: string,
  fields: Partial<ReportRequest> = {},
  {
    rows = ROWS,
    hasTables = true,
    ids = ['r1', 't1'],
    isAgain = false,
    isOfTable = false,
    warning,
  }: Setting = {},
) {
  const files = new Map([
    ['report.json', Buffer.from(rows)],
    ['total/report.json', Buffer.from(totals)],
  ]);
  const store = {
    bucket: 'b',
    getFile: async (key: string, path: string) => {
      const bytes = files.get(key);
      if (bytes) writeFileSync(path, bytes);
      return bytes && { etag: '', crc32: base64Crc32(crc32(bytes)) };
    },
    putFile: async (key: string, path: string) => files.set(key, readFileSync(path)).size > 0,
    readEnd: async (key: string) => {
      const bytes = files.get(key);
      return bytes && { bytes, size: bytes.length };
    },
    ...NO_RUNS,
  };
  const dependencies = {
    store,
    catalog: hasTables ? { getTable: async () => undefined } : undefined,
    target,
    maxBytes: 1e6,
    millisecondsLeft: () => 900_000,
  };
  const state = windowOf([]);
  const request: ReportRequest = { ...state.request, ...RECONCILED, table: false, ...WINDOW, ...fields };
  vi.stubEnv('TMPDIR', temporaryDirectory());
  const curate = async (
    window: SavedWindow['window'],
    report: ReportRef,
    object: SavedWindow['object'],
    table?: boolean,
  ) => {
    const saved = {
      ...state,
      request: { ...request, ...(table !== undefined && { table }) },
      window,
      reports: [report],
      ready_id: report.id,
      object,
    };
    const { warnings } = await curateReport({ ...saved, status: 'saved' }, dependencies);
    return deliveredWindow(window, report.id, [...warnings, ...(warning === undefined ? [] : [warning])]);
  };
  const curateBoth = async (created?: string, table?: boolean) => [
    await curate(WINDOW, reportRef(ids[0], created), objectOf('report.json', rows), table),
    await curate(TOTAL, reportRef(ids[1], created), objectOf('total/report.json', totals), table),
  ];
  if (isOfTable) await curateBoth(undefined, true);
  if (isAgain) await curateBoth('2026-11-10T06:00:00.000Z');
  return publishResults(await curateBoth(), request, store);
}

function deliveredWindow(
  window: SavedWindow['window'],
  report_id: string,
  warnings: readonly string[] = [],
): DeliveredWindow {
  const objects = { key: 'k', manifest_key: 'm', bytes: 1, rows: 3 };
  return { outcome: 'delivered', window, report_id, ...objects, warnings: [...warnings] };
}

async function publishResults(
  results: unknown[],
  request: ReportRequest,
  store: Parameters<typeof publishExport>[1]['store'],
) {
  const windows = [WINDOW, TOTAL];
  const plan = { execution: 'e', started_at: NOW, request, warnings: [], windows, results };
  return publishExport(plan, { store, now: () => new Date(NOW), program: 'npm run export --' });
}

describe('61: an export that reconciles', () => {
  it('compares each day, also without rows, and no metric that does not add up', async () => {
    const result = await publish(TOTALS);
    const spend = { metric: 'spend', rows_sum: 5.008, platform_total: 2.51, difference: 2.498 };
    expect(result).toMatchObject({ reconciled: { days: 3, metrics: [spend] }, warnings: [] });
  });

  it('compares the newest of the reports that have one id', async () => {
    const { reconciled } = await publish(TOTALS, {}, { isAgain: true });
    expect(reconciled?.metrics).toMatchObject([{ rows_sum: 5.008, platform_total: 2.51 }]);
  });

  it("compares only the days of the request's table", async () => {
    const { reconciled } = await publish(TOTALS, {}, { isOfTable: true });
    expect(reconciled).toMatchObject({ days: 3, metrics: [{ rows_sum: 5.008, platform_total: 2.51 }] });
  });

  it('gives no other warning as the reason for which nothing was compared', async () => {
    const setting = { hasTables: false, warning: 'the platform refused 1 advertiser' };
    const { warnings } = await publish(TOTALS, {}, setting);
    expect(warnings).toContainEqual(
      expect.stringMatching(`^${NO_TOTAL}.*without tables, there is no ledger$`),
    );
  });

  it('delivers the windows of its rows, and no others', async () => {
    const { windows, rows, bytes } = await publish(TOTALS);
    expect(windows).toMatchObject([{ window: WINDOW, report_id: 'r1' }]);
    expect({ rows, bytes }).toEqual({ rows: 3, bytes: 1 });
  });

  it.each([
    [{ spend: 0.001 }, 2],
    [{ spend: 1 }, 1],
    [{ spend: 0.0009, reach: 0 }, 3],
  ])('counts what differs by more than %j of the total, and warns of the worst', async (shares, above) => {
    const { reconciled, warnings } = await publish(TOTALS, { reconcile_tolerance: shares });
    const worst = 'spend of 2026-11-03: 3 in the rows, 0 in the total';
    expect(reconciled?.above_tolerance).toBe(above);
    expect(warnings).toEqual([expect.stringMatching(`reconcile_tolerance: ${above}, .*${worst}$`)]);
  });

  it.each([
    ['is no JSON', '<html>'],
    ['is about other days', '[{"date":"2026-12-01","spend":1,"reach":1}]'],
  ])('throws DownloadRefused for a total that %s', async (_, totals) => {
    await expect(publish(totals)).rejects.toMatchObject({ name: 'DownloadRefused' });
  });

  it.each<[string, Setting & { readonly totals?: string }]>([
    ['the rows have no sums', { rows: '[{"date":"2026-11-01","campaign_id":"a"}]' }],
    ['there are no tables', { hasTables: false }],
    ['both have the same report', { ids: ['r1', 'r1'] }],
  ])('warns that nothing was compared if %s', async (_, setting) => {
    const { reconciled, warnings } = await publish(TOTALS, {}, setting);
    expect(reconciled).toBeUndefined();
    expect(warnings.filter((warning) => warning.startsWith(NO_TOTAL))).toHaveLength(1);
  });

  it.each([
    [
      'failed',
      { outcome: 'failed', window: TOTAL, failure: failureOf('RequestRefused', 'It said 403.') },
      'RequestRefused: It said 403.',
    ],
    ['died', { Error: 'States.TaskFailed', Cause: 'It ran out of memory.' }, 'It ran out of memory.'],
  ])('delivers the rows with a warning if its total %s', async (_, outcome, reason) => {
    const request: ReportRequest = { ...windowOf([]).request, ...RECONCILED, ...WINDOW };
    const store = { bucket: 'b', readEnd: async () => undefined, ...NO_RUNS };
    const result = await publishResults([deliveredWindow(WINDOW, 'r1'), outcome], request, store);
    expect(result).toMatchObject({ windows: [{ report_id: 'r1' }] });
    expect(result.warnings).toEqual([`${NO_TOTAL}2026-11-01 to 2026-11-03: ${reason}`]);
  });

  it('fails if its rows failed, whatever became of the total', async () => {
    const request: ReportRequest = { ...windowOf([]).request, ...RECONCILED, ...WINDOW };
    const store = { bucket: 'b', readEnd: async () => undefined, ...NO_RUNS };
    const failed = { outcome: 'failed', window: WINDOW, failure: failureOf('ReportStuck', 'No.') };
    const publishing = publishResults([failed, deliveredWindow(TOTAL, 't1')], request, store);
    await expect(publishing).rejects.toMatchObject({ happened: '1 of 1 window was not delivered.' });
  });
});

function failureOf(error: string, happened: string) {
  return { error, happened, todo: 'Wait.', report_ids: [], request_ids: [] };
}

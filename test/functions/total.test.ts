import { readFileSync, writeFileSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import { describe, expect, it, vi } from 'vitest';
import { base64Crc32 } from '../../functions/aws/s3.ts';
import { createReport } from '../../functions/create-report.ts';
import { curateReport } from '../../functions/curate-report.ts';
import type { ReportRequest } from '../../functions/workflow/request/request.ts';
import type { ReportWindow, SavedWindow } from '../../functions/workflow/states.ts';
import { callsTo } from '../support/journal.ts';
import { reportRef, startStep, storedObject, windowOf } from '../support/steps.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const RECONCILED = { dimensions: ['campaign_id'], metrics: ['spend', 'reach'], reconcile: true };
const NO_TOTAL = /^the platform's total was not compared with the rows: /;

describe("61: CreateReport creates the platform's total", () => {
  /** A window whose first report was created. */
  async function begin(faults: readonly string[] = []) {
    const { sandbox, access, window } = await startStep({ faults });
    const create = (state: ReportWindow) => createReport(state, access);
    return {
      sandbox,
      create,
      first: await create({ ...window, request: { ...window.request, ...RECONCILED } }),
    };
  }

  it('after the first report, with the same metrics and no dimensions', async () => {
    const { sandbox, create, first } = await begin();
    expect(first).toMatchObject({ status: 'planned', wait_seconds: 10 });
    const after = await create(first);
    const [rows, total] = sandbox.reports();
    expect(after).toMatchObject({ status: 'pending', wait_seconds: 10, warnings: [] });
    expect([after.reports.map(({ id }) => id), after.total?.id]).toEqual([[rows?.id], total?.id]);
    expect(total?.request).toEqual({ ...rows?.request, dimensions: [] });
  });

  it('never after a replacement', async () => {
    const { create, first } = await begin();
    const reports = first.reports.map((report) => ({ ...report, last_answer: { said: 'is PROCESSING' } }));
    const after = await create({ ...first, reports });
    expect([after.status, after.reports.length, after.total]).toEqual(['pending', 2, undefined]);
  });

  it('with a new token if its POST ends with a 401, and once more after a 429', async () => {
    const { create, first } = await begin([
      'create nth=2 status=401',
      'create nth=3 status=429 retry_after=30',
    ]);
    await expect(create(first)).rejects.toMatchObject({ name: 'TokenRefused' });
    const renewed = { ...first, token: { ...first.token, unproven: true } };
    const throttled = await create(renewed);
    expect(throttled).toMatchObject({
      status: 'planned',
      wait_seconds: 30,
      throttled: 1,
      reports: first.reports,
    });
    const after = await create(throttled);
    expect(after).toMatchObject({
      status: 'pending',
      throttled: 0,
      token: { unproven: false },
      warnings: [],
    });
    expect(after.total).toBeDefined();
  });

  it.each([
    ['a second 429', 'status=429', { throttled: 1 }, /: the platform answered 429 again$/],
    ['a 401 for a new token', 'status=401', { token: { ...windowOf([]).token, unproven: true } }, NO_TOTAL],
    ['a 403', 'status=403', {}, NO_TOTAL],
    ['a lost answer', 'reset=after', {}, NO_TOTAL],
  ])('or warns if its POST ends with %s, and sends no other one', async (_, fault, fields, warning) => {
    const { sandbox, create, first } = await begin([`create nth=2 ${fault} times=always`]);
    const after = await create({ ...first, ...fields });
    expect(after).toMatchObject({ ...fields, status: 'pending', wait_seconds: 10, reports: first.reports });
    expect([after.total, after.warnings]).toEqual([undefined, [expect.stringMatching(warning)]]);
    expect(callsTo(sandbox, 'create')).toHaveLength(2);
  });

  it('only once: a total that is stuck ends with ReportStuck', async () => {
    const { access, window } = await startStep();
    const main = { reports: [reportRef('r1')], ready_id: 'r1', object: objectOf('a', '') };
    const creating = createReport({ ...window, main, reports: [reportRef('t1')] }, access);
    await expect(creating).rejects.toMatchObject({ name: 'ReportStuck', facts: { report_ids: ['t1'] } });
  });
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

describe('61: CurateReport', () => {
  const window = { start_date: '2026-11-01', end_date: '2026-11-04' };

  /** Curates the rows of a window and then its total. */
  async function curate(
    totals: string,
    fields: Partial<ReportRequest> = {},
    { rows = ROWS, hasTables = true, id = 't1' } = {},
  ) {
    const files = new Map([
      ['report.json', Buffer.from(rows)],
      ['total.json', Buffer.from(totals)],
    ]);
    const store = {
      getFile: async (key: string, path: string) => {
        const bytes = files.get(key);
        if (bytes) writeFileSync(path, bytes);
        return bytes && { etag: '', crc32: base64Crc32(crc32(bytes)) };
      },
      putFile: async (key: string, path: string) => files.set(key, readFileSync(path)).size > 0,
    };
    const dependencies = {
      store,
      catalog: hasTables ? { getTable: async () => undefined } : undefined,
      target: { platform: 'api.platform.example/v1', revision: '2026-09-01' },
      maxBytes: 1e6,
      millisecondsLeft: () => 900_000,
    };
    const state = windowOf([]);
    const request: ReportRequest = { ...state.request, ...RECONCILED, table: false, ...fields };
    const main = {
      reports: [reportRef('r0'), reportRef('r1')],
      ready_id: 'r1',
      object: objectOf('report.json', rows),
    };
    const saved: SavedWindow = { ...state, ...main, window, request, total: reportRef(id), status: 'saved' };
    vi.stubEnv('TMPDIR', temporaryDirectory());
    const turned = await curateReport(saved, dependencies);
    if (turned.status === 'curated') return { turned, after: turned };
    const copied = { ...turned, ready_id: 't1', object: objectOf('total.json', totals) };
    return { turned, after: await curateReport({ ...copied, status: 'saved' }, dependencies), main };
  }

  it('turns to the total once the rows are read, and back once it is read', async () => {
    const { turned, after, main } = await curate(TOTALS);
    const waiting = { status: 'pending', wait_seconds: 10, reports: [{ id: 't1' }], main };
    expect(turned).toMatchObject({ ...waiting, main: { ...main, object: { ...main?.object, rows: 3 } } });
    expect([turned.ready_id, turned.total]).toEqual([undefined, undefined]);
    expect(after).toMatchObject({
      status: 'curated',
      ready_id: 'r1',
      object: { key: 'report.json', rows: 3 },
    });
    expect([after.reports, after.main, after.warnings]).toEqual([main?.reports, undefined, []]);
  });

  it('compares each day, also one that only the total or the rows have, and no metric that does not add up', async () => {
    const { after } = await curate(TOTALS);
    const spend = { metric: 'spend', rows_sum: 5.008, platform_total: 2.51, difference: 2.498 };
    const reconciled = { report_id: 't1', key: 'total.json', days: 3, metrics: [spend] };
    expect(after.curated?.reconciled).toEqual(reconciled);
  });

  it.each([
    [{ spend: 0.001 }, 2, 'spend of 2026-11-03: 3 in the rows, 0 in the total'],
    [{ spend: 1 }, 1, 'spend of 2026-11-03: 3 in the rows, 0 in the total'],
    [{ spend: 0.0009, reach: 0 }, 3, 'spend of 2026-11-03: 3 in the rows, 0 in the total'],
  ])('counts what differs by more than %j of the total, and warns of the worst', async (shares, above, worst) => {
    const { after } = await curate(TOTALS, { reconcile_tolerance: shares });
    expect(after.curated?.reconciled?.above_tolerance).toBe(above);
    expect(after.warnings).toEqual([expect.stringMatching(`reconcile_tolerance: ${above}, .*${worst}$`)]);
  });

  it.each([
    ['is no JSON', '<html>', 'DownloadRefused'],
    ['is about other days', '[{"date":"2026-12-01","spend":1,"reach":1}]', 'DownloadRefused'],
  ])('throws %s of a total that %s', async (_, totals, name) => {
    await expect(curate(totals)).rejects.toMatchObject({ name });
  });

  it('warns if the total lacks a metric, the rows have no sums, or there are no tables', async () => {
    const lacking = await curate('[{"date":"2026-11-01","reach":1}]');
    const unread = await curate(TOTALS, {}, { rows: '[{"date":"2026-11-01","campaign_id":"a"}]' });
    const untabled = await curate(TOTALS, {}, { hasTables: false });
    for (const { after } of [lacking, unread, untabled]) {
      expect(after).toMatchObject({ status: 'curated', ready_id: 'r1', object: { key: 'report.json' } });
      expect(after.curated).not.toHaveProperty('reconciled');
      expect(after.warnings.at(-1)).toMatch(NO_TOTAL);
    }
    expect(unread.turned.status).toBe('curated');
  });

  it.each(['r0', 'r1'])('fetches no total that has the id of the report %s of the rows', async (id) => {
    const { turned } = await curate(TOTALS, {}, { id });
    expect(turned).toMatchObject({ status: 'curated', ready_id: 'r1', object: { key: 'report.json' } });
    expect(turned.warnings).toEqual([expect.stringMatching(NO_TOTAL)]);
  });
});

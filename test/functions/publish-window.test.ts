import { describe, expect, it } from 'vitest';
import { publishWindow } from '../../functions/publish-window.ts';
import { PurchasesRequest } from '../../functions/workflow/request/request.ts';
import type { SavedWindow } from '../../functions/workflow/states.ts';
import { BUCKET } from '../support/s3.ts';
import { reportRef, stoppedClock, storedObject, windowOf } from '../support/steps.ts';

const PREFIX = 'exports/account=acme/export=daily/start_date=2026-11-01/end_date=2026-11-02/';
const NOW = '2026-11-21T06:00:00.000Z';
/** A time that no manifest of ours has. It would keep its days for ever. */
const FUTURE = '2099-01-01T00:00:00.000Z';
const ADVERTISER = '7d2f8a54-5f0e-4a3c-9f5e-0f4b8a1c2d3e';
const { request, ...window } = windowOf([ADVERTISER]);
const object = storedObject({ key: `${PREFIX}report.json`, bytes: 7, crc32: 'y/Q5Jg==' });

function savedWindow(more: Partial<SavedWindow> = {}): SavedWindow {
  return { ...window, status: 'saved', request, reports: [reportRef('r1')], ready_id: 'r1', object, ...more };
}

/**
 * Publishes a window.
 *
 * @param old the manifest that is there
 * @param isFaster another execution writes first
 */
async function publish(state: SavedWindow, old?: object, isFaster = false, hasTables = true) {
  const calls: unknown[] = [];
  const written: string[] = [];
  const store = {
    bucket: BUCKET,
    getTagged: async () => old && { text: JSON.stringify(old), etag: 'tag' },
    async putJson(key: string, value: unknown, replaces: unknown) {
      calls.push([key, replaces]);
      written.push(JSON.stringify(value));
      return !isFaster;
    },
  };
  const deployment = { platform: 'api.platform.example/v1', revision: '2026-09-01' };
  const dependencies = { store, now: stoppedClock(NOW).now, hasTables, ...deployment };
  const result = await publishWindow(state, dependencies).catch((thrown) => thrown);
  return { result, calls, manifest: written.map((text) => JSON.parse(text))[0] };
}

const { advertiser_ids, metrics, granularity, format } = request;
const sent = { ...window.window, advertiser_ids, metrics, granularity, format };
const manifest = {
  version: '1',
  account: 'acme',
  export: 'daily',
  kind: 'report',
  ...window.window,
  request: sent,
  export_request: expect.objectContaining({ name: 'daily', account: 'acme' }),
  request_hash: expect.stringMatching(/^[0-9a-f]{64}$/),
  platform: 'api.platform.example/v1',
  revision: '2026-09-01',
  report_id: 'r1',
  abandoned_report_ids: [],
  bucket: BUCKET,
  key: `${PREFIX}report.json`,
  bytes: 7,
  content_type: 'application/json',
  checksum: { algorithm: 'CRC32', type: 'FULL_OBJECT', value: 'y/Q5Jg==' },
  report_created_at: '2026-11-21T05:00:00.000Z',
  copied_at: '2026-11-21T05:59:58.000Z',
  published_at: NOW,
  execution: 'test-execution',
  warnings: [],
};

const delivered = {
  outcome: 'delivered',
  window: window.window,
  key: object.key,
  manifest_key: `${PREFIX}_manifest.json`,
  bytes: 7,
};

describe('PublishWindow', () => {
  const table = {
    name: 'daily',
    days: 3,
    kept: 1,
    restated: 2,
    first_restated: '2026-11-02',
    last_restated: '2026-11-03',
    held: 1,
    first_held: '2026-11-01',
    last_held: '2026-11-01',
  };
  const curated = { first_date: '2026-11-01', last_date: '2026-11-03', sums: { spend: '1.5' }, table };

  it('writes what CurateReport found into the manifest, and passes restated and held days on', async () => {
    const table_problem = `column spend: ${'x'.repeat(500)}`;
    const curation = { ...curated, table_problem };
    const { result, manifest: written } = await publish(savedWindow({ curated: curation }));
    expect(written).toEqual({ ...manifest, ...curation });
    const { name, days, kept, ...changes } = table;
    expect(result).toEqual({ ...delivered, report_id: 'r1', ...changes, table_problem: expect.any(String) });
    expect(result.table_problem).toMatch(/^column spend: x+/);
    expect(result.table_problem.length).toBeLessThanOrEqual(300);
  });

  describe('after a CurateReport that died', () => {
    const caught = {
      Error: 'Sandbox.Timedout',
      Cause: JSON.stringify({ errorMessage: 'Task timed out after 900.00 seconds' }),
    };
    const saved = savedWindow({ caught, warnings: ['of the request'], export_warnings: 1 });
    const warning =
      'the rows were not read, or the table may lack days (Sandbox.Timedout): Task timed out after 900.00 seconds';

    it('delivers the file, warns, and has a table problem', async () => {
      const { result, manifest: written } = await publish(saved);
      expect(written).toMatchObject({ warnings: ['of the request', warning], table_problem: warning });
      expect(result).toMatchObject({ warnings: [warning], table_problem: warning });
    });

    const untabled = { ...saved, request: { ...saved.request, table: false as const } };
    it.each([
      ['export', () => publish(untabled)],
      ['stack', () => publish(saved, undefined, false, false)],
    ])('warns, and has no table problem if the %s has no table', async (_, deliver) => {
      const { result } = await deliver();
      expect(result.warnings).toEqual([warning]);
      expect(result.table_problem).toBeUndefined();
    });
  });

  it("61: has no table problem if the platform's total was not read", async () => {
    const caught = { Error: 'Sandbox.Timedout', Cause: 'Task timed out after 900.00 seconds' };
    const total = savedWindow({ caught });
    const { result } = await publish({ ...total, window: { ...total.window, content: 'total' } });
    expect(result.warnings).toEqual([expect.stringContaining('Task timed out')]);
    expect(result.table_problem).toBeUndefined();
  });

  it('returns less than 2,000 bytes, however many warnings a window has', async () => {
    const warnings = ['of the request', ...Array.from({ length: 50 }, (_, at) => `${at} ${'é'.repeat(400)}`)];
    const curation = { ...curated, table_problem: 'é'.repeat(400) };
    const { result } = await publish(savedWindow({ curated: curation, warnings, export_warnings: 1 }));
    expect(result.warnings.at(-1)).toMatch(/^and \d+ more$/);
    expect(Buffer.byteLength(JSON.stringify(result))).toBeLessThan(2_000);
  });

  it('writes the manifest where there is none, or one of an older report', async () => {
    const key = `${PREFIX}_manifest.json`;
    const first = await publish(savedWindow());
    expect(first.calls).toEqual([[key, 'absent']]);
    expect(first.manifest).toEqual(manifest);
    const older = { ...first.manifest, report_created_at: '2026-11-20T05:00:00.000Z' };
    const { calls } = await publish(savedWindow(), older);
    expect(calls).toEqual([[key, { text: JSON.stringify(older), etag: 'tag' }]]);
  });

  it.each<{ fault: string; change: (written: object) => object }>([
    { fault: 'has another form', change: () => ({ version: '1' }) },
    { fault: 'is of a report from 2099', change: (written) => ({ ...written, report_created_at: FUTURE }) },
    { fault: 'was published in 2099', change: (written) => ({ ...written, published_at: FUTURE }) },
    { fault: 'is about another window', change: (written) => ({ ...written, end_date: '2026-11-03' }) },
  ])('replaces a damaged manifest that $fault, even with an older report', async ({ change }) => {
    const newer = [reportRef('r2', '2026-11-21T05:30:00.000Z')];
    const { manifest: written } = await publish(savedWindow({ reports: newer, ready_id: 'r2' }));
    const damaged = change(written);
    const { calls, manifest: replaced } = await publish(savedWindow(), damaged);
    expect(calls).toEqual([[`${PREFIX}_manifest.json`, { text: JSON.stringify(damaged), etag: 'tag' }]]);
    expect(replaced).toEqual(manifest);
  });

  it('50: leaves the manifest of a newer report, says so, and succeeds', async () => {
    const { manifest: first } = await publish(savedWindow());
    const newer = { ...first, report_created_at: '2026-11-21T05:00:00.001Z', execution: 'faster' };
    const { result, calls } = await publish(savedWindow({ export_warnings: 0 }), newer);
    expect(calls).toEqual([]);
    const warning = 'execution faster delivered a newer report of this window, so its manifest stays';
    expect(result).toMatchObject({ outcome: 'delivered', warnings: [warning] });
  });

  it('50: tries again if another execution writes at the same time', async () => {
    expect((await publish(savedWindow(), undefined, true)).result.name).toBe('ServiceUnavailable');
  });

  const time_zone = 'America/Los_Angeles';
  const options = { currency: 'USD' };
  const dimensions = ['campaign_id'];
  const reports = [reportRef('r1'), reportRef('r2', '2026-11-21T05:30:00.000Z'), reportRef('r3')];
  it.each<[string, Partial<SavedWindow>, object]>([
    [
      'the request’s own revision (contract 9.4)',
      { request: { ...request, revision: '2026-05-01' } },
      { revision: '2026-05-01' },
    ],
    [
      'the options, dimensions and warnings of the request',
      { request: { ...request, options, dimensions }, warnings: ['w1', 'w2'] },
      { request: { ...sent, ...options, dimensions }, warnings: ['w1', 'w2'] },
    ],
    [
      '12: the reports that were abandoned, and when the READY one was created',
      { reports, ready_id: 'r2' },
      { report_id: 'r2', abandoned_report_ids: ['r1', 'r3'], report_created_at: '2026-11-21T05:30:00.000Z' },
    ],
    ['23: that there are no rows', { object: { ...object, rows: 0 } }, { rows: 0, empty: true }],
    ['the time zone in which the request counts days', { request: { ...request, time_zone } }, { time_zone }],
    [
      '24: the encoding and the version of the object',
      { object: { ...object, content_encoding: 'gzip', version_id: 'v1' } },
      { content_encoding: 'gzip', version_id: 'v1' },
    ],
  ])('writes to the manifest %s', async (_, changes, expected) => {
    expect((await publish(savedWindow(changes))).manifest).toEqual({ ...manifest, ...expected });
  });
});

const { reports: _, ready_id: __, ...saved } = savedWindow();
const state = { ...saved, reports: [] };
const fields = { name: 'daily', account: 'acme', ...window.window, max_parallel: 1 };
const { report_id, abandoned_report_ids, report_created_at, ...unreported } = manifest;

it('PublishWindow of purchases names no report, and the query as it was sent (contract 2.4)', async () => {
  const query = { kind: 'purchases', advertiser_id: ADVERTISER, options: { currency: 'USD' } };
  const published = await publish({ ...state, request: PurchasesRequest.parse({ ...fields, ...query }) });
  expect(published.manifest).toEqual({
    ...unreported,
    kind: 'purchases',
    request: { ...window.window, advertiser_id: ADVERTISER, currency: 'USD' },
  });
  expect(published.result).toEqual(delivered);
});

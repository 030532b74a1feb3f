import { GetObjectCommand } from '@aws-sdk/client-s3';
import { describe, expect, it, onTestFinished } from 'vitest';
import { handler, publishWindow } from '../../functions/publish-window.ts';
import { ListRequest, PurchasesRequest } from '../../functions/workflow/request/request.ts';
import { SavedWindow, type StoredObject } from '../../functions/workflow/states.ts';
import { ACCOUNT } from '../../infra/local/s3/server.ts';
import { asLambda, awsEnvironment, SETTINGS } from '../support/lambda.ts';
import { BUCKET, openS3 } from '../support/s3.ts';
import { stoppedClock, windowOf } from '../support/steps.ts';

const PREFIX = 'exports/account=acme/export=daily/start_date=2026-11-01/end_date=2026-11-02/';
const NOW = '2026-11-21T06:00:00.000Z';
const { request, ...window } = windowOf(['7d2f8a54-5f0e-4a3c-9f5e-0f4b8a1c2d3e']);
const object: StoredObject = {
  key: `${PREFIX}report.json`,
  bytes: 7,
  crc32: 'y/Q5Jg==',
  content_type: 'application/json',
  copied_at: '2026-11-21T05:59:58.000Z',
};

function reportOf(id: string, created_at = '2026-11-21T05:00:00.000Z') {
  return { id, created_at, useless_answers: 0, given_up: false };
}

/** A report that was saved, with these changes. */
function savedWindow(changes: Partial<SavedWindow> = {}): SavedWindow {
  const reports = [reportOf('r1')];
  return { ...window, status: 'saved', request, reports, ready_id: 'r1', object, ...changes };
}

/** A bucket that keeps what is done to it, in order, with the JSON of what is written. */
function openBucket() {
  const done: string[] = [];
  const written: string[] = [];
  const store = {
    bucket: BUCKET,
    async putJson(key: string, value: unknown) {
      done.push(`put ${key}`);
      written.push(JSON.stringify(value));
    },
    remove: async (key: string) => void done.push(`remove ${key}`),
    getText: async () => undefined,
    head: async () => undefined,
  };
  const made = { platform: 'api.platform.example/v1', revision: '2026-09-01' };
  const dependencies = { store, now: stoppedClock(NOW).now, ...made };
  return { done, dependencies, manifest: () => JSON.parse(written.join('')) };
}

/** The manifest that a window gets. */
async function manifestOf(state: SavedWindow): Promise<Record<string, unknown>> {
  const { dependencies, manifest } = openBucket();
  await publishWindow(state, dependencies);
  return manifest();
}

const manifest = {
  version: '1',
  account: 'acme',
  export: 'daily',
  kind: 'report',
  start_date: '2026-11-01',
  end_date: '2026-11-02',
  request: {
    start_date: '2026-11-01',
    end_date: '2026-11-02',
    advertiser_ids: ['7d2f8a54-5f0e-4a3c-9f5e-0f4b8a1c2d3e'],
    metrics: ['spend'],
    granularity: 'DAY',
    format: 'JSON',
  },
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

describe('PublishWindow', () => {
  it('writes the manifest last, once no failure of a former run is beside it', async () => {
    const { dependencies, done } = openBucket();
    await publishWindow(savedWindow(), dependencies);
    expect(done).toEqual([`remove ${PREFIX}_failure.json`, `put ${PREFIX}_manifest.json`]);
  });

  it.each([
    ['2026-11-20T18:00:01.000Z', 2],
    ['2026-11-20T18:00:00.000Z', 0],
  ])('30: leaves the manifest of a later run alone where a redrive comes to it long after the copy: at %s', async (copied_at, calls) => {
    const { dependencies, done } = openBucket();
    const publishing = publishWindow(savedWindow({ object: { ...object, copied_at } }), dependencies);
    expect(await publishing.catch(({ name, facts }) => ({ name, facts }))).toMatchObject(
      calls > 0 ? { outcome: 'delivered' } : { name: 'OutOfTime', facts: { report_ids: ['r1'] } },
    );
    expect(done).toHaveLength(calls);
  });

  it('says in it what was asked, what lies at which key, and where it came from', async () => {
    expect(await manifestOf(savedWindow())).toEqual(manifest);
  });

  it('names the window’s own dates, and not those of the export', async () => {
    const own = { start_date: '2026-10-01', end_date: '2026-11-15' };
    const state = savedWindow({ request: { ...request, start_date: '2026-01-01' }, window: own });
    const { dependencies, done, manifest: written } = openBucket();
    const { manifest_key } = await publishWindow(state, dependencies);
    expect(written()).toEqual({ ...manifest, ...own, request: { ...manifest.request, ...own } });
    expect(done.at(-1)).toBe(`put ${manifest_key}`);
    expect(manifest_key).toContain('/start_date=2026-10-01/end_date=2026-11-15/_manifest.json');
  });

  it('names the revision that was sent: the request’s own, or that of the deployment (contract 9.4)', async () => {
    const state = savedWindow({ request: { ...request, revision: '2026-05-01' } });
    expect(await manifestOf(state)).toEqual({ ...manifest, revision: '2026-05-01' });
  });

  it('has the options, dimensions and warnings of the request', async () => {
    const asked = { options: { currency: 'USD' }, dimensions: ['campaign_id'] };
    const state = savedWindow({ request: { ...request, ...asked }, warnings: ['w1', 'w2'] });
    expect(await manifestOf(state)).toEqual({
      ...manifest,
      request: { ...manifest.request, currency: 'USD', dimensions: ['campaign_id'] },
      warnings: ['w1', 'w2'],
    });
  });

  it('12: names the reports that another one was faster than, and when that one was created', async () => {
    const reports = [reportOf('r1'), reportOf('r2', '2026-11-21T05:30:00.000Z'), reportOf('r3')];
    expect(await manifestOf(savedWindow({ reports, ready_id: 'r2' }))).toEqual({
      ...manifest,
      ...{ report_id: 'r2', abandoned_report_ids: ['r1', 'r3'] },
      report_created_at: '2026-11-21T05:30:00.000Z',
    });
  });

  it.each([
    ['23: that there are no rows', 0, true],
    ['how many rows there are', 3, false],
  ])('says %s', async (_, rows, empty) => {
    const state = savedWindow({ object: { ...object, rows } });
    expect(await manifestOf(state)).toEqual({ ...manifest, rows, empty });
  });

  it('24: says how the object is encoded, and which version of it is meant', async () => {
    const stored = { content_encoding: 'gzip', version_id: 'v1' };
    const state = savedWindow({ object: { ...object, ...stored } });
    expect(await manifestOf(state)).toEqual({ ...manifest, ...stored });
  });

  it('returns what the export sums up', async () => {
    const { dependencies } = openBucket();
    const state = savedWindow({ object: { ...object, rows: 0 } });
    expect(await publishWindow(state, dependencies)).toStrictEqual({
      outcome: 'delivered',
      window: window.window,
      key: `${PREFIX}report.json`,
      manifest_key: `${PREFIX}_manifest.json`,
      report_id: 'r1',
      bytes: 7,
      rows: 0,
    });
  });

  it('31: writes no manifest where the failure of a former run cannot be removed', async () => {
    const { dependencies, done } = openBucket();
    const remove = () => Promise.reject(new Error('SlowDown'));
    const store = { ...dependencies.store, remove };
    await expect(publishWindow(savedWindow(), { ...dependencies, store })).rejects.toThrow('SlowDown');
    expect(done).toEqual([]);
  });
});

describe('PublishWindow of what is no report', () => {
  const about = { name: 'daily', account: 'acme', ...window.window, max_parallel: 1 };
  const { reports: _, ready_id: __, ...rest } = savedWindow();
  const state = { ...rest, reports: [] };
  const { report_id, abandoned_report_ids, report_created_at, ...unreported } = manifest;

  it('names no report, and the query as it was sent (contract 2.4)', async () => {
    const advertiser_id = request.advertiser_ids[0] ?? '';
    const query = PurchasesRequest.parse({
      ...about,
      ...{ kind: 'purchases', advertiser_id, options: { currency: 'USD' } },
    });
    const { dependencies, manifest: written } = openBucket();
    const published = await publishWindow({ ...state, request: query }, dependencies);
    expect(written()).toEqual({
      ...unreported,
      kind: 'purchases',
      request: { ...window.window, advertiser_id, currency: 'USD' },
    });
    expect(published).toStrictEqual({
      ...{ outcome: 'delivered', window: window.window, bytes: 7 },
      ...{ key: object.key, manifest_key: `${PREFIX}_manifest.json` },
    });
  });

  it.each<[string, object]>([
    ['and no path of its items where none was named', {}],
    ['and the path of its items', { items: 'data.items' }],
  ])('names what a list was asked for %s (contract 8)', async (_, items) => {
    const asked = { resource: 'campaigns', limit: 5000, filters: { status: 'active' }, ...items };
    const list = ListRequest.parse({ ...about, kind: 'list', ...asked });
    const counted = { rows: 2, repeated_items: 1 };
    expect(await manifestOf({ ...state, request: list, object: { ...object, ...counted } })).toEqual({
      ...{ ...unreported, kind: 'list', request: asked },
      ...{ ...counted, empty: false },
    });
  });
});

describe('PublishWindow as a function', () => {
  it('writes into the bucket of its settings, with the platform and revision of its settings', async () => {
    const s3 = await openS3({ requireOwner: true });
    onTestFinished(() => s3.close());
    const lambda = asLambda({ ...SETTINGS, ...awsEnvironment({ S3: s3.endpoint }), STEP: 'PublishWindow' });
    const copied_at = new Date().toISOString();
    const saved = savedWindow({ object: { ...object, copied_at } });
    const state = JSON.parse(JSON.stringify(SavedWindow.parse(saved)));
    const published = await lambda.call(handler, state);
    expect(published).toMatchObject({ outcome: 'delivered', manifest_key: `${PREFIX}_manifest.json` });
    expect(s3.journal.map(({ operation, bucket, key }) => [operation, bucket, key])).toEqual([
      ['DeleteObject', BUCKET, `${PREFIX}_failure.json`],
      ['PutObject', BUCKET, `${PREFIX}_manifest.json`],
    ]);
    const { Body } = await s3.client.send(
      new GetObjectCommand({ Bucket: BUCKET, Key: `${PREFIX}_manifest.json`, ExpectedBucketOwner: ACCOUNT }),
    );
    const written = JSON.parse((await Body?.transformToString()) ?? '');
    const made = { platform: 'platform.invalid', copied_at, published_at: expect.stringMatching(/^20.*Z$/) };
    expect(written).toEqual({ ...manifest, ...made });
    expect(lambda.lines()).toMatchObject([{ message: 'done', step: 'PublishWindow', status: 'delivered' }]);
  });
});

import { describe, expect, it } from 'vitest';
import { findMissing, readDeliveries } from '../../../functions/decisions/deliveries.ts';
import { requestHash } from '../../../functions/decisions/request-hash.ts';
import { failureKey, manifestKey } from '../../../functions/workflow/keys.ts';
import type { ExportRequest } from '../../../functions/workflow/request/request.ts';
import type { Window } from '../../../functions/workflow/state-parts.ts';
import { windowOf } from '../../support/steps.ts';

const request = { ...windowOf(['7d2f8a54-5f0e-4a3c-9f5e-0f4b8a1c2d3e']).request, ...october(1, 7) };
const target = { platform: 'api.platform.example/v1', revision: '2026-09-01' };
const PUBLISHED = '2026-11-21T06:00:00.000Z';
const OBJECT = { crc32: 'AA', version_id: 'v1' };

/** A window from one day of October to another one. */
function october(first: number, end: number): Window {
  const date = (day: number) => `2026-10-${String(day).padStart(2, '0')}`;
  return { start_date: date(first), end_date: date(end) };
}

/** A bucket in which these windows were delivered, with these changes to the manifests. */
function createBucket(windows: readonly Window[], changes: object = {}, delivered: ExportRequest = request) {
  const texts = new Map<string, string>();
  const objects = new Map<string, object>();
  for (const window of windows) {
    const key = `${window.start_date}.json`;
    const manifest = {
      account: delivered.account,
      export: delivered.name,
      request: {},
      ...window,
      ...target,
      key,
      request_hash: requestHash(delivered, target),
      checksum: { value: 'AA' },
      version_id: 'v1',
      bytes: 1,
      content_type: 'application/json',
      report_created_at: PUBLISHED,
      copied_at: PUBLISHED,
      published_at: PUBLISHED,
      execution: 'e',
      ...changes,
    };
    texts.set(manifestKey(delivered, window), JSON.stringify(manifest));
    objects.set(key, OBJECT);
  }
  const read: string[] = [];
  const store = {
    list: async (prefix: string) => [...texts.keys()].filter((key) => key.startsWith(prefix)),
    getText: async (key: string) => {
      read.push(key);
      return texts.get(key);
    },
    head: async (key: string) => objects.get(key),
  };
  return { texts, objects, read, store };
}

describe('readDeliveries', () => {
  const window = october(1, 3);
  const lost = async ({ store }: ReturnType<typeof createBucket>) =>
    (await readDeliveries(store, request)).map((each) => each.lost);

  const unversioned = { version_id: undefined };
  it.each<[string, string | undefined, object, object | undefined]>([
    ['is the same version', undefined, {}, OBJECT],
    ['is another version', 'replaced', {}, { crc32: 'AA', version_id: 'v2' }],
    ['is gone', 'replaced', {}, undefined],
    ['has the same checksum, without versions', undefined, unversioned, { crc32: 'AA' }],
    ['has another checksum, without versions', 'replaced', unversioned, { crc32: 'BB' }],
    ['has no checksum', 'replaced', unversioned, {}],
  ])('checks the object of a manifest: it %s', async (_, expected, changes, object) => {
    const bucket = createBucket([window], changes);
    bucket.objects.clear();
    if (object) bucket.objects.set('2026-10-01.json', object);
    expect(await lost(bucket)).toEqual([expected]);
  });

  it.each([
    ['{"window":{}}', 'failed'],
    ['{"windows_failed":0}', 'failed'],
    ['{"error":"EventBridge.FailedEntry"}', undefined],
    ['no JSON', undefined],
  ])('finds a window that failed since, but not an export that did: %s', async (report, expected) => {
    const bucket = createBucket([window]);
    bucket.texts.set(failureKey(request, window), report);
    expect(await lost(bucket)).toEqual([expected]);
  });

  it('reads only manifests of a range, and none that it does not understand', async () => {
    const { store, read, texts } = createBucket([october(1, 3), october(5, 9), october(20, 30)]);
    const broken = manifestKey(request, october(6, 7));
    texts.set(broken, '{');
    const deliveries = await readDeliveries(store, request, october(6, 8));
    expect(deliveries.map(({ start_date }) => start_date)).toEqual(['2026-10-05']);
    expect(read).toEqual([manifestKey(request, october(5, 9)), broken]);
  });

  it('takes a list to be made when it was copied', async () => {
    const { store } = createBucket([window], {
      report_created_at: undefined,
      copied_at: '2026-10-02T00:00:00Z',
    });
    expect(await readDeliveries(store, request)).toMatchObject([{ created_at: '2026-10-02T00:00:00Z' }]);
  });
});

describe('findMissing', () => {
  const windows = [october(1, 3), october(3, 5), october(5, 7)];
  const conditions = { ...target, since: new Date(0), timeZone: 'UTC' };

  it.each<[string, Window[], Window[]]>([
    ['the windows', [october(3, 5)], [october(1, 3), october(5, 7)]],
    ['all of their days in other windows', [october(1, 4), october(4, 7)], []],
    ['some of their days', [october(2, 6)], [october(1, 3), october(5, 7)]],
  ])('returns the windows that have a missing day, if there are deliveries of %s', async (_, delivered, missing) => {
    const { store } = createBucket(delivered);
    expect(await findMissing(request, windows, { ...conditions, store })).toStrictEqual({
      windows: missing,
      already_delivered: windows.length - missing.length,
      warnings: [],
    });
  });

  it.each([
    ['another request or another platform', { request_hash: 'other' }],
    ['their last day was over', { report_created_at: '2026-10-02T12:00:00Z' }],
  ])('warns of windows that were delivered before: %s', async (words, changes) => {
    const { store } = createBucket([october(1, 3)], changes);
    const { warnings } = await findMissing(request, windows, { ...conditions, store });
    expect(warnings).toEqual([
      expect.stringMatching(`^only_missing: delivered before .*${words}.*: 2026-10-01 to 2026-10-02$`),
    ]);
  });

  it.each([
    [PUBLISHED, 1],
    ['2026-11-21T05:59:59.999Z', 0],
  ])('ignores what was published before an instant: of %s, %i count', async (published_at, count) => {
    const { store } = createBucket([october(1, 3)], { published_at });
    const found = await findMissing(request, windows, { ...target, store, since: new Date(PUBLISHED) });
    expect(found).toMatchObject({ already_delivered: count, warnings: [] });
  });

  it.each<[string, object, Window, number]>([
    [
      'a list, which is made during its day',
      { kind: 'list', resource: 'campaigns', filters: {} },
      october(1, 2),
      1,
    ],
    ['purchases, which wait for their last day', { kind: 'purchases', advertiser_id: 'A' }, october(1, 2), 0],
    [
      'purchases without days, which are made after it',
      { kind: 'purchases', advertiser_id: 'A' },
      october(1, 1),
      0,
    ],
  ])('judges %s', async (_, fields, window, count) => {
    const other = { ...request, ...fields } as ExportRequest;
    const { store } = createBucket([window], { report_created_at: '2026-10-01T12:00:00Z' }, other);
    expect((await findMissing(other, [window], { ...conditions, store })).already_delivered).toBe(count);
    const late = createBucket([window], {}, other);
    expect((await findMissing(other, [window], { ...conditions, store: late.store })).already_delivered).toBe(
      1,
    );
  });
});

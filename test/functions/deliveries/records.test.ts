import { describe, expect, it } from 'vitest';
import { requestHash } from '../../../functions/decisions/request-hash.ts';
import { sentRequest } from '../../../functions/deliveries/manifest.ts';
import { findMissing } from '../../../functions/deliveries/missing.ts';
import { readRecords } from '../../../functions/deliveries/records.ts';
import { failureKey, manifestKey, objectKey, planKey } from '../../../functions/workflow/keys.ts';
import type { ExportRequest } from '../../../functions/workflow/request/request.ts';
import type { Window } from '../../../functions/workflow/state-parts.ts';
import { createBucket } from '../../infra/knowledge/manifests.ts';
import { windowOf } from '../../support/steps.ts';

const request = { ...windowOf(['7d2f8a54-5f0e-4a3c-9f5e-0f4b8a1c2d3e']).request, ...october(1, 7) };
const target = { platform: 'api.platform.example/v1', revision: '2026-09-01' };
const PUBLISHED = '2026-11-21T06:00:00.000Z';
const NOW = new Date(PUBLISHED);
const OBJECT = { crc32: 'AA', version_id: 'v1' };

/** A window from one day of October to another one. */
function october(first: number, end: number): Window {
  const date = (day: number) => `2026-10-${String(day).padStart(2, '0')}`;
  return { start_date: date(first), end_date: date(end) };
}

/** A bucket in which these windows were delivered, with these changes to the manifests. */
function createBucketOf(windows: readonly Window[], changes = {}, delivered: ExportRequest = request) {
  const bucket = createBucket();
  const times = { report_created_at: PUBLISHED, copied_at: PUBLISHED, published_at: PUBLISHED };
  for (const window of windows) bucket.deliver(delivered, window, { ...times, ...changes }, target);
  return bucket;
}

describe('readRecords', () => {
  const window = october(1, 3);
  const unversioned = { version_id: undefined };
  it.each<[string, object, object, object | undefined]>([
    ['the same version is there', {}, {}, { ...OBJECT, crc32: 'BB' }],
    ['another version is there', { removed: true }, {}, { crc32: 'AA', version_id: 'v2' }],
    ['it was removed', { removed: true }, {}, undefined],
    ['it was removed, without versions', { removed: true }, unversioned, undefined],
    ['the checksum is the same, without versions', {}, unversioned, { crc32: 'AA' }],
    ['the checksum is another, without versions', { lost: true }, unversioned, { crc32: 'BB' }],
    ['there is no checksum', { lost: true }, unversioned, {}],
  ])('checks the object of a manifest: %s', async (_, expected, changes, object) => {
    const bucket = createBucketOf([window], changes);
    bucket.objects.clear();
    if (object) bucket.objects.set(objectKey(request, window), object);
    const { deliveries } = await readRecords(bucket.store, request, NOW);
    expect(deliveries.map(({ lost, removed }) => ({ lost, removed }))).toEqual([expected]);
  });

  it('reads only records of a range, and none that it does not understand', async () => {
    const { store, reads, texts } = createBucketOf([october(1, 3), october(5, 9), october(20, 30)]);
    const broken = [manifestKey(request, october(6, 7)), failureKey(request, october(7, 8))];
    for (const key of broken) texts.set(key, '{');
    const { deliveries, failures, damaged } = await readRecords(store, request, NOW, october(6, 8));
    expect([deliveries.map(({ start_date }) => start_date), failures]).toEqual([['2026-10-05'], []]);
    expect(damaged).toEqual(broken);
    expect(reads).toEqual([manifestKey(request, october(5, 9)), ...broken]);
  });

  it('lists no windows that end before a range', async () => {
    const { store, lists } = createBucketOf([]);
    await readRecords(store, request, NOW, { start_date: '2026-03-01', end_date: '2026-03-02' });
    const prefix = 'exports/account=acme/export=daily/';
    expect(lists).toEqual([[`${prefix}start_date=`, `${prefix}start_date=2026-01-15`], [`${prefix}_plans/`]]);
    await readRecords(store, { ...request, kind: 'purchases' }, NOW, october(1, 2));
    expect(lists[2]).toEqual([`${prefix}start_date=`, '']);
  });

  it('reads a plan, and the failure of the export that it belongs to, whenever that begins', async () => {
    const { store, texts } = createBucketOf([]);
    const range = { start_date: '2025-01-01', end_date: '2026-10-08' };
    const asked = { ...request, ...range };
    const run = { version: '1', execution: 'e' };
    const since = '2026-10-09T06:00:00Z';
    texts.set(planKey(request, range), JSON.stringify({ ...run, since, request_hash: 'h', request: asked }));
    const words = { error: 'LoginRequired', happened: 'No.', faults: ['It ended.'] };
    const ids = { report_ids: [], request_ids: [] };
    const report = { ...run, failed_at: PUBLISHED, ...words, ...ids, todo: 'Log in.', runbook: 'LINK' };
    texts.set(failureKey(request, range), JSON.stringify(report));
    const { plans, failures } = await readRecords(store, request, NOW, october(6, 8));
    expect(plans).toMatchObject([{ ...range, at: since, execution: 'e', request_hash: 'h', request: asked }]);
    const happened = 'No. It ended.';
    expect(failures).toMatchObject([
      { ...range, at: PUBLISHED, failed: true, error: 'LoginRequired', happened },
    ]);
  });

  it('takes a list to be made when it was copied', async () => {
    const copied_at = '2026-10-02T00:00:00Z';
    const { store } = createBucketOf([window], { report_created_at: undefined, copied_at });
    expect((await readRecords(store, request, NOW)).deliveries).toMatchObject([{ created_at: copied_at }]);
  });

  it('finds the request of a manifest of version 0.1.0, which names no hash', async () => {
    const body = { ...october(1, 3), ...sentRequest(request, october(1, 3)), currency: 'USD' };
    const old = { request_hash: undefined, export_request: undefined, request: body };
    const { store } = createBucketOf([window], old);
    const own = requestHash({ ...request, options: { currency: 'USD' } }, target);
    expect((await readRecords(store, request, NOW)).deliveries).toMatchObject([{ request_hash: own }]);
  });
});

describe('findMissing', () => {
  const windows = [october(1, 3), october(3, 5), october(5, 7)];
  const now = () => NOW;
  const conditions = { ...target, now, since: new Date(0), timeZone: 'UTC' };

  it.each<[string, Window[], Window[]]>([
    ['the windows', [october(3, 5)], [october(1, 3), october(5, 7)]],
    ['all of their days in other windows', [october(1, 4), october(4, 7)], []],
    ['some of their days', [october(2, 6)], [october(1, 3), october(5, 7)]],
  ])('returns the windows that have a missing day, if there are deliveries of %s', async (_, delivered, missing) => {
    const { store } = createBucketOf(delivered);
    expect(await findMissing(request, windows, { ...conditions, store })).toStrictEqual({
      windows: missing,
      already_delivered: windows.length - missing.length,
    });
  });

  it('exports days of a plan again as long as any window lacks a day of it', async () => {
    const since = '2026-11-20T06:00:00Z';
    const [old, plan] = [october(1, 3), { ...request, ...october(1, 5) }];
    const { store, texts } = createBucketOf([old, october(4, 9)]);
    const key = manifestKey(request, old);
    const before = { ...JSON.parse(texts.get(key) ?? ''), published_at: '2026-11-19T06:00:00Z' };
    texts.set(key, JSON.stringify(before));
    const asked = { version: '1', execution: 'p', since, request_hash: requestHash(request, target) };
    texts.set(planKey(request, plan), JSON.stringify({ ...asked, request: plan }));
    const found = await findMissing(request, windows, { ...conditions, store });
    expect(found.windows).toEqual([october(1, 3), october(3, 5)]);
  });

  it.each([
    [PUBLISHED, 1],
    ['2026-11-21T05:59:59.999Z', 0],
  ])('ignores what was published before an instant: of %s, %i count', async (published_at, count) => {
    const { store } = createBucketOf([october(1, 3)], { published_at });
    const found = await findMissing(request, windows, { ...target, now, store, since: NOW });
    expect(found).toMatchObject({ already_delivered: count });
  });

  it.each<[string, object, Window, number]>([
    ['a list, made during its day', { kind: 'list', resource: 'campaigns', filters: {} }, october(1, 2), 1],
    ['purchases, which wait for their last day', { kind: 'purchases', advertiser_id: 'A' }, october(1, 2), 0],
    ['purchases without days, made after it', { kind: 'purchases', advertiser_id: 'A' }, october(1, 1), 0],
  ])('judges %s', async (_, fields, window, count) => {
    const other = { ...request, ...fields } as ExportRequest;
    const { store } = createBucketOf([window], { report_created_at: '2026-10-01T12:00:00Z' }, other);
    expect((await findMissing(other, [window], { ...conditions, store })).already_delivered).toBe(count);
    const late = createBucketOf([window], {}, other);
    expect((await findMissing(other, [window], { ...conditions, store: late.store })).already_delivered).toBe(
      1,
    );
  });
});

import { describe, expect, it } from 'vitest';
import { readRecords } from '../../../functions/days/records.ts';
import { failureKey, manifestKey, objectKey, runKey } from '../../../functions/workflow/keys.ts';
import type { ExportRequest } from '../../../functions/workflow/request/request.ts';
import type { Window } from '../../../functions/workflow/state-parts.ts';
import { createBucket } from '../../support/manifests.ts';
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
    const { deliveries, failures } = await readRecords(store, request, NOW, october(6, 8));
    expect(deliveries.map(({ start_date }) => start_date)).toEqual(['2026-10-05']);
    expect(failures).toEqual([]);
    expect(reads).toEqual([manifestKey(request, october(5, 9)), ...broken]);
  });

  it('lists no windows that end before a range', async () => {
    const { store, lists } = createBucketOf([]);
    await readRecords(store, request, NOW, { start_date: '2026-03-01', end_date: '2026-03-02' });
    const prefix = 'exports/account=acme/export=daily/';
    expect(lists).toEqual([[`${prefix}start_date=`, `${prefix}start_date=2026-01-15`], [`${prefix}_runs/`]]);
    await readRecords(store, { ...request, kind: 'purchases' }, NOW, october(1, 2));
    expect(lists[2]).toEqual([`${prefix}start_date=`, undefined]);
  });

  it('reads the runs, and the failure of the range of each, whenever that begins', async () => {
    const { store, texts } = createBucketOf([]);
    const range = { start_date: '2025-01-01', end_date: '2026-10-08' };
    const asked = { ...request, ...range };
    const began_at = '2026-10-09T06:00:00Z';
    const run = { version: '1', execution: 'e', began_at, request: asked, windows: [range] };
    texts.set(runKey(request, 'e'), JSON.stringify(run));
    const words = { error: 'LoginRequired', happened: 'No.', faults: ['It ended.'], todo: 'Log in.' };
    const ids = { report_ids: [], request_ids: [], runbook: 'r' };
    const report = { version: '1', execution: 'e', failed_at: PUBLISHED, ...words, ...ids };
    texts.set(failureKey(request, range), JSON.stringify(report));
    const { runs, failures } = await readRecords(store, request, NOW, october(6, 8));
    expect(runs).toMatchObject([{ execution: 'e', began_at, request: asked, windows: [range] }]);
    const happened = 'No. It ended.';
    expect(failures).toMatchObject([{ ...range, at: PUBLISHED, error: 'LoginRequired', happened }]);
  });

  it('takes a list to be made when it was copied', async () => {
    const copied_at = '2026-10-02T00:00:00Z';
    const { store } = createBucketOf([window], { report_created_at: undefined, copied_at });
    expect((await readRecords(store, request, NOW)).deliveries).toMatchObject([{ created_at: copied_at }]);
  });
});

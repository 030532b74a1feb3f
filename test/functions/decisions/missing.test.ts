import { describe, expect, it } from 'vitest';
import { checkDays, findMissing } from '../../../functions/decisions/missing.ts';
import { platformRequest } from '../../../functions/decisions/platform-request.ts';
import { requestHash } from '../../../functions/decisions/request-hash.ts';
import { writeVersion } from '../../../functions/workflow/day-metadata.ts';
import { failureKey, manifestKey } from '../../../functions/workflow/keys.ts';
import type { ExportRequest, ReportRequest } from '../../../functions/workflow/request/request.ts';
import type { Window } from '../../../functions/workflow/state-parts.ts';
import { dayKey } from '../../../functions/workflow/table.ts';
import { windowOf } from '../../support/steps.ts';

const { request } = windowOf(['7d2f8a54-5f0e-4a3c-9f5e-0f4b8a1c2d3e']);
const SINCE = '2026-11-21T06:00:00.000Z';
const OBJECT = { crc32: 'AA', version_id: 'v1' };
const FIRST = { start_date: '2026-10-01', end_date: '2026-10-02' };

/** Windows of one day each, from {@link FIRST} on. */
function createWindows(count: number): Window[] {
  const date = (day: number) => `2026-10-${String(day).padStart(2, '0')}`;
  return Array.from({ length: count }, (_, at) => ({ start_date: date(at + 1), end_date: date(at + 2) }));
}

/** A bucket in which the request was delivered for these windows, with these changes to the manifests. */
function createBucket(windows: readonly Window[], delivered: ExportRequest = request, changes: object = {}) {
  const platform = 'api.platform.example/v1';
  const texts = new Map<string, string>();
  for (const window of windows) {
    const manifest = {
      kind: delivered.kind,
      request: platformRequest(delivered, window),
      platform,
      revision: delivered.revision ?? '2026-09-01',
      key: `${window.start_date}.json`,
      checksum: { value: 'AA' },
      version_id: 'v1',
      published_at: SINCE,
      ...changes,
    };
    texts.set(manifestKey(delivered, window), JSON.stringify(manifest));
  }
  const objects = new Map<string, object>(windows.map(({ start_date }) => [`${start_date}.json`, OBJECT]));
  const store = {
    getText: async (key: string) => texts.get(key),
    async head(key: string) {
      const object = objects.get(key);
      return object && { metadata: {}, ...object };
    },
  };
  return {
    texts,
    objects,
    conditions: { store, platform, revision: '2026-09-01', since: new Date(SINCE) },
  };
}

/** Fields that make a report's request a purchase query or a list. */
const OTHER_KINDS = { advertiser_id: 'a', resource: 'campaigns', limit: 20, filters: {} };

const EARLY = 'only_missing: delivered before their last day was over, so they are exported again: ';
const OTHER =
  'only_missing: delivered before for another request or another platform, so they are exported again: ';

describe('findMissing', () => {
  const windows = createWindows(3);
  const [first, second, third] = windows as [Window, Window, Window];

  it.each([
    ['some', [second], [first, third]],
    ['all', windows, []],
  ])('returns the windows that were not delivered, if %s were', async (_, delivered, missing) => {
    const { conditions } = createBucket(delivered);
    expect(await findMissing(request, windows, conditions)).toStrictEqual({
      windows: missing,
      already_delivered: delivered.length,
      warnings: [],
    });
  });

  it.each<[string, Partial<typeof request>, object]>([
    ['other dimensions', { dimensions: ['campaign_id'] }, {}],
    ['other options', { options: { currency: 'USD' } }, {}],
    ['its own revision', { revision: '2026-05-01' }, {}],
    ['another kind', {}, { kind: 'list' }],
    ['another platform', {}, { platform: 'sandbox.platform.example/v1' }],
  ])('counts a window as missing, with a warning, if its manifest has %s', async (_, delivered, changes) => {
    const { conditions } = createBucket([first], { ...request, ...delivered }, changes);
    expect(await findMissing(request, windows, conditions)).toMatchObject({
      windows,
      already_delivered: 0,
      warnings: [`${OTHER}2026-10-01 to 2026-10-02`],
    });
  });

  it('counts a window as missing, with a warning, if its manifest is not JSON', async () => {
    const { texts, conditions } = createBucket([]);
    texts.set(manifestKey(request, first), '{');
    const { warnings } = await findMissing(request, [first], conditions);
    expect(warnings).toEqual([`${OTHER}2026-10-01 to 2026-10-02`]);
  });

  const unversioned = { version_id: undefined };
  it.each<[string, number, object, object | undefined]>([
    ['is the same version', 1, {}, OBJECT],
    ['is another version', 0, {}, { crc32: 'AA', version_id: 'v2' }],
    ['is gone', 0, {}, undefined],
    ['has the same checksum, without versions', 1, unversioned, { crc32: 'AA' }],
    ['has another checksum, without versions', 0, unversioned, { crc32: 'BB' }],
    ['has no checksum, nor has the manifest', 0, { ...unversioned, checksum: undefined }, {}],
    ['is not named by the manifest', 0, { key: undefined }, OBJECT],
  ])('checks the object of a manifest: it %s', async (_, delivered, changes, object) => {
    const { objects, conditions } = createBucket([first], request, changes);
    objects.delete('2026-10-01.json');
    if (object) objects.set('2026-10-01.json', object);
    const found = await findMissing(request, [first], conditions);
    expect(found).toMatchObject({ already_delivered: delivered, warnings: [] });
  });

  it('counts a window as missing if it failed since, but not if only the export did', async () => {
    const { texts, conditions } = createBucket(windows);
    texts.set(failureKey(request, first), '{"window":{}}');
    texts.set(failureKey(request, second), '{"windows_failed":0}');
    texts.set(failureKey(request, third), '{"error":"EventBridge.FailedEntry"}');
    expect(await findMissing(request, windows, conditions)).toMatchObject({ windows: [first, second] });
    texts.set(failureKey(request, first), 'no JSON');
    expect(await findMissing(request, windows, conditions)).toMatchObject({ windows: [second] });
  });

  it.each([
    ['2026-11-21T06:00:00.000Z', 3],
    ['2026-11-21T05:59:59.999Z', 0],
    [undefined, 3],
  ])('ignores manifests that were published before an instant: of %s, %i count', async (published_at, count) => {
    const { conditions } = createBucket(windows, request, { published_at });
    expect(await findMissing(request, windows, conditions)).toMatchObject({
      already_delivered: count,
      warnings: [],
    });
  });

  it.each<[string, number, object, string, string | undefined]>([
    ['before the last day was over', 0, { report_created_at: '2026-10-01T23:59:59Z' }, 'report', 'UTC'],
    ['when the last day was over', 1, { report_created_at: '2026-10-02T00:00:00Z' }, 'report', 'UTC'],
    [
      'when the last day was over in the time zone',
      1,
      { report_created_at: '2026-10-01T22:30:00Z' },
      'report',
      'Europe/Berlin',
    ],
    ['by a query on the last day', 0, { copied_at: '2026-10-01T12:00:00Z' }, 'purchases', 'UTC'],
    ['as a snapshot of its day', 1, { copied_at: '2026-10-01T12:00:00Z' }, 'list', 'UTC'],
    ['at an unknown time', 1, {}, 'report', 'UTC'],
    [
      'early, but no time zone is given',
      1,
      { report_created_at: '2026-10-01T12:00:00Z' },
      'report',
      undefined,
    ],
  ])('checks that the data was not made early: %s', async (_, delivered, changes, kind, timeZone) => {
    const other = { ...request, ...OTHER_KINDS, kind } as ExportRequest;
    const { conditions } = createBucket([FIRST], other, { ...changes, kind });
    const found = await findMissing(other, [FIRST], { ...conditions, ...(timeZone && { timeZone }) });
    expect(found).toMatchObject({
      windows: delivered ? [] : [FIRST],
      already_delivered: delivered,
      warnings: delivered ? [] : [`${EARLY}2026-10-01 to 2026-10-02`],
    });
  });
});

describe('checkDays', () => {
  const target = { platform: 'api.platform.example/v1', revision: '2026-09-01' };
  const request_hash = requestHash(request as ReportRequest, target);
  const shown = { report_id: 'r', request_hash, created_at: '2026-10-20T00:00:00Z' };

  it.each<[string, boolean, object | undefined]>([
    ['present', true, shown],
    ['present', true, { ...shown, created_at: '2026-10-01T22:00:00Z' }],
    ['unfinished', true, { ...shown, created_at: '2026-10-01T21:59:59Z' }],
    ['other', true, { ...shown, request_hash: 'other' }],
    ['absent', true, undefined],
    ['absent', false, shown],
  ])('calls a day %s: registered %s, with the version %j', async (verdict, isRegistered, version) => {
    const key = dayKey(request.name, request.account, '2026-10-01');
    const metadata = version && writeVersion(version as typeof shown);
    const head = async (asked: string) => (asked === key && metadata ? { metadata } : undefined);
    const getPartitions = async (table: string, values: readonly (readonly string[])[]) => {
      expect([table, values]).toEqual([request.name, [[request.account, '2026-10-01']]]);
      return isRegistered ? values.map((each) => ({ values: each })) : [];
    };
    const conditions = { ...target, store: { head }, catalog: { getPartitions }, timeZone: 'Europe/Berlin' };
    expect(await checkDays(request, ['2026-10-01'], conditions)).toEqual([verdict]);
  });
});

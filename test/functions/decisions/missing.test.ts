import { describe, expect, it } from 'vitest';
import { findMissing, onlyMissingSince } from '../../../functions/decisions/missing.ts';
import { platformRequest } from '../../../functions/decisions/platform-request.ts';
import { failureKey, manifestKey } from '../../../functions/workflow/keys.ts';
import type { ExportRequest } from '../../../functions/workflow/request/request.ts';
import type { Window } from '../../../functions/workflow/states.ts';
import { windowOf } from '../../support/steps.ts';

const { request } = windowOf(['7d2f8a54-5f0e-4a3c-9f5e-0f4b8a1c2d3e']);
const SINCE = '2026-11-21T06:00:00.000Z';
const PLATFORM = 'api.platform.example/v1';
const OBJECT = { crc32: 'AA', version_id: 'v1' };

function daysFrom(day: number, days: number): Window[] {
  const dateOf = (at: number) => `2026-10-${String(at).padStart(2, '0')}`;
  return Array.from({ length: days }, (_, at) => ({
    start_date: dateOf(day + at),
    end_date: dateOf(day + at + 1),
  }));
}

/** A bucket in which these windows were delivered by this request, with these changes of their manifests. */
function openBucket(windows: readonly Window[], made: ExportRequest = request, changes: object = {}) {
  const texts = new Map<string, string>();
  for (const window of windows) {
    const manifest = {
      ...{ kind: made.kind, request: platformRequest(made, window), revision: made.revision ?? '2026-09-01' },
      platform: PLATFORM,
      ...{ key: `${window.start_date}.json`, ...OBJECT, published_at: SINCE, ...changes },
    };
    texts.set(manifestKey(made, window), JSON.stringify(manifest));
  }
  const objects = new Map(windows.map(({ start_date }) => [`${start_date}.json`, OBJECT]));
  const store = {
    getText: async (key: string) => texts.get(key),
    head: async (key: string) => objects.get(key),
  };
  return {
    texts,
    objects,
    former: { store, platform: PLATFORM, revision: '2026-09-01', since: new Date(SINCE) },
  };
}

/** Enough of a purchase query or a list, which a report's request is not. */
const NOT_A_REPORT = { advertiser_id: 'a', resource: 'campaigns', limit: 20, filters: {} };

const EARLY = 'only_missing: delivered before their last day was over, so they are exported again: ';
const OTHER =
  'only_missing: delivered before for another request or another platform, so they are exported again: ';

describe('the windows that are missing', () => {
  const windows = daysFrom(1, 3);
  const [first, second, third] = windows;

  it('are those that were not delivered, in their order', async () => {
    const { former } = openBucket(windows.slice(1, 2));
    expect(await findMissing(request, windows, former)).toStrictEqual({
      ...{ windows: [first, third], already_delivered: 1, warnings: [] },
    });
  });

  it('are looked for ten at a time, so that no call waits long for its turn', async () => {
    const hundred = Array.from({ length: 10 }, () => daysFrom(1, 10)).flat();
    const { former } = openBucket(hundred);
    let under_way = 0;
    let most = 0;
    const { getText, head } = former.store;
    const counted =
      <T>(call: (key: string) => Promise<T>) =>
      async (key: string) => {
        most = Math.max(most, ++under_way);
        await new Promise(setImmediate);
        return call(key).finally(() => under_way--);
      };
    const store = { getText: counted(getText), head: counted(head) };
    const found = await findMissing(request, hundred, { ...former, store });
    expect([found.already_delivered, most]).toEqual([100, 20]);
  });

  it('are none where all were delivered, and all where none was', async () => {
    const all = { windows: [], already_delivered: 3, warnings: [] };
    expect(await findMissing(request, windows, openBucket(windows).former)).toEqual(all);
    const none = { windows, already_delivered: 0, warnings: [] };
    expect(await findMissing(request, windows, openBucket([]).former)).toEqual(none);
  });

  it.each<[string, Partial<typeof request>, object]>([
    ['other dimensions', { dimensions: ['campaign_id'] }, {}],
    ['other options', { options: { currency: 'USD' } }, {}],
    ['a revision of its own', { revision: '2026-05-01' }, {}],
    ['another kind in its manifest', {}, { kind: 'list' }],
    ['another platform, such as one to try things on', {}, { platform: 'sandbox.platform.example/v1' }],
    ['a platform that nothing names', {}, { platform: undefined }],
    ['a manifest that names no request', {}, { request: undefined }],
  ])('are also what was made with %s, of which the warning names the dates', async (_, changes, manifest) => {
    const { former } = openBucket([first ?? never], { ...request, ...changes }, manifest);
    expect(await findMissing(request, windows, former)).toEqual({
      ...{ windows, already_delivered: 0 },
      warnings: [`${OTHER}2026-10-01 to 2026-10-02`],
    });
  });

  it('are not what was made with the revision that the deployment has pinned, whoever named it', async () => {
    const { former } = openBucket(windows, { ...request, revision: '2026-09-01', max_parallel: 40 });
    expect(await findMissing(request, windows, former)).toMatchObject({ already_delivered: 3 });
  });

  it.each([
    [1, ''],
    [10, ''],
    [11, ' and 1 more'],
    [25, ' and 15 more'],
  ])('are named in a warning up to ten, of %i', async (days, more) => {
    const many = daysFrom(1, days);
    const { former } = openBucket(many, { ...request, metrics: ['impressions'] });
    const { warnings } = await findMissing(request, many, former);
    const shown = many.slice(0, 10).map(({ start_date, end_date }) => `${start_date} to ${end_date}`);
    expect(warnings).toEqual([`${OTHER}${shown.join(', ')}${more}`]);
  });

  it('are also those whose object is another one by now, without a word of the request', async () => {
    const { objects, former } = openBucket(windows);
    objects.set('2026-10-01.json', { crc32: 'AA', version_id: 'v2' });
    objects.delete('2026-10-02.json');
    expect(await findMissing(request, windows, former)).toEqual({
      ...{ windows: [first, second], already_delivered: 1, warnings: [] },
    });
  });

  it('are also those that have failed since, unless it was only the export that did', async () => {
    const { texts, former } = openBucket(windows);
    texts.set(failureKey(request, first ?? never), '{"window":{}}');
    texts.set(failureKey(request, second ?? never), '{"windows_failed":0}');
    texts.set(failureKey(request, third ?? never), 'no JSON');
    expect(await findMissing(request, windows, former)).toMatchObject({ windows: [first, second] });
  });

  it.each([
    ['2026-11-21T06:00:00.000Z', 3],
    ['2026-11-21T05:59:59.999Z', 0],
    [undefined, 3],
  ])('since an instant are those that were delivered before it: of %s, %i are delivered', async (published_at, count) => {
    const { former } = openBucket(windows, request, { published_at });
    expect(await findMissing(request, windows, former)).toMatchObject({
      ...{ already_delivered: count, warnings: [] },
    });
  });

  it.each<[string, object, string, string | undefined, number]>([
    ['was asked for while they lasted', { report_created_at: '2026-10-01T23:59:59Z' }, 'report', 'UTC', 0],
    ['was asked for once they were over', { report_created_at: '2026-10-02T00:00:00Z' }, 'report', 'UTC', 1],
    [
      'was over where the request counts its days',
      { report_created_at: '2026-10-01T22:30:00Z' },
      'report',
      'Europe/Berlin',
      1,
    ],
    [
      'came while they lasted, and has no report',
      { copied_at: '2026-10-01T12:00:00Z' },
      'purchases',
      'UTC',
      0,
    ],
    ['is a snapshot of its day', { copied_at: '2026-10-01T12:00:00Z' }, 'list', 'UTC', 1],
    ['does not say when it was made', {}, 'report', 'UTC', 1],
    ['was delivered since an instant', { report_created_at: '2026-10-01T12:00:00Z' }, 'report', undefined, 1],
  ])('are also those whose days were not over when the data was made: what %s', async (_, made, kind, timeZone, delivered) => {
    const asked = { ...request, ...NOT_A_REPORT, kind } as ExportRequest;
    const { former } = openBucket([first ?? never], asked, { ...made, kind });
    const found = await findMissing(asked, [first ?? never], { ...former, ...(timeZone && { timeZone }) });
    expect(found).toEqual({
      windows: delivered ? [] : [first],
      already_delivered: delivered,
      warnings: delivered ? [] : [`${EARLY}2026-10-01 to 2026-10-02`],
    });
  });

  it('27: are not known where the bucket cannot be read', async () => {
    const { former } = openBucket(windows);
    const refused = () => Promise.reject(new Error('AccessDenied'));
    for (const broken of [{ getText: refused }, { head: refused }]) {
      const store = { ...former.store, ...broken };
      await expect(findMissing(request, windows, { ...former, store })).rejects.toThrow('AccessDenied');
    }
  });
});

const never: Window = { start_date: 'never', end_date: 'never' };

describe('30: the request of an execution once more', () => {
  const begun = '2026-11-21T06:00:00.000Z';

  it.each<[string, object, object]>([
    ['is for what has not been delivered since it began', {}, { only_missing: begun }],
    ['is so as well where it had asked for everything', { only_missing: false }, { only_missing: begun }],
    ['is as it was where it had asked for what is missing', { only_missing: true }, { only_missing: true }],
    [
      'is as it was where it had named an instant',
      { only_missing: '2026-01-01T00:00:00Z' },
      { only_missing: '2026-01-01T00:00:00Z' },
    ],
  ])('%s', (_, asked, expected) => {
    const given = { name: 'daily', ...asked };
    expect(onlyMissingSince(begun, given)).toEqual({ name: 'daily', ...expected });
    expect(given).toEqual({ name: 'daily', ...asked });
  });
});

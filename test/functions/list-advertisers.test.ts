import { describe, expect, it } from 'vitest';
import { listAdvertisers } from '../../functions/list-advertisers.ts';
import { manifestKey } from '../../functions/workflow/keys.ts';
import type { PlanOfAll } from '../../functions/workflow/states.ts';
import type { SandboxOptions } from '../../infra/lab/sandbox/sandbox-options.ts';
import { callsTo } from '../support/journal.ts';
import { manifestOf } from '../support/manifests.ts';
import { startStep } from '../support/steps.ts';

const NEW = 'd4a6b8c0-3e5f-4b7d-8c9e-1f2a3b4c5d04';
const KEY = 'exports/account=acme/export=daily/_advertisers/2026-11-21T06-00-00-000Z.json';
const RANGE = { start_date: '2026-11-01', end_date: '2026-11-02' };

/** The step, for the plan of a report of all advertisers. */
async function startListing(options: SandboxOptions = {}) {
  const started = await startStep(options);
  const { request, token } = started.window;
  const plan: PlanOfAll = {
    execution: 'e-1',
    started_at: started.clock.now().toISOString(),
    request: { ...request, advertiser_ids: 'all', ...RANGE },
    warnings: ['one before'],
    windows: [RANGE],
    advertisers: null,
    token,
  };
  const list = (changes: Partial<PlanOfAll> = {}, list = {}) =>
    listAdvertisers({ ...plan, ...changes }, { ...started.access, millisecondsLeft: () => 900_000, list });
  /** Leaves the manifest of a window, whose report was asked for a list. */
  const deliver = (start_date: string, end_date: string, key: string) => {
    const asked = { ...plan.request, start_date, end_date };
    const manifest = { ...manifestOf(asked), advertisers: { key, count: 3 } };
    started.objects.set(manifestKey(asked, asked), JSON.stringify(manifest));
  };
  return { ...started, list, deliver };
}

describe('ListAdvertisers', () => {
  it('writes the ids to an object, and names it in the plan', async () => {
    const { list, objects, sandbox } = await startListing();
    const { advertisers, warnings, windows } = await list();
    expect(advertisers).toEqual({ key: KEY, count: 3 });
    expect({ warnings, windows }).toEqual({ warnings: ['one before'], windows: [RANGE] });
    expect(JSON.parse(objects.get(KEY) ?? '')).toEqual({
      version: '1',
      execution: 'e-1',
      advertiser_ids: sandbox.advertiserIds.toSorted(),
    });
    expect(callsTo(sandbox, 'list')[0]).toMatchObject({
      path: '/advertisers',
      query: expect.stringContaining('limit=5000'),
    });
  });

  const LATER = KEY.replace('00-00-000', '01-00-000');

  it('54: names a newcomer and the days without it until a run has delivered its list', async () => {
    const { list, deliver, sandbox, objects, clock } = await startListing();
    await list();
    objects.set(
      'exports/account=acme/export=daily/start_date=2020-01-01/end_date=2026-01-01/_failure.json',
      '',
    );
    deliver('2026-09-01', '2026-10-16', KEY);
    deliver('2026-10-16', '2026-11-01', KEY);
    sandbox.options.addedAdvertisers = [NEW];
    clock.pass(60);
    const history = { start_date: '2026-09-01', end_date: '2026-11-01' };
    const newcomers = { count: 1, advertiser_ids: [NEW], history };
    const advertisers = { key: LATER, count: 4 };
    expect(await list({ execution: 'e-2' })).toMatchObject({ advertisers, newcomers });
    // The run failed, or its step was killed after it wrote the list.
    expect(await list({ execution: 'e-3' })).toMatchObject({ advertisers, newcomers });
    deliver('2026-11-01', '2026-11-02', LATER);
    expect(await list({ execution: 'e-4' })).toMatchObject({ advertisers, newcomers: undefined });
    expect([...objects.keys()].filter((key) => key.includes('_advertisers'))).toEqual([KEY, LATER]);
  });

  it('54: names no newcomer that any manifest has, whatever its window', async () => {
    const { list, deliver, sandbox, clock } = await startListing({ addedAdvertisers: [NEW] });
    await list();
    sandbox.options.addedAdvertisers = [];
    clock.pass(60);
    await list();
    deliver('2025-09-01', '2025-10-01', KEY);
    deliver('2026-10-16', '2026-11-01', LATER);
    sandbox.options.addedAdvertisers = [NEW];
    expect((await list()).newcomers).toBeUndefined();
  });

  it('names the first twenty of many newcomers, and no history before the first export', async () => {
    const { list, deliver, sandbox, clock } = await startListing();
    await list();
    deliver('2026-11-01', '2026-11-02', KEY);
    const added = Array.from({ length: 21 }, (_, at) => NEW.replace(/04$/, String(at + 10)));
    sandbox.options.addedAdvertisers = added;
    clock.pass(60);
    expect((await list()).newcomers).toEqual({ count: 21, advertiser_ids: added.slice(0, 20) });
  });

  it('names no newcomer before the first delivery', async () => {
    const { list, sandbox } = await startListing();
    await list();
    sandbox.options.addedAdvertisers = [NEW];
    expect((await list()).newcomers).toBeUndefined();
  });

  it('warns of an advertiser that has gone until a run has delivered the list without it', async () => {
    const { list, deliver, sandbox, clock } = await startListing({ addedAdvertisers: [NEW] });
    await list();
    deliver('2026-10-31', '2026-11-01', KEY);
    sandbox.options.addedAdvertisers = [];
    clock.pass(60);
    const warning = `advertisers that the platform does not list any more: 1, so the days of this run are without ${NEW}`;
    const { advertisers, newcomers, warnings } = await list();
    expect({ advertisers, newcomers }).toEqual({
      advertisers: { key: LATER, count: 3 },
      newcomers: undefined,
    });
    expect(warnings.slice(1)).toEqual([warning]);
    expect((await list({ execution: 'e-2' })).warnings.slice(1)).toEqual([warning]);
    deliver('2026-11-01', '2026-11-02', LATER);
    expect((await list({ execution: 'e-3' })).warnings.slice(1)).toEqual([]);
  });

  it.each([
    ['half of a list', '{"version":"1","execution":"e-1","advert'],
    ['another document', '{"version":"1"}'],
    ['a list of nobody', '{"version":"1","execution":"e-1","advertiser_ids":[]}'],
    ['a list of other things', '{"version":"1","execution":"e-1","advertiser_ids":["x"]}'],
  ])('70: writes the list again if the last one is damaged: %s', async (_, text) => {
    const { list, deliver, objects, clock } = await startListing();
    objects.set(KEY, text);
    deliver('2026-10-31', '2026-11-01', KEY);
    clock.pass(60);
    const { advertisers, newcomers, warnings } = await list();
    expect({ advertisers, newcomers }).toEqual({
      advertisers: { key: LATER, count: 3 },
      newcomers: undefined,
    });
    expect(warnings.slice(1)).toEqual([`the list ${KEY} is damaged, so this run wrote it again`]);
    expect(JSON.parse(objects.get(LATER) ?? '').advertiser_ids).toHaveLength(3);
  });

  it.each([
    ['RequestRefused', 'an empty list', 'lists no advertiser of account acme', 'body="[]"', {}],
    ['AnswerUnreadable', 'an item without an id', 'setting advertisers_list', 'body="[{}]"', {}],
    ['AnswerUnreadable', 'an id in another field', 'no UUID in its field uuid', '', { id: 'uuid' }],
    ['RequestRefused', '4: a missing scope', 'the scope advertisers:read', 'status=403', {}],
    ['PlatformUnavailable', '8: a 500', '500', 'status=500', {}],
  ])('throws %s for %s', async (name, _, words, effect, settings) => {
    const { list, objects } = await startListing(effect ? { faults: [`list ${effect}`] } : {});
    await expect(list({}, settings)).rejects.toMatchObject({
      name,
      happened: expect.stringContaining(words),
    });
    expect([...objects]).toEqual([]);
  });

  const id = (number: number) => NEW.replace(/04$/, String(number));
  /** The first page, an answer that interrupts the list, and the page behind the first one. */
  const interrupted = (status: number, total: { total?: number } = {}) => {
    const page = (...ids: number[]) => JSON.stringify({ data: ids.map((at) => ({ id: id(at) })), ...total });
    return [
      { on: 'list', nth: 1, body: page(11, 10) },
      { on: 'list', nth: 2, status, retry_after: '60' },
      { on: 'list', nth: 3, body: page(13, 12) },
      { on: 'list', nth: 4, body: page() },
    ] as const;
  };

  it('8: waits after a 429, and goes on behind the pages that it has', async () => {
    const { list, objects, sandbox } = await startListing({ faults: interrupted(429, { total: 4 }) });
    const { listing, token, ...waiting } = (await list()) as PlanOfAll;
    expect(waiting.advertisers).toBeNull();
    expect(listing).toMatchObject({ wait_seconds: 60, throttled: 1, list: { progress: { offset: 2 } } });
    expect(Object.fromEntries(objects)).toEqual({ '_pages/e-1/000000.ndjson': `${id(11)}\n${id(10)}\n` });
    const plan = await list(JSON.parse(JSON.stringify({ listing, token })));
    expect(plan).toMatchObject({ advertisers: { key: KEY, count: 4 }, warnings: ['one before'] });
    expect(plan).not.toHaveProperty('listing');
    expect(JSON.parse(objects.get(KEY) ?? '').advertiser_ids).toEqual([10, 11, 12, 13].map(id));
    const offsets = callsTo(sandbox, 'list').map(({ query }) => new URLSearchParams(query).get('offset'));
    expect(offsets).toEqual(['0', '2', '2', '4']);
  });

  it('5: goes on with a new token after a 401 behind a page', async () => {
    const { list } = await startListing({ faults: interrupted(401, { total: 4 }) });
    const { listing } = (await list()) as PlanOfAll;
    expect(listing).toMatchObject({ wait_seconds: 10, throttled: 0, list: { progress: { offset: 2 } } });
    expect(await list(JSON.parse(JSON.stringify({ listing })))).toMatchObject({ advertisers: { count: 4 } });
  });

  it('ends a list that takes longer than a window may', async () => {
    const { list, clock } = await startListing({ faults: interrupted(429) });
    const { listing } = (await list()) as PlanOfAll;
    clock.pass(12 * 3600);
    await expect(list({ listing })).rejects.toMatchObject({
      name: 'OutOfTime',
      happened: expect.stringMatching(/^The list of advertisers began at .* read 2 items in 1 page/),
    });
  });

  it.each([
    ['in several pages without a total', 1, {}, /came in 2 pages without a total: one may be missing/],
    ['while its total falls', 1, { total: 5 }, /^the list shrank from 5 to 4 items while it was read/],
    ['in several pages of the same total', 0, { total: 4 }, /^none$/],
  ])('warns that an advertiser may be missing if the list comes %s: %i', async (_, count, total, warning) => {
    const [first, , second, end] = interrupted(429, total);
    const later = (body: string) => body.replace('"total":5', '"total":4');
    const faults = [
      first,
      { ...second, nth: 2, body: later(second.body) },
      { ...end, nth: 3, body: later(end.body) },
    ];
    const { list } = await startListing({ faults });
    const { warnings } = await list();
    expect(warnings.slice(1)).toEqual(Array(count).fill(expect.stringMatching(warning)));
  });

  it('reads another resource, wrapper and field, if the settings name them', async () => {
    const body = JSON.stringify({ page: { brands: [{ key: NEW }] }, notes: [] });
    const { list, sandbox, objects } = await startListing({
      faults: [
        { on: 'list', body },
        { on: 'list', nth: 2, body: '{"page":{"brands":[]},"notes":[]}' },
      ],
    });
    await list({}, { resource: 'creatives', items: 'page.brands', id: 'key' });
    expect(JSON.parse([...objects.values()][0] ?? '').advertiser_ids).toEqual([NEW]);
    expect(callsTo(sandbox, 'list').map(({ path }) => path)).toEqual(['/creatives', '/creatives']);
  });
});

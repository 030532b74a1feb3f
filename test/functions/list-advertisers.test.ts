import { describe, expect, it } from 'vitest';
import { listAdvertisers } from '../../functions/list-advertisers.ts';
import type { PlanOfAll } from '../../functions/workflow/states.ts';
import type { SandboxOptions } from '../../infra/sandbox/settings.ts';
import { callsTo } from '../support/journal.ts';
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
    listAdvertisers({ ...plan, ...changes }, { ...started.access, list });
  const window = (start_date: string, end_date: string, file = 'report.json') =>
    started.objects.set(
      `exports/account=acme/export=daily/start_date=${start_date}/end_date=${end_date}/${file}`,
      '[]',
    );
  return { ...started, list, window };
}

describe('ListAdvertisers', () => {
  it('writes the ids to an object, and names it in the plan', async () => {
    const { list, objects, sandbox } = await startListing();
    const { advertisers, warnings, windows } = await list();
    expect(advertisers).toEqual({ key: KEY, count: 3 });
    expect([warnings, windows]).toEqual([['one before'], [RANGE]]);
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

  it('54: names a newcomer and the days without it in the run that finds it, also if its first try was killed', async () => {
    const { list, window, sandbox, objects, clock } = await startListing();
    await list();
    window('2020-01-01', '2026-01-01', '_failure.json');
    window('2026-09-01', '2026-10-16');
    window('2026-10-16', '2026-11-01');
    window('2026-11-01', '2026-11-02');
    sandbox.options.addedAdvertisers = [NEW];
    clock.pass(60);
    const key = KEY.replace('00-00-000', '01-00-000');
    const newcomers = {
      count: 1,
      advertiser_ids: [NEW],
      history: { start_date: '2026-09-01', end_date: '2026-11-01' },
    };
    expect(await list({ execution: 'e-2' })).toMatchObject({ advertisers: { key, count: 4, newcomers } });
    expect((await list({ execution: 'e-2' })).advertisers).toEqual({ key, count: 4, newcomers });
    expect((await list({ execution: 'e-3' })).advertisers).toEqual({ key, count: 4, newcomers: undefined });
    expect([...objects.keys()].filter((each) => each.includes('_advertisers'))).toEqual([KEY, key]);
  });

  it('names the first twenty of many newcomers, and no history before the first export', async () => {
    const { list, sandbox, clock } = await startListing();
    await list();
    const added = Array.from({ length: 21 }, (_, at) => NEW.replace(/04$/, String(at + 10)));
    sandbox.options.addedAdvertisers = added;
    clock.pass(60);
    const { advertisers } = await list();
    expect(advertisers?.newcomers).toEqual({ count: 21, advertiser_ids: added.slice(0, 20) });
  });

  it('names no newcomer if an advertiser has only gone, and warns that its rows go too', async () => {
    const { list, sandbox, clock } = await startListing({ addedAdvertisers: [NEW] });
    await list();
    sandbox.options.addedAdvertisers = [];
    clock.pass(60);
    const { advertisers, warnings } = await list();
    expect(advertisers).toEqual({ key: KEY.replace('00-00-000', '01-00-000'), count: 3 });
    expect(warnings.slice(1)).toEqual([
      `advertisers that the platform does not list any more: 1, so the days of this run are without ${NEW}`,
    ]);
  });

  it.each([
    ['RequestRefused', 'an empty list', 'lists no advertiser of account acme', 'body="[]"', {}],
    ['AnswerUnreadable', 'an item without an id', 'setting advertisers_list', 'body="[{}]"', {}],
    ['AnswerUnreadable', 'an id in another field', 'no UUID in its field uuid', '', { id: 'uuid' }],
    ['RequestRefused', '4: a missing scope', 'the scope advertisers:read', 'status=403', {}],
    ['PlatformUnavailable', '8: a 429', '429', 'status=429', {}],
  ])('throws %s for %s', async (name, _, words, effect, settings) => {
    const { list, objects } = await startListing(effect ? { faults: [`list ${effect}`] } : {});
    await expect(list({}, settings)).rejects.toMatchObject({
      name,
      happened: expect.stringContaining(words),
    });
    expect([...objects]).toEqual([]);
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

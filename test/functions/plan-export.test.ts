import { describe, expect, it } from 'vitest';
import { type AccountsPlan, planExport } from '../../functions/plan-export.ts';
import { MAX_FACTS_BYTES } from '../../functions/workflow/request/accounts.ts';
import { MAX_REQUEST_BYTES } from '../../functions/workflow/request/request.ts';
import type { ExportPlan } from '../../functions/workflow/states.ts';
import { keepLog, windowOf } from '../support/steps.ts';

const { request } = windowOf(['7d2f8a54-5f0e-4a3c-9f5e-0f4b8a1c2d3e']);
const started_at = '2026-11-21T06:00:00.000Z';
const target = { platform: 'api.platform.example/v1', revision: '2026-09-01' };

/** Plans the request with these changes, with an empty bucket. */
async function plan(changes: object = {}) {
  const { log, lines } = keepLog();
  const listed: string[] = [];
  const plans: unknown[][] = [];
  const store = {
    list: async (prefix: string) => {
      listed.push(prefix);
      return [];
    },
    getText: async () => undefined,
    head: async () => undefined,
    putJson: async (...put: unknown[]) => plans.push(put) > 0,
  };
  const changed = JSON.parse(JSON.stringify({ ...request, ...changes }));
  const input = { request: changed, execution: 'e', started_at };
  const planned = (await planExport(input, {
    log,
    store,
    now: () => new Date(started_at),
    ...target,
  })) as ExportPlan;
  return { planned, listed, lines, plans };
}

describe('PlanExport', () => {
  it('splits the range of a report into windows of at most 45 days, the newest first', async () => {
    const range = { start_date: '2026-01-01', end_date: '2026-03-01' };
    const { planned, listed } = await plan(range);
    expect(planned).toEqual({
      execution: 'e',
      started_at,
      request: { ...request, ...range },
      warnings: [],
      windows: [
        { start_date: '2026-02-15', end_date: '2026-03-01' },
        { start_date: '2026-01-01', end_date: '2026-02-15' },
      ],
      advertisers: null,
    });
    expect(listed).toEqual([]);
  });

  it('counts a period from the start of the execution', async () => {
    const { planned } = await plan({ start_date: undefined, end_date: undefined, period: 'yesterday' });
    expect(planned.windows).toMatchObject([{ start_date: '2026-11-20' }]);
  });

  it.each([
    [undefined, started_at, undefined],
    [true, '1970-01-01T00:00:00.000Z', 'absent'],
    ['2026-11-03T06:00:00Z', '2026-11-03T06:00:00.000Z', 'absent'],
  ])('writes down what was asked for; with only_missing %j, since %s, and keeps an earlier plan', async (only_missing, since, replaces) => {
    const { plans } = await plan({ only_missing });
    const key = 'exports/account=acme/export=daily/_plans/2026-11-01_2026-11-02.json';
    const request_hash = expect.stringMatching(/^[0-9a-f]{64}$/);
    const asked = { version: '1', execution: 'e', since, started_at, request_hash, request };
    expect(plans).toEqual([[key, asked, replaces]]);
  });

  it('38: logs its warnings and passes them on', async () => {
    const { planned, lines } = await plan({ metrics: ['viewability'] });
    expect(planned.warnings).toEqual([expect.stringContaining('viewability')]);
    expect(lines).toMatchObject([{ level: 'warn', message: planned.warnings[0] }]);
  });

  it.each([
    ['2026-11-22', 'UTC', 1],
    ['2026-11-21', 'UTC', 0],
    ['2026-11-22', 'Pacific/Kiritimati', 1],
    ['2026-11-21', 'Pacific/Honolulu', 1],
  ])('warns of days that are not over yet: to %s in %s', async (end_date, time_zone, count) => {
    const { planned } = await plan({ end_date, time_zone });
    expect(planned.warnings).toEqual(
      Array(count).fill(expect.stringContaining(`${end_date} is still to come`)),
    );
  });
});

describe('PlanExport of several accounts', () => {
  const { account: _, advertiser_ids, ...what } = request;
  const facts = [
    { account: 'acme', advertiser_ids, time_zone: 'Europe/Berlin' },
    { account: 'initech', advertiser_ids },
  ];
  const scheduled = { ...what, accounts: facts, scheduled_at: '2026-11-21T05:00:00Z' };

  async function planAccounts(changes: object = {}, execution = 'e') {
    const input = { request: { ...scheduled, max_parallel: 8, ...changes }, execution, started_at };
    return (await planExport(JSON.parse(JSON.stringify(input)), {} as never)) as AccountsPlan;
  }
  const namesOf = async (...of: Parameters<typeof planAccounts>) =>
    (await planAccounts(...of)).accounts.map(({ name }) => name);

  it('names an execution for each account, ten of which run at once, and leaves the rest as it is', async () => {
    const { accounts, ...plan } = await planAccounts();
    const { accounts: __, ...asked } = scheduled;
    expect(plan).toEqual({ execution: 'e', started_at, request: asked, max_accounts: 10 });
    expect(accounts).toEqual(
      facts.map((each) => ({
        account: each.account,
        name: expect.stringMatching(new RegExp(`^daily-${each.account}-[0-9a-f]{16}$`)),
        facts: each,
      })),
    );
  });

  it('29: gives a scheduled run that starts twice the same names, and another one others', async () => {
    const names = await namesOf();
    expect(await namesOf({}, 'the second start')).toEqual(names);
    for (const changes of [{ scheduled_at: '2026-11-22T05:00:00Z' }, { metrics: ['clicks'] }])
      for (const name of await namesOf(changes)) expect(names).not.toContain(name);
  });

  it.each([
    { scheduled_at: undefined },
    { only_missing: true },
  ])('gives each start by a person, with %j, names of its own', async (changes) => {
    expect(await namesOf(changes, 'first')).not.toEqual(await namesOf(changes, 'second'));
  });

  it('leaves room in the state for the most accounts and the longest facts and request', async () => {
    const advertiser_ids = ['7d2f8a54-5f0e-4a3c-9f5e-0f4b8a1c2d3e', '0b54c1f2-5f0e-4a3c-9f5e-0f4b8a1c2d3e'];
    const accounts = Array.from({ length: 250 }, (_, at) => ({
      account: `${at}`.padEnd(64, 'x'),
      advertiser_ids,
      time_zone: 'America/Argentina/ComodRivadavia',
    }));
    const bytes = accounts.reduce((sum, facts) => sum + JSON.stringify(facts).length, 0);
    expect(bytes).toBeLessThan(MAX_FACTS_BYTES);
    expect(bytes).toBeGreaterThan(MAX_FACTS_BYTES * 0.8);
    const options = { filter: 'x'.repeat(MAX_REQUEST_BYTES - 1_000) };
    const planned = await planAccounts({ accounts, options });
    // The state of the Map has the request once more, merged with the facts of one account at a time.
    expect(JSON.stringify(planned).length + MAX_REQUEST_BYTES).toBeLessThan(256 * 1024);
    const refused = [
      ...accounts,
      ...accounts.map((facts) => ({ ...facts, account: facts.account.replace(/x$/, 'y') })),
    ];
    await expect(planAccounts({ accounts: refused, options })).rejects.toMatchObject({
      facts: { faults: [expect.stringContaining('more than the 60000 that one execution can carry')] },
    });
  });

  it('counts the days of all accounts from the start', async () => {
    const { request: asked } = await planAccounts({ scheduled_at: undefined });
    expect(asked.scheduled_at).toBe(started_at);
  });

  it('keeps names of up to 80 characters apart', async () => {
    const long = ['a', 'b'].map((end) => ({ account: 'x'.repeat(63) + end, advertiser_ids }));
    const names = await namesOf({ name: 'n'.repeat(64), accounts: long });
    expect(new Set(names).size).toBe(2);
    for (const name of names) expect(name).toHaveLength(80);
  });

  it('36: names every fault of every account before one starts, and a fault of all once', async () => {
    const faulty = { accounts: [{ account: 'acme' }, facts[1]], metrics: [] };
    await expect(planAccounts(faulty)).rejects.toMatchObject({
      name: 'InvalidInput',
      facts: { faults: ['advertiser_ids: is missing (account acme)', 'metrics: must not be empty'] },
    });
    const { advertiser_ids: ids } = facts[0] ?? {};
    await expect(
      planAccounts({ accounts: [facts[0], { account: 'acme', advertiser_ids: ids }] }),
    ).rejects.toMatchObject({
      facts: { faults: ['accounts: must not repeat acme'] },
    });
    await expect(planAccounts({ accounts: [], max_accounts: 41 })).rejects.toMatchObject({
      facts: { faults: ['accounts: must not be empty', 'max_accounts: must be at most 40'] },
    });
  });
});

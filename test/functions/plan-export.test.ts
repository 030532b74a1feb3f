import { describe, expect, it } from 'vitest';
import type { Run } from '../../functions/days/runs.ts';
import { requestHash } from '../../functions/decisions/request-hash.ts';
import { type AccountsPlan, planExport } from '../../functions/plan-export.ts';
import { AccessRefused } from '../../functions/workflow/errors.ts';
import { runKey } from '../../functions/workflow/keys.ts';
import { MAX_FACTS_BYTES } from '../../functions/workflow/request/accounts.ts';
import {
  type ExportRequest,
  MAX_REQUEST_BYTES,
  type ReportRequest,
  splitRequest,
} from '../../functions/workflow/request/request.ts';
import type { Window } from '../../functions/workflow/state-parts.ts';
import type { ExportPlan } from '../../functions/workflow/states.ts';
import type { TableSchema } from '../../functions/workflow/table.ts';
import { createBucket } from '../support/manifests.ts';
import { keepLog, windowOf } from '../support/steps.ts';

const { request } = windowOf(['7d2f8a54-5f0e-4a3c-9f5e-0f4b8a1c2d3e']);
const started_at = '2026-11-21T06:00:00.000Z';
const now = () => new Date(started_at);
const target = { platform: 'api.platform.example/v1', revision: '2026-09-01' };

interface Setting {
  readonly bucket?: ReturnType<typeof createBucket>;
  /** The table of the deployed config. Undefined: the stack has no tables. */
  readonly schema?: TableSchema;
}

/** Plans the request with these changes. */
async function plan(changes: object = {}, { bucket = createBucket(), schema }: Setting = {}) {
  const { log, lines } = keepLog();
  const changed = JSON.parse(JSON.stringify({ ...request, ...changes }));
  const input = { request: changed, execution: 'e', started_at };
  const catalog = schema && { getTable: async () => schema };
  const planned = (await planExport(input, {
    log,
    store: bucket.store,
    catalog,
    now,
    ...target,
  })) as ExportPlan;
  const { lists } = bucket;
  return { planned, lists, lines, runs: runsIn(bucket) };
}

function runsIn({ texts }: ReturnType<typeof createBucket>): Record<string, Run> {
  const runs = [...texts].filter(([key]) => key.includes('/_runs/'));
  return Object.fromEntries(runs.map(([key, text]) => [key.replace(/.*_runs\//, ''), JSON.parse(text)]));
}

describe('PlanExport', () => {
  it('splits the range of a report into windows of at most 45 days, the newest first', async () => {
    const range = { start_date: '2026-01-01', end_date: '2026-03-01' };
    const { planned, lists } = await plan(range);
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
    expect(lists).toEqual([]);
  });

  it('counts a period from the start of the execution', async () => {
    const { planned } = await plan({ start_date: undefined, end_date: undefined, period: 'yesterday' });
    expect(planned.windows).toMatchObject([{ start_date: '2026-11-20' }]);
  });

  it('writes down the run, with the windows that it exports', async () => {
    const { runs } = await plan({ run: 'daily#2' });
    const window = { start_date: '2026-11-01', end_date: '2026-11-02' };
    expect(runs['e.json']).toEqual({
      version: '1',
      execution: 'e',
      run: 'daily#2',
      began_at: started_at,
      request,
      windows: [window],
    });
  });

  it('begins a scheduled run when it was due', async () => {
    const { runs } = await plan({ scheduled_at: '2026-11-21T05:00:00Z' });
    expect(runs['e.json']).toMatchObject({ began_at: '2026-11-21T05:00:00Z' });
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

const DELIVERED = '2026-11-20T06:00:00.000Z';
const october = (first: string, end: string) => ({
  start_date: `2026-10-${first}`,
  end_date: `2026-10-${end}`,
});

/** A bucket in which these windows were delivered, by default by the request as it is now. */
function createBucketOf(windows: readonly Window[], changes: object = {}) {
  const bucket = createBucket();
  const times = { report_created_at: DELIVERED, copied_at: DELIVERED, published_at: DELIVERED };
  for (const window of windows) bucket.deliver(request, window, { ...times, ...changes }, target);
  return bucket;
}

describe('PlanExport with only_missing', () => {
  const asked = { ...october('01', '07'), only_missing: true };

  it.each([
    ['delivers nothing', [], 1],
    ['delivers some of its days', [october('02', '06')], 1],
    ['deliver all of its days', [october('01', '04'), october('04', '07')], 0],
  ])('exports a window if other windows %s', async (_, delivered, count) => {
    const { planned, runs } = await plan(asked, { bucket: createBucketOf(delivered) });
    expect(planned).toMatchObject({ windows: { length: count }, already_delivered: 1 - count });
    expect(Object.keys(runs)).toHaveLength(count);
  });

  it('exports days again that the request delivered before the config changed, and says how many', async () => {
    const bucket = createBucketOf([october('01', '07')], { request_hash: 'before' });
    const { planned } = await plan(asked, { bucket });
    expect(planned.windows).toEqual([october('01', '07')]);
    expect(planned.warnings).toEqual([expect.stringMatching(/before the config changed.*: 6$/)]);
  });

  it('exports days again whose report was created before they were over', async () => {
    const bucket = createBucketOf([october('01', '07')], { report_created_at: '2026-10-06T12:00:00Z' });
    expect((await plan(asked, { bucket })).planned.windows).toHaveLength(1);
  });

  it('exports by manifests alone if the table cannot be read, and says so', async () => {
    const bucket = createBucketOf([october('01', '07')]);
    const list = async (prefix: string) => {
      if (prefix.startsWith('tables/')) throw new AccessRefused('S3 refuses to list tables/.');
      return bucket.store.list(prefix);
    };
    const broken = { ...bucket, store: { ...bucket.store, list } };
    const { planned } = await plan(asked, {
      bucket: broken,
      schema: schemaOf(requestHash(request as ReportRequest, target)),
    });
    expect(planned.windows).toEqual([]);
    expect(planned.warnings).toEqual([expect.stringContaining('the table cannot be read')]);
  });
});

describe('PlanExport that resumes an execution', () => {
  const range = { start_date: '2026-09-01', end_date: '2026-10-31' };
  const resumes = { execution: 'broken', began_at: '2026-11-19T00:00:00Z' };
  const [recent, early] = splitRequest({ ...request, ...range } as ExportRequest);
  const broken: Run = {
    version: '1',
    execution: 'broken',
    run: 'daily#1',
    began_at: '2026-11-20T00:00:00Z',
    request: { ...request, ...range } as ExportRequest,
    windows: [recent, early] as Window[],
  };

  it('exports the windows that no report since then has delivered, and takes over the run', async () => {
    const bucket = createBucketOf([recent as Window]);
    bucket.texts.set(runKey(request, 'broken'), JSON.stringify(broken));
    const { planned, runs } = await plan({ ...range, resumes }, { bucket });
    expect(planned).toMatchObject({ windows: [early], already_delivered: 1 });
    const { began_at, windows, run } = broken;
    expect(runs).toMatchObject({ 'e.json': { execution: 'e', run, began_at, windows } });
    expect(Object.keys(runs)).toEqual(['e.json']);
  });

  it('exports all of a run whose object is gone, if nothing was delivered since it began', async () => {
    const { planned } = await plan({ ...range, resumes });
    expect(planned.windows).toEqual([recent, early]);
  });

  it('finds the run of an account by the execution of several accounts', async () => {
    const bucket = createBucketOf([early as Window]);
    const child = { ...broken, execution: 'child', parent: 'broken' };
    bucket.texts.set(runKey(request, 'child'), JSON.stringify(child));
    const { planned, runs } = await plan({ ...range, resumes }, { bucket });
    expect(planned.windows).toEqual([recent]);
    expect(Object.keys(runs)).toEqual(['e.json']);
  });
});

function schemaOf(hash: string): TableSchema {
  const columns = [{ name: 'spend', type: 'decimal(18,6)', from: 'spend' }] as const;
  const requests = { [request.account]: hash };
  return { table: request.name, kind: 'report', columns, date_column: 'date', requests, currencies: {} };
}

describe('62: PlanExport of another request than the configured one', () => {
  it.each([
    ['more columns: clicks', { metrics: ['spend', 'clicks'] }],
    ['more columns: clicks; fewer columns: spend', { metrics: ['clicks'] }],
    ['advertisers, options, granularity, platform or revision', { options: { currency: 'USD' } }],
  ])('refuses it and names what differs: %s', async (difference, changes) => {
    const refused = plan(changes, { schema: schemaOf('configured') });
    await expect(refused).rejects.toMatchObject({
      name: 'InvalidInput',
      facts: { faults: [expect.stringMatching(new RegExp(`${difference}.*another name`))] },
    });
  });

  it('names other fields beside a column that only the config may have declared', async () => {
    const schema = schemaOf('configured');
    const extra = { name: 'extra', type: 'string', from: 'extra' } as const;
    const refused = plan({ options: {} }, { schema: { ...schema, columns: [...schema.columns, extra] } });
    await expect(refused).rejects.toMatchObject({
      facts: { faults: [expect.stringContaining('fewer columns: extra; or advertisers, options')] },
    });
  });

  it('refuses it although it asks for no table', async () => {
    await expect(plan({ table: false }, { schema: schemaOf('configured') })).rejects.toThrow(/fault/);
  });

  it('accepts it for an account that has no request of this name', async () => {
    const schema = { ...schemaOf('configured'), requests: { initech: 'configured' } };
    expect((await plan({}, { schema })).planned.windows).toHaveLength(1);
  });

  it('41: warns if Glue cannot be read, and goes on', async () => {
    const { log } = keepLog();
    const { store } = createBucket();
    const getTable = async () => {
      throw new AccessRefused('Glue refuses.');
    };
    const input = { request, execution: 'e', started_at };
    const planned = await planExport(input, { log, store, catalog: { getTable }, now, ...target });
    expect(planned).toMatchObject({ warnings: [expect.stringContaining('not compared')] });
  });
});

describe('PlanExport of several accounts', () => {
  const { account: _, advertiser_ids, ...what } = request;
  const facts = [
    { account: 'acme', advertiser_ids, time_zone: 'Europe/Berlin' },
    { account: 'initech', advertiser_ids },
  ];
  const scheduled = { ...what, accounts: facts, scheduled_at: '2026-11-21T05:00:00Z' };

  async function planAccounts(changes: object = {}, execution = 'e', bucket = createBucket()) {
    const input = { request: { ...scheduled, max_parallel: 8, ...changes }, execution, started_at };
    const { log } = keepLog();
    const { store } = bucket;
    const dependencies = { log, store, catalog: undefined, now, ...target };
    return (await planExport(JSON.parse(JSON.stringify(input)), dependencies)) as AccountsPlan;
  }
  const namesOf = async (...of: Parameters<typeof planAccounts>) =>
    (await planAccounts(...of)).accounts.map(({ name }) => name);

  it('names an execution for each account, ten of which run at once, and leaves the rest as it is', async () => {
    const { accounts, ...plan } = await planAccounts();
    const { accounts: __, ...asked } = scheduled;
    expect(plan).toEqual({ execution: 'e', started_at, request: asked, max_accounts: 10 });
    expect(accounts).toEqual(
      facts.map((ofAccount) => ({
        account: ofAccount.account,
        name: expect.stringMatching(new RegExp(`^daily-${ofAccount.account}-[0-9a-f]{16}$`)),
        facts: ofAccount,
      })),
    );
  });

  it('writes the run of each account before the first one starts', async () => {
    const bucket = createBucket();
    const { accounts } = await planAccounts({ run: 'daily#1' }, 'parent', bucket);
    const [first] = accounts;
    const began_at = '2026-11-21T05:00:00Z';
    expect(runsIn(bucket)).toMatchObject({
      [`${first?.name}.json`]: { execution: first?.name, parent: 'parent', run: 'daily#1', began_at },
    });
    expect(Object.keys(runsIn(bucket))).toHaveLength(2);
  });

  it('leaves the run of an account with the execution that started it first', async () => {
    const bucket = createBucket();
    await planAccounts({}, 'first', bucket);
    await planAccounts({}, 'second', bucket);
    expect(Object.values(runsIn(bucket)).map(({ parent }) => parent)).toEqual(['first', 'first']);
  });

  /** Plans the first account, as its own execution does once the parent has started it. */
  async function planFirst({ accounts, request: asked }: AccountsPlan, bucket = createBucket()) {
    const [first] = accounts;
    const { log } = keepLog();
    const { store } = bucket;
    const input = { request: { ...first?.facts, ...asked }, execution: first?.name ?? '', started_at };
    const planned = await planExport(input, { log, store, catalog: undefined, now, ...target });
    return { planned: planned as ExportPlan, run: runsIn(bucket)[`${first?.name}.json`] };
  }

  it('keeps the parent in the run of an account that has begun', async () => {
    const bucket = createBucket();
    const { run } = await planFirst(await planAccounts({}, 'parent', bucket), bucket);
    expect(run).toMatchObject({ parent: 'parent', windows: [{}] });
  });

  it('writes with only_missing the runs of accounts that lack days, and of these only the windows', async () => {
    const range = { start_date: '2026-09-01', end_date: '2026-10-31' };
    const [recent, early] = splitRequest({ ...request, ...range } as ExportRequest) as Window[];
    const bucket = createBucketOf([recent as Window]);
    for (const window of [recent, early])
      bucket.deliver({ ...request, account: 'initech' }, window as Window, {}, target);
    const asked = await planAccounts({ ...range, only_missing: true }, 'parent', bucket);
    const runs = Object.values(runsIn(bucket));
    expect(runs).toMatchObject([{ request: { account: 'acme' }, parent: 'parent', windows: [early] }]);
    const { planned, run } = await planFirst(asked, bucket);
    expect(planned).toMatchObject({ windows: [early], already_delivered: 1 });
    expect(run).toMatchObject({ parent: 'parent', windows: [early] });
  });

  it('takes over the runs that it resumes, before the first account starts', async () => {
    const bucket = createBucket();
    await planAccounts({ run: 'daily#1' }, 'broken', bucket);
    const before = Object.values(runsIn(bucket));
    const resumes = { execution: 'broken', began_at: '2026-11-21T05:00:00Z' };
    const asked = await planAccounts({ resumes }, 'parent', bucket);
    const taken = before.map(({ request: { account }, began_at, windows }) => {
      return { request: { account }, parent: 'parent', run: 'daily#1', began_at, windows };
    });
    expect(Object.values(runsIn(bucket))).toMatchObject(taken);
    // A second try of the account's PlanExport finds the same.
    for (let tries = 0; tries < 2; tries += 1) {
      const { planned, run } = await planFirst(asked, bucket);
      expect(planned.windows).toHaveLength(1);
      expect(run).toMatchObject(taken[0] ?? {});
    }
    expect(Object.keys(runsIn(bucket))).toHaveLength(2);
  });

  it('62: refuses the accounts that have another request than the configured one, before one starts', async () => {
    const bucket = createBucket();
    const getTable = async () => schemaOf('configured');
    const { log } = keepLog();
    const input = { request: JSON.parse(JSON.stringify(scheduled)), execution: 'e', started_at };
    const planned = planExport(input, { log, store: bucket.store, catalog: { getTable }, now, ...target });
    await expect(planned).rejects.toMatchObject({
      name: 'InvalidInput',
      facts: { faults: [expect.stringContaining('account acme has another request')] },
    });
    expect(runsIn(bucket)).toEqual({});
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

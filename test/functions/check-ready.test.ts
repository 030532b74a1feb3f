import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { checkReady, MAX_CHECKS } from '../../functions/check-ready.ts';
import { requestHash } from '../../functions/decisions/request-hash.ts';
import { AccessRefused } from '../../functions/workflow/errors.ts';
import { type Readiness, ReadyCheck } from '../../functions/workflow/ready.ts';
import { daysOf } from '../../functions/workflow/request/dates.ts';
import { parseRequest } from '../../functions/workflow/request/request.ts';
import type { Window } from '../../functions/workflow/state-parts.ts';
import type { TableSchema } from '../../functions/workflow/table.ts';
import { SAID, shownDay, writeParquet } from '../support/ledger-rows.ts';
import { createBucket } from '../support/manifests.ts';
import { expectToMatchSchema } from '../support/schemas.ts';
import { keepLog } from '../support/steps.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const NOW = new Date('2026-11-23T08:00:00Z');
const target = { platform: 'api.platform.example/v1', revision: '2026-09-01' };
const WINDOW = { start_date: '2026-11-16', end_date: '2026-11-23' };
const HALF = { ...WINDOW, end_date: '2026-11-20' };
const OTHER_HALF = { ...WINDOW, start_date: '2026-11-20' };

const input = (account: string) => ({
  name: 'daily',
  account,
  period: 'last_7_days',
  time_zone: 'Europe/Berlin',
  advertiser_ids: ['7d2f8a54-5f0e-4a3c-9f5e-0f4b8a1c2d3e'],
  metrics: ['spend'],
});

/** A bucket in which these windows were delivered, the reports created by default today. */
function createStore(
  delivered: Readonly<Record<string, readonly Window[]>>,
  created = NOW.toISOString(),
  inputOf: (account: string) => object = input,
) {
  const bucket = createBucket();
  const times = { report_created_at: created, copied_at: created, published_at: created };
  for (const [account, windows] of Object.entries(delivered))
    for (const window of windows)
      bucket.deliver(parseRequest(inputOf(account), NOW).request, window, times, target);
  return bucket;
}

function runOf(requests: readonly object[], changes: Partial<ReadyCheck>): ReadyCheck {
  return ReadyCheck.parse({
    export: 'daily',
    ready_by: '09:00',
    time_zone: 'Europe/Berlin',
    tell: false,
    expression: 'cron(0 6 * * ? *)',
    checked_at: '2026-11-23T08:00:00Z',
    requests,
    ...changes,
  });
}

/** Checks a run of these accounts. */
async function check(
  delivered: Readonly<Record<string, readonly Window[]>>,
  changes: Partial<ReadyCheck> = {},
  created?: string,
  inputOf: (account: string) => object = input,
  now = NOW,
) {
  const { store, lists, reads } = createStore(delivered, created, inputOf);
  const run = runOf(Object.keys(delivered).map(inputOf), changes);
  const checked = await checkReady(run, {
    store,
    catalog: undefined,
    now: () => now,
    log: keepLog().log,
    ...target,
    program: 'npm run export --',
  });
  expectToMatchSchema('readiness', checked.readiness);
  return { checked, lists, reads };
}

function linesOf({ subject, message }: Readiness): string[] {
  return [subject, ...message.split('\n')];
}

describe('CheckReady', () => {
  it('names each account that lacks days, and the command that exports them', async () => {
    const { checked } = await check({ acme: [WINDOW], globex: [HALF], initech: [] });
    expect(checked).toMatchObject({ status: 'late', late: 2, checks: 1 });
    const command = (account: string, from: string) =>
      `  npm run export -- run daily --account ${account} --from ${from} --to 2026-11-23`;
    expect(linesOf(checked.readiness)).toEqual([
      'daily of 2026-11-23 is late',
      'daily of 2026-11-23 is late: 2 of 3 accounts, due at 09:00 (Europe/Berlin).',
      'globex lacks 2026-11-20 to 2026-11-22. If it is not running:',
      command('globex', '2026-11-20'),
      'initech lacks 2026-11-16 to 2026-11-22. If it is not running:',
      command('initech', '2026-11-16'),
    ]);
  });

  it('has text for mail, and for the chat service the custom notification that it takes', async () => {
    const { checked } = await check({ acme: [HALF] });
    const { subject: title, message } = checked.readiness;
    const { https, ...others } = JSON.parse(checked.notification);
    expect(others).toEqual({ default: message });
    const description = ['```', message, '```'].join('\n');
    expect(JSON.parse(https)).toEqual({ version: '1.0', source: 'custom', content: { title, description } });
  });

  it('lists the windows and runs of an account, and reads two objects of a window', async () => {
    const { checked, lists, reads } = await check({ acme: [WINDOW], globex: [WINDOW] });
    expect(checked).toMatchObject({ status: 'done', late: 0 });
    expect(lists).toHaveLength(4);
    expect(reads).toHaveLength(2);
  });

  it.each<[string, Record<string, Window[]>, Partial<ReadyCheck>, string]>([
    ['late', { acme: [] }, {}, 'late'],
    ['late, but brought by windows of other runs', { acme: [HALF, OTHER_HALF] }, {}, 'done'],
    ['still late', { acme: [] }, { checked: { checks: 1, told: 'late' } }, 'waiting'],
    ['late, and was not known before', { acme: [] }, { checked: { checks: 1, told: 'unknown' } }, 'late'],
    ['late for seven days', { acme: [] }, { checked: { checks: MAX_CHECKS, told: 'late' } }, 'done'],
    ['there at last', { acme: [WINDOW] }, { checked: { checks: 1, told: 'late' } }, 'ready'],
    ['there, and a person wants to know', { acme: [WINDOW] }, { tell: true }, 'ready'],
    ['there', { acme: [WINDOW] }, {}, 'done'],
  ])('a run that is %s', async (_, delivered, changes, status) => {
    expect((await check(delivered, changes)).checked.status).toBe(status);
  });

  it.each([
    ['2026-11-23T04:59:59Z', [WINDOW]],
    ['2026-11-23T05:00:00Z', []],
  ])('knows days of reports from before 06:00 in Berlin as missing: of %s', async (created, missing) => {
    const { checked } = await check({ acme: [WINDOW] }, { tell: true }, created);
    expect(checked.readiness.accounts).toMatchObject([
      missing.length > 0 ? { missing } : { account: 'acme' },
    ]);
  });

  it('counts days of the request before the config changed as late', async () => {
    const before = (account: string) => ({ ...input(account), metrics: ['clicks'] });
    const { store } = createStore({ acme: [WINDOW] }, undefined, before);
    const dependencies = {
      store,
      catalog: undefined,
      now: () => NOW,
      log: keepLog().log,
      ...target,
      program: 'npm run export --',
    };
    expect(await checkReady(runOf([input('acme')], {}), dependencies)).toMatchObject({ status: 'late' });
  });

  it('counts days that the table lacks as late', async () => {
    const { store } = createStore({ acme: [WINDOW] });
    const schema = tableOf(input('acme'));
    const catalog = { getTable: async () => schema };
    const dependencies = {
      store,
      catalog,
      now: () => NOW,
      log: keepLog().log,
      ...target,
      program: 'npm run export --',
    };
    expect(await checkReady(runOf([input('acme')], {}), dependencies)).toMatchObject({ status: 'late' });
  });

  it.each([
    ['there or held', NOW.toISOString(), 'ready'],
    ['shown from a report before the run was due', '2026-11-23T04:00:00Z', 'late'],
  ])('of a table whose days are %s is %s', async (_, created_at, status) => {
    const { store } = createStore({ acme: [WINDOW] }, created_at);
    const schema = tableOf(input('acme'));
    const report = { report_id: 'r', created_at, request_hash: schema.requests.acme ?? '' };
    const held = { ...report, ledger: SAID };
    const days = daysOf(WINDOW).map((day, at) => [day, at === 3 ? shownDay({ held }) : shownDay(report)]);
    const file = join(temporaryDirectory(), 'month.parquet');
    await writeParquet(file, 'SELECT 1 AS spend', { days: JSON.stringify(Object.fromEntries(days)) });
    const bytes = readFileSync(file);
    const key = 'tables/daily/acme.2026-11.parquet';
    const list = async (prefix: string) => (key.startsWith(prefix) ? [key] : store.list(prefix));
    const readEnd = async () => ({ bytes, size: bytes.length });
    const dependencies = {
      store: { ...store, list, readEnd },
      catalog: { getTable: async () => schema },
      now: () => NOW,
      log: keepLog().log,
      ...target,
      program: 'npm run export --',
    };
    expect(await checkReady(runOf([input('acme')], { tell: true }), dependencies)).toMatchObject({ status });
  });

  describe('of a table that cannot be read', () => {
    /** The table of acme cannot be read, and that of globex lacks its days. */
    async function checkUnread(accounts: readonly string[], changes: Partial<ReadyCheck> = {}) {
      const { store } = createStore({ acme: [WINDOW], globex: [HALF] });
      const list: typeof store.list = async (prefix, after) => {
        if (prefix.startsWith('tables/daily/acme')) throw new AccessRefused('S3 refuses.');
        return store.list(prefix, ...(after === undefined ? [] : [after]));
      };
      const catalog = { getTable: async () => tableOf(input('acme')) };
      const { log, lines } = keepLog();
      const program = 'npm run export --';
      const dependencies = { store: { ...store, list }, catalog, now: () => NOW, log, ...target, program };
      const checked = await checkReady(runOf(accounts.map(input), changes), dependencies);
      expectToMatchSchema('readiness', checked.readiness);
      return { checked, lines };
    }

    it('says that an account is not known, and tries again', async () => {
      const { checked, lines } = await checkUnread(['acme']);
      expect(checked).toMatchObject({ status: 'late', told: 'unknown', late: 1 });
      expect(linesOf(checked.readiness)).toEqual([
        'daily of 2026-11-23 is not known',
        'daily of 2026-11-23 is not known: 1 of 1 account, due at 09:00 (Europe/Berlin).',
        'acme is not known, because its table cannot be read: S3 refuses. The next check tries again.',
      ]);
      expect(lines).toMatchObject([{ level: 'warn', fields: { account: 'acme' } }]);
      const again = await checkUnread(['acme'], { checked: { checks: 1, told: 'unknown' } });
      expect(again.checked).toMatchObject({ status: 'waiting', told: 'unknown', late: 1 });
    });

    it('has words for each account that it counts, late or not known', async () => {
      const { checked } = await checkUnread(['acme', 'globex']);
      expect(checked).toMatchObject({ status: 'late', told: 'late', late: 2 });
      expect(checked.readiness.accounts).toMatchObject([
        { account: 'globex', missing: [WINDOW] },
        { account: 'acme', not_known: 'S3 refuses' },
      ]);
      const [subject, title] = linesOf(checked.readiness);
      expect(subject).toBe('daily of 2026-11-23 is late');
      expect(title).toContain('is late: 1 of 2 accounts, not known: 1 of 2 accounts, due at');
    });
  });

  it('ends in silence once a later start of the run is there', async () => {
    const tomorrow = new Date('2026-11-24T08:00:00Z');
    const next = { start_date: '2026-11-17', end_date: '2026-11-24' };
    const late = { checked: { checks: 90, told: 'late' } } as const;
    const { checked } = await check({ acme: [next] }, late, tomorrow.toISOString(), input, tomorrow);
    expect(checked).toMatchObject({ status: 'done', late: 0 });
    expect((await check({ acme: [] }, late, undefined, input, tomorrow)).checked.status).toBe('waiting');
  });

  it.each([
    ['the last start of several', 'cron(0 4,6,23 * * ? *)', '2026-11-23T08:00:00Z', '2026-11-23'],
    ['a start before the clock goes back', 'cron(30 0 * * ? *)', '2026-10-25T05:00:00Z', '2026-10-25'],
    ['a start before the clock goes forward', 'cron(30 0 * * ? *)', '2027-03-28T04:00:00Z', '2027-03-28'],
  ])('counts the period from %s', async (_, expression, checked_at, date) => {
    const { checked } = await check({ acme: [] }, { expression, checked_at });
    expect(checked.readiness).toMatchObject({ date, accounts: [{ missing: [{ end_date: date }] }] });
  });

  it('has a subject that SNS accepts, and a message and an event for 200 accounts', async () => {
    const accounts = Array.from({ length: 200 }, (_, at) => `${'a'.repeat(37)}-${at}`);
    const { checked } = await check(Object.fromEntries(accounts.map((name) => [name, []])), {
      export: 'd'.repeat(64),
    });
    const { subject, message } = checked.readiness;
    const { https, ...others } = JSON.parse(checked.notification);
    expect(others).toEqual({ default: message });
    const { description } = JSON.parse(https).content;
    expect(description.length).toBeLessThanOrEqual(8_000);
    expect(description).toMatch(/\nand more: see status\n```$/);
    const commands = description.split('\n').filter((line: string) => line.includes(' run '));
    expect(commands.filter((line: string) => !line.endsWith('--to 2026-11-23'))).toEqual([]);
    expect(Buffer.byteLength(checked.notification)).toBeLessThan(256 * 1024);
    expect(subject.length).toBeLessThanOrEqual(100);
    expect(message).toMatch(/\nand 200 more lines: see status$/);
    expect(JSON.stringify(checked).length).toBeLessThan(150_000);
  });

  it('accepts any later snapshot of a list, and names no days in its command', async () => {
    const list = (account: string) => ({ kind: 'list', name: 'daily', account, resource: 'campaigns' });
    const late = await check({ acme: [] }, {}, undefined, list);
    expect(linesOf(late.checked.readiness).at(-1)).toBe('  npm run export -- run daily --account acme');
    const later = { start_date: '2026-11-26', end_date: '2026-11-27' };
    const now = new Date('2026-11-26T08:00:00Z');
    const there = await check({ acme: [later] }, {}, now.toISOString(), list, now);
    expect(there.checked.status).toBe('done');
  });

  it.each([
    ['windows of its own', [WINDOW]],
    ['windows of other runs', [HALF, OTHER_HALF]],
  ])('56: says that the days of a run are there, and no numbers, if they came in %s', async (_, windows) => {
    const { checked } = await check({ acme: windows }, { tell: true });
    expect(checked.readiness.accounts).toEqual([{ account: 'acme' }]);
    expect(linesOf(checked.readiness)).toEqual([
      'daily of 2026-11-23 is there',
      'daily of 2026-11-23 is there: 1 account, due at 09:00 (Europe/Berlin).',
      'acme has 2026-11-16 to 2026-11-22.',
    ]);
  });
});

/** The table of an input's request, as the config gives it. */
function tableOf(fields: object): TableSchema {
  const { request } = parseRequest(fields, NOW);
  const columns = [{ name: 'spend', type: 'decimal(18,6)', from: 'spend' }] as const;
  const requests = { acme: requestHash(request, target) };
  return { table: 'daily', kind: 'report', columns, date_column: 'date', requests, currencies: {} };
}

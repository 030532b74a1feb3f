import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { MAX_CHECKS } from '../../functions/check-ready.ts';
import { AccessRefused } from '../../functions/workflow/errors.ts';
import type { ReadyCheck } from '../../functions/workflow/ready.ts';
import { daysOf } from '../../functions/workflow/request/dates.ts';
import type { Window } from '../../functions/workflow/state-parts.ts';
import { LEDGER_FACTS, shownDay, writeParquet } from '../support/ledger-rows.ts';
import { check, HALF, inputOf, OTHER_HALF, schemaOf, WINDOW } from '../support/ready.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

describe('CheckReady', () => {
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
  ])('a run that is %s', async (_, delivered, run, status) => {
    expect((await check(delivered, { run })).checked.status).toBe(status);
  });

  it('counts days of a report from before the run was due as late', async () => {
    const { checked } = await check({ acme: [WINDOW] }, { created: '2026-11-23T04:59:59Z' });
    expect(checked).toMatchObject({ status: 'late', readiness: { accounts: [{ missing: [WINDOW] }] } });
  });

  it('counts days of a report from when the run was due as there', async () => {
    const { checked } = await check({ acme: [WINDOW] }, { created: '2026-11-23T05:00:00Z' });
    expect(checked).toMatchObject({ status: 'done', late: 0 });
  });

  it('counts days of the request before the config changed as late', async () => {
    const deliveredBy = (account: string) => ({ ...inputOf(account), metrics: ['clicks'] });
    const { checked } = await check({ acme: [WINDOW] }, { deliveredBy });
    expect(checked.status).toBe('late');
  });

  it('counts days that the table lacks as late', async () => {
    const { checked } = await check({ acme: [WINDOW] }, { schema: schemaOf() });
    expect(checked.status).toBe('late');
  });

  it.each([
    ['there or held', '2026-11-23T08:00:00Z', 'ready'],
    ['shown from a report before the run was due', '2026-11-23T04:00:00Z', 'late'],
  ])('of a table whose days are %s is %s', async (_, created, status) => {
    const schema = schemaOf();
    const report = { report_id: 'r', created_at: created, request_hash: schema.requests.acme ?? '' };
    const held = { ...report, ledger: LEDGER_FACTS };
    const days = daysOf(WINDOW).map((day, at) => [day, at === 3 ? shownDay({ held }) : shownDay(report)]);
    const file = join(temporaryDirectory(), 'month.parquet');
    await writeParquet(file, 'SELECT 1 AS spend', { days: JSON.stringify(Object.fromEntries(days)) });
    const bytes = readFileSync(file);
    const key = 'tables/daily/acme.2026-11.parquet';
    const { checked } = await check(
      { acme: [WINDOW] },
      {
        created,
        schema,
        run: { tell: true },
        store: (bucket) => ({
          ...bucket,
          list: async (prefix) => (key.startsWith(prefix) ? [key] : bucket.list(prefix)),
          readEnd: async () => ({ bytes, size: bytes.length }),
        }),
      },
    );
    expect(checked.status).toBe(status);
  });

  describe('of a table that cannot be read', () => {
    /** The table of acme cannot be read, and that of globex lacks its days. */
    const checkUnread = (delivered: Record<string, Window[]>, run: Partial<ReadyCheck> = {}) =>
      check(delivered, {
        run,
        schema: schemaOf(),
        store: (bucket) => ({
          ...bucket,
          list: async (prefix, ...rest) => {
            if (prefix.startsWith('tables/daily/acme')) throw new AccessRefused('S3 refuses.');
            return bucket.list(prefix, ...rest);
          },
        }),
      });

    it('says that an account is not known, and logs why', async () => {
      const { checked, words, logged } = await checkUnread({ acme: [WINDOW] });
      expect(checked).toMatchObject({ status: 'late', told: 'unknown', late: 1 });
      expect(words).toEqual([
        'daily of 2026-11-23 is not known',
        'daily of 2026-11-23 is not known: 1 of 1 account, due at 09:00 (Europe/Berlin).',
        'acme is not known, because its table cannot be read: S3 refuses. The next check tries again.',
      ]);
      expect(logged).toMatchObject([{ level: 'warn', fields: { account: 'acme' } }]);
    });

    it('waits once it was said that the account is not known', async () => {
      const { checked } = await checkUnread({ acme: [WINDOW] }, { checked: { checks: 1, told: 'unknown' } });
      expect(checked).toMatchObject({ status: 'waiting', told: 'unknown', late: 1 });
    });

    it('has words for each account that it counts, late or not known', async () => {
      const { checked, words } = await checkUnread({ acme: [WINDOW], globex: [HALF] });
      expect(checked).toMatchObject({ status: 'late', told: 'late', late: 2 });
      expect(checked.readiness.accounts).toMatchObject([
        { account: 'globex', missing: [WINDOW] },
        { account: 'acme', not_known: 'S3 refuses' },
      ]);
      const [subject, title] = words;
      expect(subject).toBe('daily of 2026-11-23 is late');
      expect(title).toContain('is late: 1 of 2 accounts, not known: 1 of 2 accounts, due at');
    });
  });

  describe('of a late run on the next day', () => {
    const now = new Date('2026-11-24T08:00:00Z');
    const run = { checked: { checks: 90, told: 'late' } } as const;

    it('ends in silence once the later start of the run is there', async () => {
      const next = { start_date: '2026-11-17', end_date: '2026-11-24' };
      const { checked } = await check({ acme: [next] }, { run, now });
      expect(checked).toMatchObject({ status: 'done', late: 0 });
    });

    it('waits if the later start of the run is not there either', async () => {
      expect((await check({ acme: [] }, { run, now })).checked.status).toBe('waiting');
    });
  });

  it.each([
    ['the last start of several', 'cron(0 4,6,23 * * ? *)', '2026-11-23T08:00:00Z', '2026-11-23'],
    ['a start before the clock goes back', 'cron(30 0 * * ? *)', '2026-10-25T05:00:00Z', '2026-10-25'],
    ['a start before the clock goes forward', 'cron(30 0 * * ? *)', '2027-03-28T04:00:00Z', '2027-03-28'],
  ])('counts the period from %s', async (_, expression, checked_at, date) => {
    const { checked } = await check({ acme: [] }, { run: { expression, checked_at } });
    expect(checked.readiness).toMatchObject({ date, accounts: [{ missing: [{ end_date: date }] }] });
  });

  it('accepts any later snapshot of a list', async () => {
    const configured = (account: string) => ({ kind: 'list', name: 'daily', account, resource: 'campaigns' });
    const later = { start_date: '2026-11-26', end_date: '2026-11-27' };
    const { checked } = await check({ acme: [later] }, { configured, now: new Date('2026-11-26T08:00:00Z') });
    expect(checked.status).toBe('done');
  });
});

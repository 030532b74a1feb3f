import { expect, test } from 'vitest';
import { judgeMonths } from '../../../infra/knowledge/final-days.ts';

const DAYS = ['2026-10-01', '2026-10-02', '2026-10-03'];

test.each([
  [{ '2026-10-02': '2026-10-04' }, '2026-10-11'],
  // A backfill read the other days later.
  [{ '2026-10-01': '2026-10-09', '2026-10-02': '2026-10-04', '2026-10-03': '2026-10-20' }, '2026-10-11'],
])('the unverified days of a month can be final if they are read again: %j from %s on', (since, from) => {
  const days = DAYS.map((day) => ({ day, state: 'present' as const, rows: 1, problem: undefined }));
  const ledger = new Map(
    DAYS.map((day) => {
      const same_since = new Map(Object.entries(since)).get(day) ?? null;
      return [day, { values: {}, first: {}, corrections: 0, finality: 'unverified' as const, same_since }];
    }),
  );
  const range = { start_date: '2026-10-01', end_date: '2026-10-04', days };
  const config = { final_after_days: 7, accounts: {} };
  const folder = { local: true, out: 'out' } as const;
  const id = { account: 'acme', name: 'daily' };
  expect(judgeMonths(range, ledger, id, config, folder)).toMatchObject([
    { month: '2026-10', unverified: 3, verify: { from } },
  ]);
  expect(judgeMonths(range, new Map(), id, config, folder)).toMatchObject([{ lacking: 3 }]);
});

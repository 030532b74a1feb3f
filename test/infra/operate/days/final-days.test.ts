import { expect, test } from 'vitest';
import { DAY_STATES } from '../../../../functions/days/judge.ts';
import { judgeMonths } from '../../../../infra/operate/days/final-days.ts';
import { shownDay } from '../../../support/ledger-rows.ts';

const DAYS = ['2026-10-01', '2026-10-02', '2026-10-03'];
const CONFIG = { final_after_days: 7, accounts: {} };
const FOLDER = { local: true, out: 'out' } as const;
const ID = { account: 'acme', name: 'daily' };

test.each([
  [{ '2026-10-02': '2026-10-04' }, '2026-10-11'],
  // A backfill read the other days later.
  [{ '2026-10-01': '2026-10-09', '2026-10-02': '2026-10-04', '2026-10-03': '2026-10-20' }, '2026-10-11'],
])('the unverified days of a month can be final if they are read again: %j from %s on', (since, from) => {
  const days = DAYS.map((day) => ({ day, state: 'there' as const, shown: shownDay() }));
  const ledger = new Map(
    DAYS.map((day) => {
      const same_since = new Map(Object.entries(since)).get(day) ?? null;
      return [day, { values: {}, first: {}, corrections: 0, finality: 'unverified' as const, same_since }];
    }),
  );
  const range = { start_date: '2026-10-01', end_date: '2026-10-04', days };
  expect(judgeMonths(range, ledger, ID, CONFIG, FOLDER)).toMatchObject([
    { month: '2026-10', unverified: 3, verify: { from } },
  ]);
  expect(judgeMonths(range, new Map(), ID, CONFIG, FOLDER)).toMatchObject([{ lacking: 3 }]);
});

test('a day is lacking in its month if it is missing, behind or held, whatever the ledger says', () => {
  const shown = shownDay();
  const lacks = DAY_STATES.filter((state) => {
    const facts = { values: {}, first: {}, corrections: 0, finality: 'final' as const, same_since: null };
    const days = [{ day: '2026-10-01', state, shown }];
    const [month] = judgeMonths({ days }, new Map([['2026-10-01', facts]]), ID, CONFIG, FOLDER);
    return month?.lacking === 1 && month.final === 0;
  });
  expect(lacks).toEqual(['missing', 'behind', 'held']);
});

test('nothing is said of a month of which the table shows no day', () => {
  const days = [{ day: '2026-10-01', state: 'missing' as const }];
  expect(judgeMonths({ days }, new Map(), ID, CONFIG, FOLDER)).toEqual([]);
});

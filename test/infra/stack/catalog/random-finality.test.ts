import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, expect, it } from 'vitest';
import { addDays, daysBetween } from '../../../../functions/workflow/request/dates.ts';
import { LEDGER } from '../../../../functions/workflow/table.ts';
import { savedQueries } from '../../../../infra/stack/catalog/queries.ts';
import { startTables, TABLE } from '../../../functions/tables/curations.ts';
import { query } from '../../../functions/tables/reports.ts';
import { BUCKET } from '../../../support/s3.ts';

const tables = await startTables();
afterAll(() => tables.close());
let cases = 0;

const START = '2026-09-25';
const DAYS = 20;
/** Days between the first day and the last report. */
const SPAN = 40;

/** A report of some days. Reports may arrive in any order. */
const report = fc.record({
  account: fc.constantFrom('a', 'b'),
  /** Days from the first day to its creation. */
  age: fc.integer({ min: 1, max: SPAN }),
  /** The first of its days. */
  first: fc.nat({ max: DAYS - 1 }),
  length: fc.integer({ min: 1, max: DAYS }),
  /** It has no rows for this day. */
  gap: fc.nat({ max: DAYS }),
  /** The value of each other day. 0: it has no rows at all. */
  value: fc.constantFrom(0, 1, 1, 1, 1, 2),
});
// Small values would show each day once.
const reports = fc.noBias(fc.array(report, { minLength: 8, maxLength: 16 }));

/** One day in one report. */
interface ReportedDay {
  readonly created: string;
  readonly id: string;
  readonly value: number;
  readonly rows: number;
}

/** Judges a day as the reference describes it, from what its reports have in the order of arrival. */
function judge(day: string, reported: readonly ReportedDay[], days: number, today: string): string {
  const byAge = reported.toSorted((first, second) =>
    [first.created, first.id].join() < [second.created, second.id].join() ? -1 : 1,
  );
  const shown = byAge.findLast(({ rows }) => rows > 0) ?? byAge.at(-1);
  const isSame = (newer: ReportedDay, older: ReportedDay | undefined) =>
    older !== undefined && newer.value === older.value && newer.rows === older.rows;
  const changes = byAge.filter((report, at) => !isSame(report, byAge[at - 1]));
  const dates = changes.map(({ created }) => created.slice(0, 10));
  const last = [addDays(day, 1), ...dates].sort().at(-1) ?? '';
  const newest = byAge.at(-1);
  if (shown && newest === shown && daysBetween(last, shown.created.slice(0, 10)) >= days) return 'final';
  return daysBetween(last, today) < days ? 'changing' : 'unverified';
}

it('finality is what the reports of each day say, whatever their windows and the order of their arrival', async () => {
  await fc.assert(
    fc.asyncProperty(reports, fc.nat({ max: 20 }), async (all, later) => {
      cases += 1;
      const accounts = { [`a${cases}`]: { final_after_days: 3 }, [`b${cases}`]: {} };
      const reported = new Map<string, ReportedDay[]>();
      for (const [at, { age, first, length, gap, value, ...of }] of all.entries()) {
        const account = `${of.account}${cases}`;
        const created_at = `${addDays(START, age)}T0${at % 9}:00:00.000Z`;
        const id = `r${at}`;
        const offsets = Array.from({ length: Math.min(length, DAYS - first) }, (_, number) => first + number);
        const spends = offsets.map((offset) => {
          const day = addDays(START, offset);
          const key = `${account} ${day}`;
          const rows = offset === gap || value === 0 ? 0 : 1;
          const reportedDay = { created: created_at, id, value: rows * value, rows };
          reported.set(key, [...(reported.get(key) ?? []), reportedDay]);
          return [day, rows === 0 ? [] : [value]] as const;
        });
        const window = { start_date: addDays(START, first), length: spends.length };
        await tables.curate({ id, created_at, account, ...window, spends: Object.fromEntries(spends) });
      }
      const today = addDays(START, SPAN + later);
      const config = { final_after_days: 7, accounts };
      const { finality } = savedQueries([TABLE], { today: `DATE '${today}'`, config });
      const files = join(tables.s3.directory, BUCKET, `tables/ledger/*${cases}.daily.*.parquet`);
      const names = Object.keys(accounts).map((account) => `'${account}'`);
      const ledger = `(SELECT * FROM '${files}' WHERE account IN (${names}))`;
      const rows = await query(finality?.sql.replaceAll(`"${LEDGER}"`, ledger) ?? '');
      const expected = [...reported].map(([key, ofDay]) => {
        const [account = '', day = ''] = key.split(' ');
        return [key, judge(day, ofDay, account.startsWith('a') ? 3 : 7, today)];
      });
      expect(Object.fromEntries(rows.map((row) => [`${row.account} ${row.date}`, row.finality]))).toEqual(
        Object.fromEntries(expected),
      );
    }),
    { numRuns: 10 },
  );
}, 120_000);

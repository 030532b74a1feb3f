import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { addDays, daysBetween } from '../../../functions/workflow/request/dates.ts';
import { LEDGER } from '../../../functions/workflow/table.ts';
import { savedQueries } from '../../../infra/catalog/queries.ts';
import { startTables, TABLE } from '../../functions/tables/curations.ts';
import { query } from '../../functions/tables/reports.ts';
import { type DayFacts, ledgerRows } from '../../support/ledger-rows.ts';
import { BUCKET } from '../../support/s3.ts';

let tables: Awaited<ReturnType<typeof startTables>>;
let cases = 0;

beforeAll(async () => {
  tables = await startTables();
});
afterAll(() => tables.close());

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
});
/** The ages at which the platform restates each day. */
const restatements = fc.array(fc.array(fc.nat({ max: 15 }), { maxLength: 2 }), {
  minLength: DAYS,
  maxLength: DAYS,
});
// Small values would show each day once.
const reports = fc.noBias(fc.array(report, { minLength: 8, maxLength: 16 }));

/** One day in one report. */
interface Said {
  readonly created: string;
  readonly id: string;
  readonly value: number;
  readonly rows: number;
}

/** Judges a day as the reference says it, from all that reports said about it in the order of arrival. */
function judge(day: string, said: readonly Said[], days: number, today: string): string {
  const isNewer = (one: Said, other: Said | undefined) =>
    !other || [one.created, one.id].join() > [other.created, other.id].join();
  const shown: Said[] = [];
  let held: Said | undefined;
  for (const each of said) {
    if (!isNewer(each, shown.at(-1))) continue;
    if (each.rows === 0 && (shown.at(-1)?.rows ?? 0) > 0) held = isNewer(each, held) ? each : held;
    else shown.push(each);
  }
  const newest = shown.at(-1) as Said;
  const isSame = (each: Said) => each.value === newest.value && each.rows === newest.rows;
  const changed = shown.findLastIndex((each) => !isSame(each));
  const over = shown.slice(changed + 1).filter(({ created }) => created.slice(0, 10) > day);
  const isContradicted = held !== undefined && isNewer(held, newest);
  const since = over[0]?.created.slice(0, 10);
  if (!isContradicted && since && daysBetween(since, newest.created.slice(0, 10)) >= days) return 'final';
  const restated = changed < 0 ? '' : (shown[changed + 1]?.created.slice(0, 10) ?? '');
  const moved = [addDays(day, 1), restated].sort().at(-1) ?? '';
  return daysBetween(moved, today) < days ? 'changing' : 'unverified';
}

it('finality is what the reports of each day say, whatever their windows and the order of their arrival', async () => {
  await fc.assert(
    fc.asyncProperty(reports, fc.noBias(restatements), fc.nat({ max: 20 }), async (all, restated, later) => {
      cases += 1;
      const accounts = { [`a${cases}`]: { final_after_days: 3 }, [`b${cases}`]: {} };
      const said = new Map<string, Said[]>();
      for (const [at, { age, first, length, gap, ...of }] of all.entries()) {
        const account = `${of.account}${cases}`;
        const created = `${addDays(START, age)}T0${at % 9}:00:00.000Z`;
        const id = `r${at}`;
        const dates = Array.from({ length: Math.min(length, DAYS - first) }, (_, each) => first + each);
        const spends = dates.map((each) => {
          const changes = restated[each]?.filter((after) => each + after < age).length ?? 0;
          const day = addDays(START, each);
          const key = `${account} ${day}`;
          const rows = each === gap ? 0 : 1;
          said.set(key, [...(said.get(key) ?? []), { created, id, value: rows * (1 + changes), rows }]);
          return [day, rows === 0 ? [] : [1 + changes]] as const;
        });
        const window = { start_date: addDays(START, first), length: spends.length };
        await tables.curate({
          id,
          created_at: created,
          spends: Object.fromEntries(spends),
          account,
          ...window,
        });
      }
      const today = addDays(START, SPAN + later);
      const config = { final_after_days: 7, accounts };
      const { finality } = savedQueries([TABLE], { today: `DATE '${today}'`, config });
      const files = join(tables.s3.directory, BUCKET, `tables/ledger/*${cases}.daily.*.parquet`);
      const own = Object.keys(accounts).map((account) => `'${account}'`);
      const ledger = `(SELECT * FROM '${files}' WHERE account IN (${own}))`;
      const rows = await query(finality?.sql.replaceAll(`"${LEDGER}"`, ledger) ?? '');
      const expected = [...said].map(([key, each]) => {
        const [account = '', day = ''] = key.split(' ');
        return [key, judge(day, each, account.startsWith('a') ? 3 : 7, today)];
      });
      expect(Object.fromEntries(rows.map((row) => [`${row.account} ${row.date}`, row.finality]))).toEqual(
        Object.fromEntries(expected),
      );
    }),
    { numRuns: 10 },
  );
}, 120_000);

/** A day's values by age in days: it grows at these ages. Runs may be missed. */
const history = fc.record({
  lookBack: fc.integer({ min: 3, max: 16 }),
  growth: fc.array(fc.integer({ min: -2, max: 9 }), { minLength: 40, maxLength: 40 }),
  growsUntil: fc.nat({ max: 14 }),
  missed: fc.uniqueArray(fc.nat({ max: 60 }), { maxLength: 12 }),
  days: fc.integer({ min: 24, max: 40 }),
});

it('curve has the share of its final value that each age showed, and what a look-back would have caught', async () => {
  await fc.assert(
    fc.asyncProperty(history, async ({ lookBack, growth, growsUntil, missed, days: many }) => {
      const facts: DayFacts[] = [];
      const finals: { readonly age: number; readonly value: number }[][] = [];
      for (let day = 0; day < many; day += 1) {
        const date = addDays(START, day);
        const said: (Said & { readonly age: number })[] = [];
        for (let age = 1; age <= lookBack; age += 1) {
          if (missed.includes(day + age)) continue;
          const grown = Math.min(age, growsUntil) * (growth[day] ?? 0);
          const created = `${addDays(date, age)} 06:00:00`;
          said.push({ age, created, id: `r${day + age}`, value: 50 + grown, rows: 1 });
          const values = { spend: 50 + grown, rows: 1 };
          facts.push({ date, report_id: `r${day + age}`, at: created, values });
        }
        const isEarly = said[0] !== undefined && said[0].age <= 2;
        if (isEarly && judge(date, said, 4, '2099-01-01') === 'final') finals.push(said);
      }
      const ages = [...new Set(finals.flat().map(({ age }) => age))].sort((one, other) => one - other);
      const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
      const expected = ages.map((age) => {
        const known = finals.filter(([first]) => first && first.age <= age);
        const at = known.map((day) => day.findLast((each) => each.age <= age)?.value ?? 0);
        const last = known.map((day) => day.at(-1)?.value ?? 0);
        const first = known.map((day) => day[0]?.value ?? 0);
        const apart = (values: readonly number[]) =>
          sum(values.map((value, index) => Math.abs(value - (last[index] ?? 0))));
        const isEnough = known.length >= 28;
        return {
          age,
          days: known.length,
          share: isEnough ? sum(at) / sum(last) : null,
          caught: isEnough && apart(first) > 0 ? 1 - apart(at) / apart(first) : null,
        };
      });
      const config = { final_after_days: 4, accounts: {} };
      const { curve } = savedQueries([TABLE], { today: "DATE '2099-01-01'", config });
      const ledger = `(${ledgerRows('acme', 'daily', 'daily', facts)})`;
      const rows = await query(
        `SELECT age::INT AS age, days::INT AS days, share, caught FROM (${curve?.sql.replaceAll(`"${LEDGER}"`, ledger)}) WHERE metric = 'spend' ORDER BY age`,
      );
      expect(rows.map(({ age, days }) => [age, days])).toEqual(expected.map(({ age, days }) => [age, days]));
      for (const [at, { share, caught }] of expected.entries()) {
        const near = (value: number | null) => (value === null ? null : expect.closeTo(value, 9));
        expect(rows[at]).toMatchObject({ share: near(share), caught: near(caught) });
      }
    }),
    { numRuns: 25 },
  );
}, 60_000);

import { readFileSync } from 'node:fs';
import { glob } from 'node:fs/promises';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import fc from 'fast-check';
import { afterAll, expect, it } from 'vitest';
import type { ObjectStore } from '../../../functions/aws/objects.ts';
import { addDays, daysOf } from '../../../functions/workflow/request/dates.ts';
import { Killed } from '../../support/copying.ts';
import { BUCKET } from '../../support/s3.ts';
import { startTables, TABLE } from './curations.ts';
import { query } from './reports.ts';

const tables = await startTables();
const copy = await (await DuckDBInstance.create()).connect();
let accounts = 0;

afterAll(async () => {
  copy.closeSync();
  await tables.close();
});

const REFERENCE = readFileSync(new URL('../../../functions/TABLES.md', import.meta.url), 'utf8');
const [, RECIPE = ''] = /\n### Incremental loads\n.*?```sql\n(.*?)```/s.exec(REFERENCE) ?? [];

const START = '2026-09-20';

/** What the config asks for: columns leave it and come back, and a metric is renamed. */
const FORMS = {
  all: { dimensions: ['campaign_id'], metrics: ['spend'] },
  'no metric': { dimensions: ['campaign_id'], metrics: [] },
  'no dimension': { dimensions: [], metrics: ['spend'] },
  renamed: { dimensions: ['campaign_id'], metrics: ['cost'] },
} as const;

/** A report of some days. `age` orders reports as they were created; they may come in any other order. */
interface Delivery {
  readonly first: number;
  readonly length: number;
  readonly age: number;
  readonly hash: 'h' | 'other';
  readonly form: keyof typeof FORMS;
  readonly accept_empty: boolean;
  /** The rows of its days, in turn. */
  readonly rows: readonly number[];
  /** PUTs after which the step is killed; then it is tried again. */
  readonly killedAfter?: number | undefined;
  /** Delivers the one before it once more. */
  readonly isRepeated: boolean;
  /** Runs at the same time as the one before it. */
  readonly isParallel: boolean;
}

const deliveries: fc.Arbitrary<readonly Delivery[]> = fc.array(
  fc.record({
    first: fc.integer({ min: 0, max: 60 }),
    length: fc.integer({ min: 1, max: 45 }),
    age: fc.integer({ min: 0, max: 8 }),
    hash: fc.constantFrom('h', 'h', 'h', 'other'),
    form: fc.constantFrom('all', 'all', 'all', 'no metric', 'no dimension', 'renamed'),
    accept_empty: fc.constantFrom(false, false, true),
    rows: fc.array(fc.constantFrom(0, 1, 2), { minLength: 1, maxLength: 4 }),
    killedAfter: fc.option(fc.integer({ min: 0, max: 5 }), { nil: undefined }),
    isRepeated: fc.constantFrom(false, false, true),
    isParallel: fc.constantFrom(false, false, true),
  }),
  { minLength: 1, maxLength: 6 },
);

const ONCE = { isRepeated: false, isParallel: false } as const;
const PLAIN = { first: 0, length: 2, hash: 'h', form: 'all', accept_empty: false, ...ONCE } as const;

const EXAMPLES: readonly (readonly Delivery[])[] = [
  // A report, and a newer one that empties its days.
  [
    { ...PLAIN, age: 0, rows: [1] },
    { ...PLAIN, age: 1, rows: [0], accept_empty: true },
  ],
  // An older report comes last.
  [
    { ...PLAIN, age: 1, rows: [1, 0] },
    { ...PLAIN, age: 0, rows: [2] },
  ],
  // One of two held days gets newer rows, and the other one rows that are older than what is held.
  [
    { ...PLAIN, age: 0, rows: [1] },
    { ...PLAIN, age: 2, rows: [0] },
    { ...PLAIN, length: 1, age: 3, rows: [2] },
    { ...PLAIN, first: 1, length: 1, age: 1, rows: [2] },
  ],
  // The metric is renamed, and renamed back.
  [
    { ...PLAIN, age: 0, rows: [1] },
    { ...PLAIN, first: 1, age: 1, rows: [2], form: 'renamed' },
    { ...PLAIN, first: 2, age: 2, rows: [1] },
  ],
];

function reportOf({ first, length, age, hash, form, accept_empty, rows }: Delivery, number: number) {
  const start_date = addDays(START, first);
  const days = daysOf({ start_date, end_date: addDays(start_date, length) });
  const spends = days.map((day, at) => {
    const count = rows[at % rows.length] ?? 0;
    // Every other report has the sums of another one.
    return [day, Array.from({ length: count }, (_, row) => at + row + (number % 2))] as const;
  });
  const created_at = new Date(Date.UTC(2026, 11, 1 + age)).toISOString();
  const report = { id: `r${number}`, created_at, start_date, length, hash: `${hash} ${form}`, accept_empty };
  const { dimensions, metrics } = FORMS[form];
  const [metric = 'none'] = metrics;
  const columns = [
    ...dimensions.map((name) => ({ name, type: 'string' as const, from: name })),
    ...metrics.map((name) => ({ name, type: 'bigint' as const, from: name })),
  ];
  const body = JSON.stringify(
    spends.flatMap(([date, values]) =>
      values.map((value, row) => ({ date, campaign_id: `c${row}`, [metric]: value })),
    ),
  );
  const request = { dimensions: [...dimensions], metrics: [...metrics] };
  const asked = { metric, dimensions, request, body, schema: { ...TABLE, columns } };
  return { ...report, ...asked, spends: Object.fromEntries(spends) };
}

/** The rows of a report's day, as the table shows them. */
function rowsOf({ id, spends, metric, dimensions }: ReturnType<typeof reportOf>, day: string) {
  const none = { report_id: id, campaign_id: null, spend: null, cost: null };
  return (spends[day] ?? []).map((value, row) => {
    const { none: _, ...values } = { ...none, none: null, [metric]: value };
    return { ...values, ...(dimensions.length > 0 && { campaign_id: `c${row}` }) };
  });
}

type Report = ReturnType<typeof reportOf>;

/** The report and rows that a day shows. */
interface Day {
  readonly report: Report;
  readonly isRestated: boolean;
  readonly held: string | undefined;
  /** All reports that arrived. */
  readonly arrived: readonly Report[];
}

type Model = Map<string, Day>;

/** Newer by the clock, and by the id if both are as old. */
function isNewer(first: Report, second: Report): boolean {
  if (first.created_at === second.created_at) return first.id > second.id;
  return first.created_at > second.created_at;
}

/** Predicts the days of one month. @returns the outcome of each */
function apply(model: Model, report: Report, days: readonly string[]) {
  return days.map((day) => {
    const shown = model.get(day);
    const rowsIn = ({ spends }: Report) => spends[day] ?? [];
    const arrived = [...(shown?.arrived ?? []), report];
    const newestFirst = arrived.toSorted((first, second) => (isNewer(first, second) ? -1 : 1));
    const counts = (candidate: Report) => rowsIn(candidate).length > 0 || candidate.accept_empty;
    const [newest = report] = newestFirst;
    const next = newestFirst.find(counts) ?? newest;
    const held = newest.id === next.id ? undefined : newest.id;
    const [before, after] = [shown ? rowsIn(shown.report) : [], rowsIn(next)];
    const isComparable = shown !== undefined && shown.report.metric === next.metric && next.metric !== 'none';
    const hasOtherSum = isComparable && sumOf(before) !== sumOf(after);
    const isAsBefore = shown?.report.id === next.id;
    const isChanged = shown !== undefined && (before.length !== after.length || hasOtherSum);
    const isRestated = isAsBefore ? shown.isRestated : isChanged;
    model.set(day, { report: next, isRestated, held, arrived });
    if (next.id === report.id) return { day, outcome: 'shown', isRestated };
    const isHeld = !counts(report) && isNewer(report, next);
    return { day, outcome: isHeld ? 'held' : 'kept', isRestated: false };
  });
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

function monthsOf(report: Report): string[][] {
  return [...Map.groupBy(Object.keys(report.spends), (day) => day.slice(0, 7)).values()];
}

/** Kills the step before the next PUT. */
function killedAfter(puts: number): Pick<ObjectStore, 'getFile' | 'putFile'> {
  let left = puts;
  return {
    getFile: (...parameters) => tables.store.getFile(...parameters),
    putFile: async (...parameters) => {
      left -= 1;
      if (left < 0) throw new Killed();
      return tables.store.putFile(...parameters);
    },
  };
}

/** Repeats the reference's recipe of an incremental load, which loses no row, whenever it runs. */
async function loadChanges() {
  const files = `'${join(tables.s3.directory, BUCKET, 'tables/daily/*.parquet')}'`;
  await copy.run(
    `CREATE OR REPLACE VIEW daily_campaigns AS
       SELECT account, date, campaign_id, spend, report_id, report_created_at
       FROM read_parquet(${files}, union_by_name = true)`,
  );
  await copy.run(RECIPE);
  const different = ['copy', 'daily_campaigns'].map(
    (relation, at, both) => `(FROM ${relation} EXCEPT ALL FROM ${both[1 - at]})`,
  );
  expect((await copy.runAndReadAll(different.join(' UNION ALL '))).getRowsJson()).toEqual([]);
}

/** The days of a table, as a reader sees them. */
async function readTable(account: string) {
  await loadChanges();
  const files = await Array.fromAsync(glob(join(tables.s3.directory, BUCKET, `tables/daily/${account}.*`)));
  const [rows, days] = await Promise.all([
    query(`FROM read_parquet([${files.sort().map((file) => `'${file}'`)}], union_by_name = true)`),
    tables.shownDays('daily', account),
  ]);
  const byDay = Map.groupBy(rows, ({ date }) => String(date));
  return Object.fromEntries(
    Object.entries(days).map(([day, { report_id, rows, restated, held }]) => {
      const shown = (byDay.get(day) ?? []).map(({ report_id, campaign_id = null, spend, cost }) => {
        const toNumber = (value: unknown) => (value === undefined || value === null ? null : Number(value));
        return { report_id, campaign_id, spend: toNumber(spend), cost: toNumber(cost) };
      });
      return [day, { report_id, rows, restated, held: held?.report_id, shown }];
    }),
  );
}

/** All that a table and its ledger have, but for what the last write changed. */
async function readState(account: string) {
  const rows = Object.entries(await readTable(account)).map(([day, { restated: _, ...shown }]) => [
    day,
    shown,
  ]);
  const days = Object.entries(await tables.shownDays('daily', account));
  const entries = days.map(([day, { restated: _, ...entry }]) => [day, entry]);
  const facts = 'SELECT * EXCLUDE (account)';
  const ledger = await tables.rowsOf(`${facts}`, `ledger/${account}.*.parquet`);
  return { rows, entries, ledger };
}

function describeModel(model: Model) {
  const days = [...model].toSorted(([first], [second]) => (first < second ? -1 : 1));
  return Object.fromEntries(
    days.map(([day, { report, isRestated, held }]) => {
      const shown = rowsOf(report, day);
      return [day, { report_id: report.id, rows: shown.length, restated: isRestated, held, shown }];
    }),
  );
}

function summarize(outcomes: readonly ReturnType<typeof apply>[number][]) {
  const count = (name: string) => outcomes.filter(({ outcome }) => outcome === name).length;
  const restated = outcomes.filter(({ isRestated }) => isRestated).length;
  return { days: count('shown'), kept: count('kept'), held: count('held'), restated };
}

/** The reports of a scenario, in the order in which they arrive. A repeated one is the report before it. */
function reportsOf(scenario: readonly Delivery[]): Report[] {
  const different = scenario.map(reportOf);
  return different.map((report, at) => (scenario[at]?.isRepeated && different[at - 1]) || report);
}

/** Delivers two reports at the same time. Each month then shows what one of the two orders brings. */
async function deliverInParallel(account: string, model: Model, report: Report, next: Report) {
  await Promise.all([tables.curate({ ...report, account }), tables.curate({ ...next, account })]);
  const shown = await readTable(account);
  const months = [...monthsOf(report), ...monthsOf(next)].map(([day = '']) => day.slice(0, 'YYYY-MM'.length));
  for (const month of new Set(months)) {
    const isOfMonth = ([day]: readonly [string, unknown]) => day.startsWith(month);
    const shownOfMonth = Object.fromEntries(Object.entries(shown).filter(isOfMonth));
    const predict = (...order: readonly Report[]) => {
      const trial: Model = new Map(model);
      for (const arriving of order)
        apply(
          trial,
          arriving,
          Object.keys(arriving.spends).filter((day) => day.startsWith(month)),
        );
      return new Map([...trial].filter(isOfMonth));
    };
    const inOrder = predict(report, next);
    const isInOrder = JSON.stringify(describeModel(inOrder)) === JSON.stringify(shownOfMonth);
    const happened = isInOrder ? inOrder : predict(next, report);
    expect(shownOfMonth).toEqual(describeModel(happened));
    for (const [day, value] of happened) model.set(day, value);
  }
}

/** Delivers a report, also after a kill. Compares the outcome, the table and the ledger with the model. */
async function deliverAlone(account: string, model: Model, report: Report, puts: number | undefined) {
  if (puts !== undefined)
    await tables.curate({ ...report, account }, killedAfter(puts)).catch((error: unknown) => {
      if (!(error instanceof Killed)) throw error;
    });
  const outcomes = monthsOf(report).flatMap((days) => apply(model, report, days));
  const { curated } = await tables.curate({ ...report, account });
  expect(curated.table).toMatchObject(summarize(outcomes));
  expect(await readTable(account)).toEqual(describeModel(model));
  const lines = await tables.rowsOf('SELECT date, metric, report_id, kind', `ledger/${account}.*.parquet`);
  const linesOfReport = lines.filter(
    ({ report_id, metric, kind }) => report_id === report.id && metric === 'rows' && kind === 'report',
  );
  expect(linesOfReport.map(({ date }) => date)).toEqual(Object.keys(report.spends));
}

/** The view of the incremental load has all columns then. */
async function writeAllColumns(): Promise<void> {
  const created_at = '2026-10-01T00:00:00Z';
  await tables.curate({ id: 'first', created_at, spends: { [START]: [1] }, account: 'a' });
}

const RUNS = { numRuns: 12, examples: EXAMPLES.map((example): [readonly Delivery[]] => [example]) };

it('44, 47, 48, 71: each day is shown once, from the report that should be shown (P7)', async () => {
  await writeAllColumns();
  const property = fc.asyncProperty(deliveries, async (scenario) => {
    accounts += 1;
    const account = `a${accounts}`;
    const reports = reportsOf(scenario);
    const model: Model = new Map();
    for (let at = 0; at < reports.length; at += 1) {
      const [report, next] = [reports[at], reports[at + 1]];
      if (!report) continue;
      if (next && scenario[at + 1]?.isParallel) {
        await deliverInParallel(account, model, report, next);
        at += 1;
      } else await deliverAlone(account, model, report, scenario[at]?.killedAfter);
    }
  });
  await fc.assert(property, RUNS);
}, 120_000);

it('47: the table and the ledger are the same in whatever order reports arrive', async () => {
  const property = fc.asyncProperty(deliveries, async (scenario) => {
    accounts += 1;
    const reports = reportsOf(scenario);
    const [account, reversed] = [`a${accounts}`, `a${accounts}x`];
    for (const report of reports) await tables.curate({ ...report, account });
    for (const report of reports.toReversed()) await tables.curate({ ...report, account: reversed });
    expect(await readState(reversed)).toEqual(await readState(account));
  });
  await fc.assert(property, RUNS);
}, 120_000);

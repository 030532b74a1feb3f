import { glob, rm } from 'node:fs/promises';
import { join } from 'node:path';
import {
  compareReports,
  judgeDay,
  type ReportVersion,
  type ShownDay,
  type ShownDays,
} from '../workflow/shown-days.ts';
import { monthKey, type TableColumn, type TableSchema, tableColumns } from '../workflow/table.ts';
import { type Database, identifier, literal } from './database.ts';
import {
  hasColumns,
  type Merging,
  mergeObject,
  ObjectMismatch,
  type OldObject,
  parquet,
  selectColumns,
  timestamp,
} from './merge.ts';
import type { DayFacts } from './report.ts';
import { metricsOf, sumDays } from './sums.ts';

/** A report, and the table that it goes into. */
export interface Offer {
  readonly version: ReportVersion;
  /** Of {@link splitByDay}. */
  readonly rows: readonly string[];
  readonly schema: TableSchema;
  readonly account: string;
  /** The report may empty this day. */
  readonly acceptEmpty: (day: string) => boolean;
}

/** What became of a day of a report. */
export interface MergedDay extends DayFacts {
  /** `shown` · `kept`: the table shows a newer report · `held`: the report has no rows, and the table keeps those that it shows */
  readonly outcome: 'shown' | 'kept' | 'held';
  /** The table showed other rows or sums before. A retry says the same. */
  readonly restated: boolean;
  /** The table showed another request before. A retry does not know it. */
  readonly tookOver: boolean;
  /** The rows that the table keeps if it is held, and their day. Of a list, an earlier one. */
  readonly keeps?: { readonly rows: number; readonly day: string };
}

interface JudgedDay extends DayFacts {
  /** What the table showed before. */
  readonly shown: ShownDay | undefined;
  readonly verdict: ReturnType<typeof judgeDay>;
  readonly restated: boolean;
}

/** Groups days by their month, in the order of both. */
export function byMonth<T extends { readonly day: string }>(days: readonly T[]): ReadonlyMap<string, T[]> {
  return Map.groupBy(days, ({ day }) => day.slice(0, 'YYYY-MM'.length));
}

/**
 * Splits rows by their day, unless they come day by day. Sorting a large report would take more memory than DuckDB has.
 *
 * @param path of a StagedReport
 * @returns Parquet files in the order of the days; a day keeps the order of the report
 */
export async function splitByDay(database: Database, path: string): Promise<readonly string[]> {
  const days = await database.query(
    `SELECT count(*) AS rows, max(file_row_number) AS last
       FROM read_parquet(${literal(path)}, file_row_number = true) GROUP BY date ORDER BY date`,
  );
  let rows = 0;
  const isSorted = days.every((day) => {
    rows += Number(day.rows);
    return Number(day.last) === rows - 1;
  });
  if (isSorted) return [path];
  const folder = `${path}.days`;
  const options = '(FORMAT parquet, PARTITION_BY (date), WRITE_PARTITION_COLUMNS true)';
  await database.query(`COPY (FROM ${literal(path)}) TO ${literal(folder)} ${options}`);
  await rm(path);
  const files = await Array.fromAsync(glob(join(folder, '*', '*.parquet')));
  return files.toSorted();
}

/**
 * Merges days of a report into the object of their month, and brings that to the table's columns. Writes nothing if the object has
 * those and shows these days already, or newer ones.
 *
 * @param days of this month, ascending; also those without rows
 * @throws see mergeObject
 */
export async function mergeMonth(
  merging: Merging,
  month: string,
  days: readonly DayFacts[],
  offer: Offer,
): Promise<MergedDay[]> {
  const key = monthKey(offer.schema.table, offer.account, month);
  const columns = tableColumns(offer.schema);
  return mergeObject(merging, key, async (old) => {
    if (old && !old.days) throw new ObjectMismatch(`${key} was not written by this stack`);
    // Refuses other types, even if nothing is written.
    const kept = old && selectColumns(old, columns);
    const shown = old?.days ?? {};
    const judged = await judgeDays(merging, days, shown, old, offer);
    const result = judged.map((each) => describeDay(each, offer));
    const isSame = judged.every(({ verdict }) => /^(same|keep|same hold)$/.test(verdict));
    if (isSame && (!old || hasColumns(old, columns))) return { result };
    const runs = findRuns(shown, judged).map((run) =>
      run.isNew ? selectNew(run, columns, offer) : selectOld(run, kept, old?.path),
    );
    return { next: { runs, days: listDays(shown, judged, offer) }, result };
  });
}

async function judgeDays(
  { database }: Merging,
  days: readonly DayFacts[],
  shown: ShownDays,
  old: OldObject | undefined,
  { version, schema, acceptEmpty }: Offer,
): Promise<JudgedDay[]> {
  const judged = days.map((each) => {
    const before = shown[each.day];
    const verdict = judgeDay(before, { ...version, rows: each.rows }, { acceptEmpty: acceptEmpty(each.day) });
    return { ...each, shown: before, verdict };
  });
  const metrics = metricsOf(schema.columns).filter(({ name }) => old?.columns.has(name));
  const replaced = judged.filter((each) => each.verdict === 'write' && each.shown && each.shown.rows > 0);
  const dates = replaced.map(({ day }) => literal(day));
  const rows = old && dates.length > 0 && `(FROM ${parquet(old.path)} WHERE date IN (${dates}))`;
  const sums = new Map(
    (rows ? await sumDays(database, rows, metrics) : []).map((each) => [each.day, each.sums]),
  );
  return judged.map((each) => {
    const before = sums.get(each.day) ?? {};
    const isOther =
      each.shown?.rows !== each.rows ||
      metrics.some(({ name }) => (before[name] ?? '0') !== (each.sums[name] ?? '0'));
    return { ...each, restated: each.shown !== undefined && isOther };
  });
}

function describeDay(
  { shown, verdict, restated, ...day }: JudgedDay,
  { version }: Pick<Offer, 'version'>,
): MergedDay {
  const none = { ...day, restated: false, tookOver: false };
  switch (verdict) {
    case 'keep':
      return { ...none, outcome: 'kept' };
    case 'hold':
    case 'same hold':
      return { ...none, outcome: 'held', keeps: { rows: shown?.rows ?? 0, day: day.day } };
    case 'same':
      return { ...none, outcome: 'shown', restated: shown?.restated ?? false };
    case 'write': {
      const tookOver = shown !== undefined && shown.request_hash !== version.request_hash;
      return { ...none, outcome: 'shown', restated, tookOver };
    }
  }
}

/** The days of the new object, by date. */
function listDays(
  shown: ShownDays,
  judged: readonly JudgedDay[],
  { version }: Pick<Offer, 'version'>,
): ShownDays {
  const changed = judged.flatMap(({ day, rows, restated, verdict, shown }): [string, ShownDay][] => {
    if (verdict === 'hold' && shown) return [[day, { ...shown, held: version }]];
    if (verdict !== 'write') return [];
    // A report that came late does not end the hold of one that is newer than both.
    const isHeld = rows > 0 && shown?.held && compareReports(shown.held, version) > 0;
    return [[day, { ...version, rows, restated, ...(isHeld && { held: shown.held }) }]];
  });
  const all = { ...shown, ...Object.fromEntries(changed) };
  return Object.fromEntries(Object.entries(all).toSorted(([one], [other]) => (one < other ? -1 : 1)));
}

/** Days in a row that come from the old object, or from the report. */
interface Run {
  readonly isNew: boolean;
  readonly first: string;
  readonly last: string;
  readonly rows: number;
}

/** Ascending. At least one, which may have no rows. */
function findRuns(shown: ShownDays, judged: readonly JudgedDay[]): readonly Run[] {
  const written = new Map(
    judged.flatMap(({ day, rows, verdict }) => (verdict === 'write' ? [[day, rows]] : [])),
  );
  const runs: Run[] = [];
  for (const day of new Set([...Object.keys(shown), ...written.keys()].toSorted())) {
    const isNew = written.has(day);
    const rows = written.get(day) ?? shown[day]?.rows ?? 0;
    const before = runs.at(-1);
    if (before?.isNew === isNew) runs.splice(-1, 1, { ...before, last: day, rows: before.rows + rows });
    else runs.push({ isNew, first: day, last: day, rows });
  }
  const filled = runs.filter(({ rows }) => rows > 0);
  return filled.length > 0 ? filled : runs.slice(0, 1);
}

function selectOld(run: Run, columns = '', path = ''): string {
  return `SELECT ${columns} FROM ${parquet(path)} ${between(run)}`;
}

function selectNew(
  run: Run,
  columns: readonly TableColumn[],
  { version, rows, schema, account }: Offer,
): string {
  const currency = schema.currencies[account];
  const values: Readonly<Record<string, string>> = {
    account: literal(account),
    currency: currency === undefined ? 'CAST(NULL AS VARCHAR)' : literal(currency),
    report_id: literal(version.report_id),
    report_created_at: timestamp(version.created_at),
  };
  const expressions = columns.map(({ name }) => `${values[name] ?? identifier(name)} AS ${identifier(name)}`);
  return `SELECT ${expressions.join(', ')} FROM ${parquet(...rows)} ${between(run)}`;
}

function between({ first, last }: Run): string {
  return `WHERE date BETWEEN ${literal(first)} AND ${literal(last)}`;
}

import { isNewer, type ShownDays } from '../workflow/shown-days.ts';
import { monthKey, type TableColumn, type TableSchema, tableColumns } from '../workflow/table.ts';
import type { Database } from './database.ts';
import { decideDay, type MergedDay, type TableReport } from './decide-day.ts';
import {
  constant,
  duckType,
  type Merging,
  mergeObject,
  type OldObject,
  parquet,
  selectColumns,
  selectOld,
  shownIn,
  timestamp,
} from './merge.ts';
import type { DayFacts, Sums } from './report.ts';
import { identifier, literal } from './sql.ts';
import { metricsOf, readSums, sumExpressions } from './sums.ts';

/**
 * Days of a report that are not mixed with others, so that a reader skips half of a large month. With weeks,
 * it would skip three quarters, but each part reads the file again: for 1 GB of mixed days, 0.7 s of
 * 11 s of CPU. Sorting takes more.
 */
const PART_DAYS = 16;

/** The outcome of each day of a report, and the days that the object showed before. */
export interface MergeOutcome {
  readonly days: readonly MergedDay[];
  readonly before: ShownDays;
}

/**
 * Merges days of a report into the object of their month, and gives the object the table's columns. Columns
 * that the table lost stay in the object, because the config may ask for them again. Writes nothing if the
 * object has the table's columns and shows these days already, or newer ones.
 *
 * @param days of this month, ascending; also those without rows
 * @param path of the file of their rows; undefined only if no day has rows
 * @throws see mergeObject
 */
export async function mergeMonth(
  merging: Merging,
  month: string,
  days: readonly DayFacts[],
  report: TableReport,
  path: string | undefined,
): Promise<MergeOutcome> {
  const key = monthKey(report.schema.table, report.account, month);
  const columns = tableColumns(report.schema);
  const constants = constantsOf(report.schema, report.account);
  return mergeObject(merging, key, async (old) => {
    const shown = shownIn(old, key);
    const kept = keptColumns(old?.columns ?? new Map(), columns);
    // Refuses other types, even if nothing is written.
    const oldRows = old && selectOld(old, columns, constants, [...kept.keys()]);
    const before = old && (await sumShown(merging.database, days, old, report.schema));
    const merged = days.map((facts) => decideDay(facts, shown[facts.day], report, before?.get(facts.day)));
    const result = { days: merged, before: shown };
    const changed = merged.flatMap(({ day, entry }) => (entry ? [[day, entry] as const] : []));
    if (changed.length === 0 && (!old || beginsWith(old.columns.keys(), columns))) return { result };
    const values = {
      ...constants,
      report_id: constant(report.version.report_id),
      report_created_at: timestamp(report.version.created_at),
    };
    const rows = rowsAfter(merged, oldRows, path, { columns, values, kept });
    return { next: { rows, days: sortDays({ ...shown, ...Object.fromEntries(changed) }) }, result };
  });
}

function sortDays(days: ShownDays): ShownDays {
  const sorted = Object.entries(days).toSorted(([first], [second]) => (first < second ? -1 : 1));
  return Object.fromEntries(sorted);
}

/** The rows of the new object, as SQL: the old rows that stay, and the rows of the report that are shown. */
function rowsAfter(
  merged: readonly MergedDay[],
  oldRows: string | undefined,
  path: string | undefined,
  reportColumns: ReportColumns,
): string {
  const replaced = merged.filter(({ entry, outcome }) => entry && outcome === 'shown');
  const gone = replaced.map(({ day }) => literal(day));
  const written = replaced.flatMap(({ day, rows }) => (rows > 0 ? [literal(day)] : []));
  if (path === undefined && written.length > 0) throw new Error(`no file has the rows of ${written}`);
  const parts = [
    ...(oldRows ? [withoutDays(oldRows, gone)] : []),
    ...(path === undefined ? [] : selectDays(path, written, reportColumns)),
  ];
  return parts.length > 0 ? parts.join(' UNION ALL ') : selectNothing(reportColumns.columns);
}

/** @param days as literals of SQL */
function withoutDays(rows: string, days: readonly string[]): string {
  return days.length > 0 ? `${rows} WHERE date NOT IN (${days})` : rows;
}

/** The rows of a report's days as queries, each of which reads a part of the file. */
function selectDays(
  path: string,
  days: readonly string[],
  { columns, values, kept }: ReportColumns,
): string[] {
  const nulls = [...kept].map(([name, type]) => `CAST(NULL AS ${type}) AS ${identifier(name)}`);
  const selected = [selectColumns(columns, values), ...nulls].join(', ');
  const parts = [...Map.groupBy(days, (_, at) => Math.floor(at / PART_DAYS)).values()];
  return parts.map(
    (daysOfPart) =>
      // DuckDB skips values while it reads them for a range, but not for a list.
      `SELECT ${selected} FROM ${parquet(path)}
         WHERE date BETWEEN ${daysOfPart[0]} AND ${daysOfPart.at(-1)} AND date IN (${daysOfPart})`,
  );
}

/** The columns of a month's object that a report fills. */
interface ReportColumns {
  readonly columns: readonly TableColumn[];
  /** Expressions for columns whose values do not come from the file. */
  readonly values: Readonly<Record<string, string>>;
  /** Columns that the report does not have. */
  readonly kept: ReadonlyMap<string, string>;
}

function selectNothing(columns: readonly TableColumn[]): string {
  const nulls = columns.map(({ name, type }) => `CAST(NULL AS ${duckType(type)}) AS ${identifier(name)}`);
  return `SELECT ${nulls} WHERE false`;
}

/**
 * Gives the object of a month the table's columns. Its rows and days stay as they are, and so do columns that
 * the table lost.
 *
 * @returns false if the object has these columns already, or does not exist
 * @throws see mergeObject
 */
export async function addColumns(
  merging: Merging,
  month: string,
  { schema, account }: Pick<TableReport, 'schema' | 'account'>,
): Promise<boolean> {
  const key = monthKey(schema.table, account, month);
  const columns = tableColumns(schema);
  return mergeObject(merging, key, async (old) => {
    const days = shownIn(old, key);
    if (!old) return { result: false };
    const kept = keptColumns(old.columns, columns);
    // Refuses other types, even if nothing is written.
    const rows = selectOld(old, columns, constantsOf(schema, account), [...kept.keys()]);
    if (beginsWith(old.columns.keys(), columns)) return { result: false };
    return { next: { rows, days }, result: true };
  });
}

/** Columns with one value in all rows of an account, also in rows from before the config had it. As SQL. */
function constantsOf({ currencies }: TableSchema, account: string) {
  const currency = currencies[account];
  return {
    account: constant(account),
    currency: currency === undefined ? 'CAST(NULL AS VARCHAR)' : constant(currency),
  };
}

/** DuckDB's types of the columns that the object has and its table lost, by name. */
function keptColumns(
  types: ReadonlyMap<string, string>,
  columns: readonly TableColumn[],
): ReadonlyMap<string, string> {
  const names = new Set(columns.map(({ name }) => name));
  return new Map([...types].filter(([name]) => !names.has(name)));
}

/** True if an object has the columns of its table, in their order and before all others. */
export function beginsWith(names: Iterable<string>, columns: readonly TableColumn[]): boolean {
  const listed = [...names];
  return columns.every(({ name }, at) => listed[at] === name);
}

/**
 * Looks for a value other than 0 that the table would lose if a report took these days without the metrics.
 *
 * @param metrics by column
 * @returns the first day and metric that has one
 * @throws see mergeObject
 */
export async function findValue(
  merging: Merging,
  month: string,
  days: readonly DayFacts[],
  { schema, account, version }: Pick<TableReport, 'schema' | 'account' | 'version'>,
  metrics: readonly string[],
): Promise<{ readonly day: string; readonly metric: string } | undefined> {
  const key = monthKey(schema.table, account, month);
  return mergeObject(merging, key, async (old) => {
    const shown = shownIn(old, key);
    const replaced = days.filter(({ day, rows }) => {
      const entry = shown[day];
      return rows > 0 && entry !== undefined && isNewer(version, entry);
    });
    const there = metrics.filter((name) => old?.columns.has(name));
    if (!old || replaced.length === 0 || there.length === 0) return { result: undefined };
    const first = there.map((name) => `min(date) FILTER (${identifier(name)} <> 0) AS ${identifier(name)}`);
    const [row = {}] = await merging.database.query(
      `SELECT ${first} FROM ${parquet(old.path)} WHERE date IN (${replaced.map(({ day }) => literal(day))})`,
    );
    const metric = there.find((name) => row[name] !== null);
    return { result: metric === undefined ? undefined : { day: String(row[metric]), metric } };
  });
}

/** Adds up the rows of these days in the object: the metrics that it and the table have. */
async function sumShown(
  database: Database,
  days: readonly DayFacts[],
  { path, columns }: OldObject,
  schema: TableSchema,
): Promise<ReadonlyMap<string, Sums>> {
  const dates = ['NULL', ...days.map(({ day }) => literal(day))];
  const metrics = metricsOf(schema.columns).filter(({ name }) => columns.has(name));
  const sums = await database.query(
    `SELECT ${['date', ...sumExpressions(metrics)]} FROM ${parquet(path)} WHERE date IN (${dates}) GROUP BY date`,
  );
  return new Map(sums.map((row) => [String(row.date), readSums(row, metrics)]));
}

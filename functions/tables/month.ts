import { earliest, wasOver } from '../workflow/request/dates.ts';
import { findMetric } from '../workflow/request/dictionary.ts';
import {
  compareReports,
  type ReportId,
  type ReportVersion,
  type ShownDay,
  type ShownDays,
} from '../workflow/shown-days.ts';
import {
  LIST_COLUMNS,
  listKey,
  monthKey,
  type TableColumn,
  type TableSchema,
  tableColumns,
} from '../workflow/table.ts';
import type { Database } from './database.ts';
import type { DeliveredReport } from './ledger.ts';
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
import type { DayFacts, ReportFile, Sums } from './report.ts';
import { readJson } from './rows.ts';
import { identifier, literal } from './sql.ts';
import { metricsOf, readSums, sumExpressions } from './stage-report.ts';

/**
 * Days of a report that are not mixed with others, so that a reader skips half of a large month. With weeks,
 * it would skip three quarters, but each part reads the file again: for 1 GB of mixed days, 0.7 s of
 * 11 s of CPU. Sorting takes more.
 */
const PART_DAYS = 16;

/** A report, and the table that it goes into. */
export interface TableReport extends DeliveredReport {
  readonly schema: TableSchema;
  readonly account: string;
  /** In ISO 8601. */
  readonly acceptedAt: AcceptedAt;
  /** Default: the table lost no day. */
  readonly lost?: LostReport | undefined;
  /** See `warn_below` of a request. */
  readonly warnBelow?: number | undefined;
  /** See ShownDay. Default: none. */
  readonly lacks?: readonly string[] | undefined;
}

/** @returns when somebody accepted that a report has no rows of the day; undefined if nobody did */
export type AcceptedAt = (day: string) => string | undefined;

/**
 * @returns the newest report of a day that the ledger has rows of, if the table lost it and its file is gone
 */
export type LostReport = (day: string) => ReportId | undefined;

/** The outcome of one day of a report. */
export interface MergedDay extends DayFacts {
  readonly day_over: boolean;
  /** See {@link TableReport}. */
  readonly accepted_at: string | undefined;
  /** `shown` · `kept`: the table has a newer report · `held`: no rows, so the table keeps its own */
  readonly outcome: 'shown' | 'kept' | 'held';
  /** The table showed other rows or sums before. A retry finds this in the object. */
  readonly restated: boolean;
  /** See ShownDay. */
  readonly fell?: ShownDay['fell'];
  /** The day's entry in the new object, if it changes. With the outcome `shown`, its rows change too. */
  readonly entry?: ShownDay;
}

/**
 * Merges days of a report into the object of their month, and gives the object the table's columns. Columns
 * that the table lost stay in the object, because the config may ask for them again. Writes nothing if the
 * object has the table's columns and shows these days already, or newer ones.
 *
 * @param days of this month, ascending; also those without rows
 * @param path of the file of their rows; undefined only if no day has rows
 * @returns the outcome of each day, and the days that the object showed before
 * @throws see mergeObject
 */
export async function mergeMonth(
  merging: Merging,
  month: string,
  days: readonly DayFacts[],
  report: TableReport,
  path: string | undefined,
) {
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

export type Merged = Awaited<ReturnType<typeof mergeMonth>>;

/**
 * Makes a list's object show a snapshot. It is judged like a day of a report, see {@link decideDay}.
 *
 * @param file JSON items, one per line
 * @throws DownloadRefused if the file does not parse; see also mergeObject
 */
export async function mergeList(merging: Merging, file: ReportFile, report: TableReport): Promise<Merged> {
  const { version, schema, account } = report;
  const day = report.window.start_date;
  const items = readJson(file, [], 'read_json_objects');
  const [counted] = await merging.database.query(`SELECT count(*) AS rows FROM ${items}`);
  const snapshot = { day, rows: Number(counted?.rows), sums: {} };
  const key = listKey(schema.table, account);
  return mergeObject(merging, key, async (old) => {
    const before = shownIn(old, key);
    const [[shownDay = day, shown] = []] = Object.entries(before);
    const { entry, ...judged } = decideDay(snapshot, shown, report);
    const result = { days: [{ ...judged, restated: false }], before };
    if (!entry) return { result };
    if (old && judged.outcome === 'held')
      return { result, next: { rows: `FROM ${parquet(old.path)}`, days: { [shownDay]: entry } } };
    // Each column is a field of the item's top level, and `item` is the item's own text.
    const fields = LIST_COLUMNS.map(({ name }) => [name, `json->>'$.${name}'`]);
    const values = {
      ...Object.fromEntries(fields),
      account: literal(account),
      item: 'json::VARCHAR',
      snapshot_at: timestamp(version.created_at),
    };
    // Sorted, because the platform may give its pages in any order.
    const rows = `SELECT ${selectColumns(tableColumns(schema), values)} FROM ${items} ORDER BY ALL`;
    return { result, next: { rows, days: { [day]: entry } } };
  });
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
      return rows > 0 && entry !== undefined && compareReports(entry, version) < 0;
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

/** A day of a report, before it is compared with what the object shows. */
interface JudgedDay extends Omit<MergedDay, 'outcome' | 'restated' | 'fell' | 'entry'> {
  readonly counts: boolean;
  /** The day of the object, if it shows this report. */
  readonly shown: Pick<ShownDay, keyof ReportVersion | 'rows' | 'ledger' | 'lacks'>;
}

/**
 * Decides what becomes of a report's day, and how the object shows it then. A report counts if it has rows of
 * the day, or if somebody accepted that it has none. A day shows the newest report that counts, or else the
 * newest one. It is held if the newest report does not count, and another one is shown. So the order in which
 * reports and accepts arrive does not matter.
 *
 * @param before the sums of the rows that the object shows
 */
function decideDay(
  dayOfReport: DayFacts,
  shown: ShownDay | undefined,
  report: TableReport,
  before: Sums = {},
): MergedDay {
  const { version, lost } = report;
  const { counts, shown: next, ...facts } = judgeDay(dayOfReport, report);
  if (staysLost(version, counts, lost?.(facts.day)))
    return { ...facts, restated: false, outcome: counts ? 'kept' : 'held' };
  if (!shown) return { ...facts, restated: false, outcome: 'shown', entry: firstEntry(next, facts) };
  const age = compareReports(version, shown);
  if (age === 0) return { ...facts, outcome: 'shown', ...showAgain(shown, next, facts) };
  const shownCounts = shown.rows > 0 || shown.accepted_at !== undefined;
  if (age < 0 && (shownCounts || !counts)) return { ...facts, restated: false, outcome: 'kept' };
  if (shownCounts && !counts) {
    const isNewest = !shown.held || compareReports(version, shown.held) > 0;
    const held = { ...version, ledger: next.ledger };
    return { ...facts, restated: false, outcome: 'held', ...(isNewest && { entry: { ...shown, held } }) };
  }
  const held = counts ? heldBeside(version, shown, shownCounts) : undefined;
  return { ...facts, outcome: 'shown', ...showInstead(shown, next, facts, report, before, held) };
}

/** The rows of the newest report that counts are lost, so an older report must not take its place. */
function staysLost(version: ReportVersion, counts: boolean, lostReport: ReportId | undefined): boolean {
  return lostReport !== undefined && !(counts && compareReports(version, lostReport) > 0);
}

/** The report takes the place of another one. */
function showInstead(
  shown: ShownDay,
  next: JudgedDay['shown'],
  facts: Omit<JudgedDay, 'counts' | 'shown'>,
  { version, warnBelow = 0 }: TableReport,
  before: Sums,
  held: ShownDay['held'],
): Pick<MergedDay, 'restated' | 'fell' | 'entry'> {
  const { rows, sums, accepted_at } = facts;
  const isSameRequest = shown.request_hash === version.request_hash;
  const earlier = { ...before, rows: String(shown.rows) };
  const fell = isSameRequest ? findFall(earlier, facts, warnBelow) : undefined;
  const restated = shown.rows !== rows || hasOtherSums(before, sums, shown);
  return { restated, fell, entry: { ...next, restated, accepted_at, held, fell } };
}

function judgeDay(dayOfReport: DayFacts, report: TableReport): JudgedDay {
  const { day, rows, sums } = dayOfReport;
  const { version, window, lacks = [], copied_at, execution } = report;
  const { start_date, end_date } = window;
  const day_over = wasOver(day, version.created_at, report.time_zone);
  const accepted_at = rows > 0 ? undefined : report.acceptedAt(day);
  const ledger = { start_date, end_date, copied_at, execution, day_over, sums };
  return {
    ...dayOfReport,
    day_over,
    accepted_at,
    counts: rows > 0 || accepted_at !== undefined,
    shown: { ...version, rows, ledger, lacks: lacks.length > 0 ? lacks : undefined },
  };
}

function firstEntry(next: JudgedDay['shown'], { accepted_at }: Pick<JudgedDay, 'accepted_at'>): ShownDay {
  return { ...next, restated: false, accepted_at };
}

/** The report is shown already. A retry may know of an accept, or of columns, that it lacked before. */
function showAgain(
  shown: ShownDay,
  next: JudgedDay['shown'],
  { accepted_at }: Pick<JudgedDay, 'accepted_at'>,
): Pick<MergedDay, 'restated' | 'fell' | 'entry'> {
  const { restated, fell, lacks = [] } = shown;
  const isComplete = lacks.every((name) => next.lacks?.includes(name));
  const accepts = [shown.accepted_at, accepted_at].filter((time) => time !== undefined);
  const entry = { ...shown, ...next, accepted_at: earliest(accepts) };
  const isAsBefore = isComplete && entry.accepted_at === shown.accepted_at;
  return { restated, fell, ...(!isAsBefore && { entry }) };
}

/** A metric that the shown report does not have is NULL in all its rows, which says nothing. */
function hasOtherSums(before: Sums, sums: Sums, { ledger }: ShownDay): boolean {
  return Object.entries(before).some(([name, sum]) => {
    const isKnown = sum !== null || Object.hasOwn(ledger.sums, name);
    return isKnown && (sums[name] ?? null) !== sum;
  });
}

/** @returns the newest report without rows, if it is newer than the one that the day shows from now on */
function heldBeside(version: ReportVersion, shown: ShownDay, shownCounts: boolean): ShownDay['held'] {
  const newestEmpty = shownCounts ? shown.held : { ...versionOf(shown), ledger: shown.ledger };
  return newestEmpty && compareReports(newestEmpty, version) > 0 ? newestEmpty : undefined;
}

/** Compares only rows and metrics that add up. Another request may have other rows for good reasons. */
function findFall(before: Sums, { rows, sums }: DayFacts, share: number): ShownDay['fell'] {
  const values = Object.entries({ ...sums, rows: `${rows}` }).map(([metric, now]) => {
    return { metric, before: Number(before[metric]), now: Number(now) };
  });
  const addsUp = (metric: string) => metric === 'rows' || findMetric(metric)?.adds_up;
  const fallen = values.filter(({ metric, before, now }) => addsUp(metric) && now < share * before);
  return furthestFall(fallen);
}

/** The fall to the smallest share of what was there before. */
export function furthestFall<T extends NonNullable<ShownDay['fell']>>(falls: readonly T[]): T | undefined {
  const shareOf = ({ before, now }: T) => now / before;
  return falls.toSorted((first, second) => shareOf(first) - shareOf(second)).at(0);
}

function versionOf({ report_id, created_at, request_hash }: ReportVersion): ReportVersion {
  return { report_id, created_at, request_hash };
}

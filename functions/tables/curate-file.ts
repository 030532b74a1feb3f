import { rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Catalog } from '../aws/catalog.ts';
import { count } from '../workflow/count.ts';
import { dateIn, daysOf, wasOver } from '../workflow/request/dates.ts';
import type { ExportRequest, ReportRequest } from '../workflow/request/request.ts';
import { compareReports, type ReportVersion, type ShownDay } from '../workflow/shown-days.ts';
import type { Curated, Window } from '../workflow/state-parts.ts';
import type { SavedWindow } from '../workflow/states.ts';
import { type Column, DATE_COLUMN, reportColumns, type TableSchema, tableOf } from '../workflow/table.ts';
import { type Entry, mergeLedger, reportFacts, shownFacts } from './ledger.ts';
import type { Merging } from './merge.ts';
import { findValue, type Merged, type MergedDay, mergeList, mergeMonth, type Offer } from './month.ts';
import {
  type DayFacts,
  list,
  notWritten,
  type ReportFacts,
  type ReportFile,
  reasonOf,
  type Sums,
} from './report.ts';
import { stageReport } from './stage-report.ts';

/** The rows and sums of a file, and what became of them in the table. */
export interface Curation {
  readonly rows?: number | undefined;
  readonly curated: Curated;
  readonly warnings: readonly string[];
}

export interface Work extends Merging, Pick<Offer, 'acceptedAt' | 'lost'> {
  /** Undefined if the stack has no tables. */
  readonly catalog: Catalog | undefined;
  /** Its folder is removed once it is read. */
  readonly file: ReportFile;
  /** Absent if nothing may be written. */
  readonly schema: TableSchema | undefined;
  /** The hash of the request. */
  readonly hash: string;
}

/**
 * Reads a report, and writes the days of its window into the table and into the ledger.
 *
 * @throws DownloadRefused, ServiceUnavailable
 */
export async function curateRows(state: SavedWindow, work: Work): Promise<Curation> {
  const request = state.request as ReportRequest;
  const path = join(work.folder, 'rows.parquet');
  const { schema } = work;
  const entry = entryOf(state, work);
  const staged = await stageWindow(request, state.window, work, path);
  const asked = new Set(columnsInFile(request, schema).map(({ name }) => name));
  const facts = withoutUnasked(await checkAbsent(staged, entry.version, request, work), asked);
  const inTable = new Set(schema?.columns.map(({ name }) => name));
  const lacks = [...asked].filter((name) => !inTable.has(name));
  const { rows, first_date, last_date } = facts;
  const sums = Object.fromEntries(
    Object.entries(facts.sums).flatMap(([name, sum]) => (sum === null ? [] : [[name, sum]])),
  );
  const { created_at } = entry.version;
  const written = await writeDays(work, request, entry, facts, (offer, month, some) =>
    mergeMonth(work, month, some, { ...offer, lacks }, path),
  );
  // The newest day that has rows and was over when the report was created.
  const today = dateIn(request.time_zone ?? 'UTC', new Date(created_at));
  const newest_day = facts.days.findLast(({ day, rows }) => rows > 0 && day < today)?.day;
  return {
    rows,
    curated: { first_date, last_date, newest_day, sums, ...written.curated },
    warnings: [...written.warnings, ...facts.warnings],
  };
}

/** The report of a window, for the table and the ledger. */
export function entryOf(
  { window, ready_id: report_id = '', reports, request, object, execution }: SavedWindow,
  { hash: request_hash }: Pick<Work, 'hash'>,
): Entry {
  const created_at = reports.find(({ id }) => id === report_id)?.created_at ?? '';
  const time_zone = request.kind === 'report' ? (request.time_zone ?? 'UTC') : undefined;
  const version = { report_id, created_at, request_hash };
  return { version, window, copied_at: object.copied_at, execution, time_zone };
}

/** The columns that a request asks for, but for the date: it is a column of its own, also as a dimension. */
function columnsInFile(request: ReportRequest, schema: TableSchema | undefined): Column[] {
  const date = (schema?.date_column ?? DATE_COLUMN).toLowerCase();
  return reportColumns(request).filter(({ from }) => from.toLowerCase() !== date);
}

/** Leaves out the sums of metrics that only another form of the request asks for, so no row has a value. */
function withoutUnasked(facts: ReportFacts, asked: ReadonlySet<string>): ReportFacts {
  const isAsked = (name: string) => asked.has(name) || (facts.rows > 0 && facts.sums[name] !== null);
  const pick = (sums: Sums) => Object.fromEntries(Object.entries(sums).filter(([name]) => isAsked(name)));
  const days = facts.days.map((each) => ({ ...each, sums: pick(each.sums) }));
  return { ...facts, sums: pick(facts.sums), days };
}

/** Reads the report of a window. @param path the Parquet file to write @returns also the days without rows */
export async function stageWindow(
  request: ReportRequest,
  window: Window,
  { database, file, schema }: Pick<Work, 'database' | 'file' | 'schema'>,
  path: string,
): Promise<ReportFacts> {
  const columns = columnsInFile(request, schema);
  const { granularity } = request;
  const facts = await stageReport(database, file, path, { window, schema, columns, granularity });
  // Makes room for the months.
  await rm(dirname(file.path), { recursive: true });
  const { rows, sums, days } = facts;
  // A report by day says of each day of its window that it has no rows, unless its rows cannot be read, or
  // have no dates.
  const isRead = facts.table_problem === undefined && (rows === 0 || days.length > 0);
  if (granularity.toUpperCase() !== 'DAY' || !isRead) return facts;
  const found = new Map(days.map((each) => [each.day, each]));
  const none = Object.fromEntries(Object.keys(sums).map((name) => [name, '0']));
  return { ...facts, days: daysOf(window).map((day) => found.get(day) ?? { day, rows: 0, sums: none }) };
}

/**
 * Says that metrics are absent, which is what some platforms send for 0. A field that was renamed is absent
 * too: then the table shows values of it, and must not lose them.
 */
async function checkAbsent(
  facts: ReportFacts,
  version: ReportVersion,
  { account }: ReportRequest,
  { schema, ...merging }: Work,
): Promise<ReportFacts> {
  const { absent, days, warnings } = facts;
  if (absent.length === 0) return facts;
  const warning = `no row has ${list(absent)}, so the values are NULL, like those of a metric that is left out where it is 0`;
  const asNull = { ...facts, warnings: [...warnings, warning] };
  if (!schema) return asNull;
  let problem: string | undefined;
  const unread = await eachMonth(days, merging.signal, async (month, some) => {
    const value = problem ?? (await findValue(merging, month, some, { schema, account, version }, absent));
    if (typeof value === 'object')
      problem = `no row has ${list([value.metric])}, of which the table shows values other than 0, such as on ${value.day}; if the platform calls the field otherwise now, name it in columns of the config`;
  });
  const table_problem = problem ?? unread;
  return table_problem === undefined ? asNull : { ...facts, sums: {}, days: [], table_problem };
}

/** Shows the newest snapshot of a list in its table. @throws like {@link curateRows} */
export async function curateList(state: SavedWindow, work: Work): Promise<Curation> {
  const { window, object, execution: report_id } = state;
  const days = [{ day: window.start_date, rows: object.rows ?? 0, sums: {} }];
  const { copied_at } = object;
  const version = { report_id, created_at: copied_at, request_hash: work.hash };
  const entry = { version, window, copied_at, execution: report_id };
  return writeDays(work, state.request, entry, { days }, (offer) => mergeList(work, work.file, offer));
}

/** Writes days into the table, unless their file has a fault, and then what the report says of them into the ledger. */
async function writeDays(
  { catalog, schema, acceptedAt, lost, ...merging }: Work,
  request: ExportRequest,
  entry: Entry,
  { days, table_problem }: Pick<ReportFacts, 'days' | 'table_problem'>,
  merge: (offer: Offer, month: string, days: readonly DayFacts[]) => Promise<Merged>,
): Promise<Curation> {
  const merged: MergedDay[] = [];
  // The last writer of an object may have been killed before it wrote the ledger.
  const before: Record<string, ShownDay> = {};
  let problem = table_problem;
  if (schema && problem === undefined)
    problem = await eachMonth(days, merging.signal, async (month, some) => {
      const { account } = request;
      const warnBelow = request.kind === 'report' ? request.warn_below : undefined;
      const done = await merge({ ...entry, schema, account, acceptedAt, lost, warnBelow }, month, some);
      merged.push(...done.days);
      Object.assign(before, done.before);
    });
  const facts = (each: DayFacts, day_over: boolean, accepted_at?: string) =>
    reportFacts({ ...entry, day: each.day, rows: each.rows, sums: each.sums, day_over }, accepted_at);
  // Without a table, the ledger alone has what reports said. Otherwise, it has the days that the table took.
  const own =
    tableOf(request) === undefined
      ? days.flatMap((each) => facts(each, wasOver(each.day, entry.version.created_at, entry.time_zone)))
      : merged.flatMap((each) => facts(each, each.day_over, each.accepted_at));
  const others = shownFacts(before).filter(({ version }) => compareReports(version, entry.version) !== 0);
  const unlogged =
    catalog &&
    (await eachMonth([...own, ...others], merging.signal, (month, some) =>
      mergeLedger(merging, request, month, some),
    ));
  const { curated, warnings } = describeChanges(schema, days, merged, problem);
  return {
    curated,
    warnings: [...warnings, ...(unlogged === undefined ? [] : [`the ledger is not written: ${unlogged}`])],
  };
}

/**
 * @returns the reason why a month and the ones after it cannot be written
 * @throws any error that another try may cure
 */
export async function eachMonth<T extends DayFacts>(
  days: readonly T[],
  signal: AbortSignal,
  write: (month: string, days: readonly T[]) => Promise<void>,
): Promise<string | undefined> {
  try {
    for (const [month, some] of Map.groupBy(days, ({ day }) => day.slice(0, 'YYYY-MM'.length)))
      await write(month, some);
    return undefined;
  } catch (error) {
    const reason = reasonOf(error, signal);
    if (reason === undefined) throw error;
    return reason;
  }
}

/** Describes the changes of the table, and warns about them. */
function describeChanges(
  schema: TableSchema | undefined,
  days: readonly DayFacts[],
  merged: readonly MergedDay[],
  problem: string | undefined,
): Curation {
  if (!schema) return { curated: {}, warnings: [] };
  const part = ` from ${days[merged.length]?.day} on (${days.length - merged.length} of ${count(days.length, 'day')})`;
  const table_problem = problem && notWritten(schema.table, problem, merged.length > 0 ? part : '');
  const warnings = table_problem ? [table_problem] : [];
  if (merged.length === 0) return { curated: { table_problem }, warnings };
  const { shown = [], kept = [], held = [] } = Object.groupBy(merged, ({ outcome }) => outcome);
  const restated = merged.filter((each) => each.restated);
  const table = {
    name: schema.table,
    days: shown.length,
    kept: kept.length,
    restated: restated.length,
    first_restated: restated[0]?.day,
    last_restated: restated.at(-1)?.day,
    held: held.length,
    first_held: held[0]?.day,
    last_held: held.at(-1)?.day,
  };
  const fallen = merged.flatMap(({ day, fell }) => (fell ? [{ day, ...fell }] : []));
  const [worst] = fallen.toSorted((one, other) => one.now / one.before - other.now / other.before);
  if (worst)
    warnings.push(
      `days that fall below warn_below of what they showed: ${fallen.length}, from ${fallen[0]?.day} on; most of all ${worst.metric} of ${worst.day}: ${worst.now} instead of ${worst.before}`,
    );
  if (held.length > 0)
    warnings.push(
      `days that have no rows any more: ${held.length}; the table keeps the rows that it shows; see DaysHeld in infra/RUNBOOK.md`,
    );
  return { curated: { table, table_problem }, warnings };
}

import { rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Catalog } from '../aws/catalog.ts';
import { count } from '../workflow/count.ts';
import { dateIn, daysOf, monthOf, wasOver } from '../workflow/request/dates.ts';
import type { ExportRequest, ReportRequest } from '../workflow/request/request.ts';
import { isSameReport, type ReportVersion, type ShownDays } from '../workflow/shown-days.ts';
import type { Curated, Window } from '../workflow/state-parts.ts';
import type { SavedWindow } from '../workflow/states.ts';
import { type Column, DATE_COLUMN, reportColumns, type TableSchema, tableOf } from '../workflow/table.ts';
import { furthestFall, type MergedDay, type TableReport } from './decide-day.ts';
import { type DeliveredReport, mergeLedger, reportFacts, shownFacts } from './ledger.ts';
import { mergeList } from './list-snapshot.ts';
import type { Merging } from './merge.ts';
import { findValue, type MergeOutcome, mergeMonth } from './month.ts';
import {
  type DayFacts,
  listNames,
  notWritten,
  type ReportFile,
  reasonOf,
  type StagedReport,
  type Sums,
} from './report.ts';
import { findRows } from './report-file.ts';
import { fieldsOfRow, stageReport } from './stage-report.ts';

/** The rows and sums of a file, and what became of them in the table. */
export interface Curation {
  readonly rows?: number | undefined;
  readonly curated: Curated;
  readonly warnings: readonly string[];
}

/** A file, and the table that it goes into. */
export interface TableFile extends Merging, Pick<TableReport, 'acceptedAt' | 'lost'> {
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
export async function curateRows(state: SavedWindow, tableFile: TableFile): Promise<Curation> {
  const request = state.request as ReportRequest;
  const path = join(tableFile.folder, 'rows.parquet');
  const { schema } = tableFile;
  const delivered = deliveredReportOf(state, tableFile);
  const staged = await stageWindow(request, state.window, tableFile, path);
  const asked = new Set(columnsInFile(request, schema).map(({ name }) => name));
  const facts = withoutUnasked(await checkAbsent(staged, delivered.version, request, tableFile), asked);
  const inTable = new Set(schema?.columns.map(({ name }) => name));
  const lacks = [...asked].filter((name) => !inTable.has(name));
  const { rows, first_date, last_date } = facts;
  const sums = Object.fromEntries(
    Object.entries(facts.sums).flatMap(([name, sum]) => (sum === null ? [] : [[name, sum]])),
  );
  const { created_at } = delivered.version;
  const written = await writeDays(tableFile, request, delivered, facts, (report, month, monthDays) =>
    mergeMonth(tableFile, month, monthDays, { ...report, lacks }, path),
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

/**
 * Finds the rows of a window's file.
 *
 * @param copy the path of the file
 * @throws what {@link findRows} throws
 */
export function findWindowRows(
  { request, object }: SavedWindow,
  schema: TableSchema | undefined,
  copy: string,
  signal: AbortSignal,
): Promise<ReportFile> {
  const { content_type } = object;
  if (request.kind !== 'report') return findRows(copy, { content_type, signal });
  const { format, rows } = request;
  const fields = fieldsOfRow(schema?.columns ?? reportColumns(request), schema);
  return findRows(copy, { content_type, format, rows, fields, signal });
}

/** The report of a window, for the table and the ledger. */
export function deliveredReportOf(
  { window, ready_id, reports, request, object, execution }: SavedWindow,
  { hash: request_hash }: Pick<TableFile, 'hash'>,
): DeliveredReport {
  const report = reports.find(({ id }) => id === ready_id);
  if (!report) throw new Error(`The state names no report ${ready_id}`);
  const time_zone = request.kind === 'report' ? (request.time_zone ?? 'UTC') : undefined;
  const version = { report_id: report.id, created_at: report.created_at, request_hash };
  return { version, window, copied_at: object.copied_at, execution, time_zone };
}

/** The columns that a request asks for. The date is left out, because the table has a column for it. */
function columnsInFile(request: ReportRequest, schema: TableSchema | undefined): Column[] {
  const date = (schema?.date_column ?? DATE_COLUMN).toLowerCase();
  return reportColumns(request).filter(({ from }) => from.toLowerCase() !== date);
}

/** Leaves out the sums of metrics that only another account's request asks for, so no row has a value. */
function withoutUnasked(facts: StagedReport, asked: ReadonlySet<string>): StagedReport {
  const isAsked = (name: string) => asked.has(name) || (facts.rows > 0 && facts.sums[name] !== null);
  const pick = (sums: Sums) => Object.fromEntries(Object.entries(sums).filter(([name]) => isAsked(name)));
  const days = facts.days.map((day) => ({ ...day, sums: pick(day.sums) }));
  return { ...facts, sums: pick(facts.sums), days };
}

/** Reads the report of a window. @param path the Parquet file to write @returns also the days without rows */
export async function stageWindow(
  request: ReportRequest,
  window: Window,
  { database, file, schema }: Pick<TableFile, 'database' | 'file' | 'schema'>,
  path: string,
): Promise<StagedReport> {
  const columns = columnsInFile(request, schema);
  const { granularity } = request;
  const facts = await stageReport(database, file, path, { window, schema, columns, granularity });
  // Makes room for the months.
  await rm(dirname(file.path), { recursive: true });
  const { rows, sums, days } = facts;
  // A report by day shows that the other days of its window have no rows, unless its rows cannot be read, or
  // have no dates.
  const isRead = facts.table_problem === undefined && (rows === 0 || days.length > 0);
  if (granularity.toUpperCase() !== 'DAY' || !isRead) return facts;
  const withRows = new Map(days.map((dayFacts) => [dayFacts.day, dayFacts]));
  const none = Object.fromEntries(Object.keys(sums).map((name) => [name, '0']));
  return { ...facts, days: daysOf(window).map((day) => withRows.get(day) ?? { day, rows: 0, sums: none }) };
}

/**
 * Warns of metrics that are absent, as some platforms send them for 0. A field that was renamed is absent
 * too: then the table shows values of it, and must not lose them.
 */
async function checkAbsent(
  facts: StagedReport,
  version: ReportVersion,
  { account }: ReportRequest,
  { schema, ...merging }: TableFile,
): Promise<StagedReport> {
  const { absent, days, warnings } = facts;
  if (absent.length === 0) return facts;
  const warning = `no row has ${listNames(absent)}, so the values are NULL, like those of a metric that is left out where it is 0`;
  const asNull = { ...facts, warnings: [...warnings, warning] };
  if (!schema) return asNull;
  let problem: string | undefined;
  const unread = await writeByMonth(days, merging.signal, async (month, monthDays) => {
    if (problem !== undefined) return;
    const value = await findValue(merging, month, monthDays, { schema, account, version }, absent);
    if (value)
      problem = `no row has ${listNames([value.metric])}, of which the table shows values other than 0, such as on ${value.day}; if the platform calls the field otherwise now, name it in columns of the config`;
  });
  const table_problem = problem ?? unread;
  return table_problem === undefined ? asNull : { ...facts, sums: {}, days: [], table_problem };
}

/** Shows the newest snapshot of a list in its table. @throws like {@link curateRows} */
export async function curateList(state: SavedWindow, tableFile: TableFile): Promise<Curation> {
  const { window, object, execution: report_id } = state;
  const days = [{ day: window.start_date, rows: object.rows ?? 0, sums: {} }];
  const { copied_at } = object;
  const version = { report_id, created_at: copied_at, request_hash: tableFile.hash };
  const delivered = { version, window, copied_at, execution: report_id };
  return writeDays(tableFile, state.request, delivered, { days }, (report) =>
    mergeList(tableFile, tableFile.file, report),
  );
}

/** Merges days into the object of their month, or a snapshot into the object of its list. */
type Merge = (report: TableReport, month: string, days: readonly DayFacts[]) => Promise<MergeOutcome>;

/**
 * Writes days into the table, unless their file has a fault, and then what the report says of them into the
 * ledger.
 */
async function writeDays(
  tableFile: TableFile,
  request: ExportRequest,
  delivered: DeliveredReport,
  { days, table_problem }: Pick<StagedReport, 'days' | 'table_problem'>,
  merge: Merge,
): Promise<Curation> {
  const { catalog, schema } = tableFile;
  const written =
    table_problem === undefined
      ? await writeTable(tableFile, request, delivered, days, merge)
      : { merged: [], before: {}, problem: table_problem };
  const unlogged = catalog && (await writeLedger(tableFile, request, delivered, days, written));
  const { curated, warnings } = describeChanges(schema, days, written.merged, written.problem);
  return {
    curated,
    warnings: [...warnings, ...(unlogged === undefined ? [] : [`the ledger is not written: ${unlogged}`])],
  };
}

/** The outcomes of a report's days in the table. */
interface WrittenDays {
  /** The days of the months that were written. */
  readonly merged: readonly MergedDay[];
  /** All days that these months showed before. */
  readonly before: ShownDays;
  /** The reason why the other months are not written. */
  readonly problem: string | undefined;
}

async function writeTable(
  { schema, acceptedAt, lost, signal }: TableFile,
  request: ExportRequest,
  delivered: DeliveredReport,
  days: readonly DayFacts[],
  merge: Merge,
): Promise<WrittenDays> {
  if (!schema) return { merged: [], before: {}, problem: undefined };
  const { account } = request;
  const warnBelow = request.kind === 'report' ? request.warn_below : undefined;
  const report = { ...delivered, schema, account, acceptedAt, lost, warnBelow };
  const outcomes: MergeOutcome[] = [];
  const problem = await writeByMonth(days, signal, async (month, monthDays) => {
    outcomes.push(await merge(report, month, monthDays));
  });
  const before: ShownDays = Object.assign({}, ...outcomes.map((outcome) => outcome.before));
  return { merged: outcomes.flatMap((outcome) => outcome.days), before, problem };
}

/**
 * Writes what the report says of its days: of the days that the table took, or of all if the export has no
 * table. Writes also what the table showed before, because the last writer of a month may have been killed
 * before it wrote the ledger.
 *
 * @returns the reason why the ledger cannot be written
 */
function writeLedger(
  tableFile: TableFile,
  request: ExportRequest,
  delivered: DeliveredReport,
  days: readonly DayFacts[],
  { merged, before }: WrittenDays,
): Promise<string | undefined> {
  const { version, time_zone } = delivered;
  const factsOf = ({ day, rows, sums }: DayFacts, day_over: boolean, accepted_at?: string) =>
    reportFacts({ ...delivered, day, rows, sums, day_over }, accepted_at);
  const ofReport =
    tableOf(request) === undefined
      ? days.flatMap((facts) => factsOf(facts, wasOver(facts.day, version.created_at, time_zone)))
      : merged.flatMap((facts) => factsOf(facts, facts.day_over, facts.accepted_at));
  const ofOthers = shownFacts(before).filter((fact) => !isSameReport(fact.version, version));
  return writeByMonth([...ofReport, ...ofOthers], tableFile.signal, (month, facts) =>
    mergeLedger(tableFile, request, month, facts),
  );
}

/**
 * Writes days, one month after the other.
 *
 * @returns the reason why a month and the ones after it cannot be written
 * @throws any error that another try may cure
 */
export async function writeByMonth<T extends DayFacts>(
  days: readonly T[],
  signal: AbortSignal,
  write: (month: string, days: readonly T[]) => Promise<void>,
): Promise<string | undefined> {
  try {
    for (const [month, monthDays] of Map.groupBy(days, ({ day }) => monthOf(day)))
      await write(month, monthDays);
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
  const restated = merged.filter((day) => day.restated);
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
  const worst = furthestFall(fallen);
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

import type { Catalog } from '../aws/catalog.ts';
import type { ObjectStore } from '../aws/objects.ts';
import { ledgerKey } from '../workflow/keys.ts';
import { dateIn, daysOf } from '../workflow/request/dates.ts';
import type { ExportRequest } from '../workflow/request/request.ts';
import type { Curated } from '../workflow/state-parts.ts';
import type { SavedWindow } from '../workflow/states.ts';
import { type Column, DATE_COLUMN, listKey, reportColumns, type TableSchema } from '../workflow/table.ts';
import { partitionsOf } from './find-table.ts';
import { createLedger, summarizeDays, type TableSummary } from './ledger.ts';
import { openList } from './open-list.ts';
import { openReport } from './open-report.ts';
import { notRegistered, notWritten, partlyWritten, problemOf, reasonOf } from './problems.ts';
import { type PublishedDay, publishDays } from './publish-days.ts';
import { type ParquetFiles, publishObject } from './publish-object.ts';
import type { OpenReport, ReportFacts, ReportFile } from './report.ts';

/** The rows and sums of a file, and the outcome for the table. */
export interface Curation {
  readonly rows?: number;
  readonly curated: Curated;
  readonly warnings: readonly string[];
}

/** The table's objects and partitions, and the place of the ledger. */
export interface TableAccess {
  readonly store: ObjectStore;
  /** Undefined if the stack has no tables. */
  readonly catalog: Catalog | undefined;
}

interface Work {
  readonly file: ReportFile;
  /** Absent if nothing may be written. */
  readonly schema: TableSchema | undefined;
  /** Of the request. */
  readonly hash: string;
  readonly folder: string;
  readonly signal: AbortSignal;
}

/**
 * Reads a report, writes the days of its window into the table, and stores the ledger beside the file.
 *
 * @throws DownloadRefused, ServiceUnavailable; CurateLimit if the rows cannot be read
 */
export async function curateRows(state: SavedWindow, work: Work, access: TableAccess): Promise<Curation> {
  const { request, window } = state;
  const { file, schema, folder, signal } = work;
  const columns = columnsOf(request, schema);
  const { granularity } = request.kind === 'report' ? request : {};
  await using report = await openReport(file, { window, schema, columns, granularity, folder, signal });
  const { facts } = report;
  const { rows, sums, first_date, last_date } = facts;
  const { problems, summary, days } = await writeDays(state, report, work, access);
  const [table_problem] = problems;
  const newest_day = newestDay(state, facts);
  const hasDays = days !== undefined || facts.days.length > 0;
  const ledger_key = ledgerKey(request, window);
  const storeLedger = async () => {
    if (hasDays) await access.store.putJson(ledger_key, createLedger(state, facts, summary, days));
  };
  const unstored = await problemOf(storeLedger, (reason) => `the ledger is not stored: ${reason}`);
  return {
    rows,
    curated: {
      ...(first_date !== undefined && { first_date }),
      ...(last_date !== undefined && { last_date }),
      ...(newest_day !== undefined && { newest_day }),
      sums,
      ...(hasDays && unstored === undefined && { ledger_key }),
      ...(summary && { table: summary }),
      ...(table_problem !== undefined && { table_problem }),
    },
    warnings: [
      ...problems,
      ...(unstored === undefined ? [] : [unstored]),
      ...emptiedDays(summary?.name, facts, days),
      ...takenDays(summary?.name, days),
      ...facts.warnings,
    ],
  };
}

/** Shows the newest snapshot of a list in its table. @throws like {@link curateRows} */
export async function curateList(state: SavedWindow, work: Work, access: TableAccess): Promise<Curation> {
  const { request, window, object, execution } = state;
  const { file, schema, hash, folder, signal } = work;
  const { store, catalog } = access;
  if (!schema || !catalog) return { curated: {}, warnings: [] };
  await using list = await openList(file, { folder, signal });
  const { rows } = list;
  const values = { rows };
  const snapshot = { report_id: execution, created_at: object.copied_at, request_hash: hash, values };
  const parquet: ParquetFiles = {
    write: (metadata) => list.write(metadata),
    // Nothing reports what a snapshot changed.
    readMetadata: async () => ({}),
  };
  const write = async () => {
    await publishObject(store, listKey(schema.table, request.account), snapshot, parquet);
    await catalog.registerPartitions(schema, partitionsOf(request, window));
  };
  const problem = await problemOf(write, (reason) => notWritten(schema.table, reason));
  if (problem === undefined) return { rows, curated: {}, warnings: [] };
  return { rows, curated: { table_problem: problem }, warnings: [problem] };
}

/** The partition holds the date, also if it is among the dimensions. */
function columnsOf(request: ExportRequest, schema: TableSchema | undefined): Column[] {
  const date = (schema?.date_column ?? DATE_COLUMN).toLowerCase();
  return request.kind === 'report' ? reportColumns(request).filter(({ name }) => name !== date) : [];
}

interface WrittenDays {
  readonly summary?: TableSummary;
  readonly days?: readonly PublishedDay[];
  readonly problems: readonly string[];
}

/** Writes first and registers then, so that no partition shows an object that does not exist. */
async function writeDays(
  { request, window, ready_id = '', reports }: SavedWindow,
  report: OpenReport,
  { schema, hash }: Work,
  { store, catalog }: TableAccess,
): Promise<WrittenDays> {
  if (!schema || !catalog) return { problems: [] };
  const { table } = schema;
  const { table_problem } = report.facts;
  if (table_problem !== undefined) return { problems: [notWritten(table, table_problem)] };
  const created_at = createdAt({ ready_id, reports });
  const version = { report_id: ready_id, created_at, request_hash: hash };
  const { account } = request;
  const { days, stopped } = await publishDays(report, { store, table, account, window, version });
  if (stopped && days.length === 0) return { problems: [notWritten(table, reasonOf(stopped))] };
  const values = days.map(({ day }) => [account, day]);
  const register = () => catalog.registerPartitions(schema, values);
  const problem = await problemOf(register, (reason) => notRegistered(table, reason));
  const all = daysOf(window);
  const absent = all.filter((day) => !days.some((each) => each.day === day));
  const problems = [
    ...(stopped ? [partlyWritten(table, absent, all.length, reasonOf(stopped))] : []),
    ...(problem === undefined ? [] : [problem]),
  ];
  return { days, summary: summarizeDays(table, days), problems };
}

function createdAt({ ready_id, reports }: Pick<SavedWindow, 'ready_id' | 'reports'>): string {
  const report = reports.find(({ id }) => id === ready_id);
  if (!report) throw new Error(`The state names no report ${ready_id}`);
  return report.created_at;
}

/** Warns about days that had rows until an empty report came. */
function emptiedDays(
  table: string | undefined,
  { rows }: ReportFacts,
  days: readonly PublishedDay[] = [],
): string[] {
  const emptied = days.filter(({ before }) => before && before.rows > 0).length;
  if (rows > 0 || emptied === 0) return [];
  return [`the report has no rows; ${emptied} days of table ${table} that had rows have none now`];
}

/** Warns about days of another request: rows that only it asked for, such as those of another advertiser, are gone. */
function takenDays(table: string | undefined, days: readonly PublishedDay[] = []): string[] {
  const taken = days.filter(({ tookOver }) => tookOver);
  if (taken.length === 0) return [];
  return [
    `days of table ${table} that showed another request (other advertisers, columns or options) until now: ${taken.length}, the first is ${taken[0]?.day}`,
  ];
}

/** The newest day that has rows and was over when the report was created. */
function newestDay(state: SavedWindow, { days }: ReportFacts): string | undefined {
  const { time_zone = 'UTC' } = state.request.kind === 'report' ? state.request : {};
  const today = dateIn(time_zone, new Date(createdAt(state)));
  return days.findLast(({ day }) => day < today)?.day;
}

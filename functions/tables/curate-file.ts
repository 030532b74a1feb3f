import { rm } from 'node:fs/promises';
import type { Catalog } from '../aws/catalog.ts';
import type { ObjectStore } from '../aws/objects.ts';
import { dateIn, daysOf } from '../workflow/request/dates.ts';
import type { ListRequest, ReportRequest } from '../workflow/request/request.ts';
import type { Curated, Window } from '../workflow/state-parts.ts';
import type { SavedWindow } from '../workflow/states.ts';
import { type Column, DATE_COLUMN, reportColumns, type TableSchema } from '../workflow/table.ts';
import { openDatabase } from './database.ts';
import { byMonth, type MergedDay, mergeMonth, splitByDay } from './days.ts';
import { type FinalError, isFinal, notWritten, partlyWritten, reasonOf } from './find-table.ts';
import { type Entry, type LedgerDay, mergeLedger } from './ledger.ts';
import { mergeList } from './list.ts';
import type { Merging } from './merge.ts';
import type { DayFacts, ReportFacts, ReportFile } from './report.ts';
import { stageReport } from './stage-report.ts';

/** The rows and sums of a file, and what became of them in the table. */
export interface Curation {
  readonly rows?: number;
  readonly curated: Curated;
  readonly warnings: readonly string[];
}

interface Work {
  readonly store: Pick<ObjectStore, 'getFile' | 'putFile'>;
  /** Undefined if the stack has no tables. */
  readonly catalog: Catalog | undefined;
  /** Removed once it is read. */
  readonly file: ReportFile;
  /** Absent if nothing may be written. */
  readonly schema: TableSchema | undefined;
  /** Of the request. */
  readonly hash: string;
  /** The file may empty this day. */
  readonly acceptEmpty: (day: string) => boolean;
  readonly folder: string;
  readonly signal: AbortSignal;
}

/**
 * Reads a report, and writes the days of its window into the table and into the ledger.
 *
 * @throws DownloadRefused, ServiceUnavailable; CurateLimit if the rows cannot be read
 */
export async function curateRows(state: SavedWindow, work: Work): Promise<Curation> {
  const { window, ready_id = '' } = state;
  const request = state.request as ReportRequest;
  const { file, schema, hash, acceptEmpty, folder, signal } = work;
  const created_at = createdAt(state);
  using database = await openDatabase(folder, signal);
  const columns = columnsOf(request, schema);
  const { granularity, account } = request;
  const { facts, rows } = await stageReport(database, file, { window, schema, columns, granularity, folder });
  // Makes room for the months.
  await rm(file.path, { force: true });
  const days = daysWithEmpty(request, window, facts);
  const version = { report_id: ready_id, created_at, request_hash: hash };
  const isWritten = schema && facts.table_problem === undefined;
  let sorted: readonly string[] | undefined;
  const merged = isWritten
    ? await mergeMonths(days, async (month, some) => {
        sorted ??= await splitByDay(database, rows);
        const offer = { version, rows: sorted, schema, account, acceptEmpty };
        return mergeMonth({ ...work, database }, month, some, offer);
      })
    : NONE;
  const table = describeTable(request, schema, days, merged, facts.table_problem);
  const newest_day = newestDay(request, facts, created_at);
  return {
    ...(facts.rows !== undefined && { rows: facts.rows }),
    curated: {
      ...(facts.first_date !== undefined && { first_date: facts.first_date }),
      ...(facts.last_date !== undefined && { last_date: facts.last_date }),
      ...(newest_day !== undefined && { newest_day }),
      sums: facts.sums,
      ...table.curated,
    },
    warnings: [
      ...table.warnings,
      ...(await writeLedger(days, merged, { ...state, version }, { ...work, database })),
      ...facts.warnings,
    ],
  };
}

/** Shows the newest snapshot of a list in its table. @throws like {@link curateRows} */
export async function curateList(state: SavedWindow, work: Work): Promise<Curation> {
  const { window, object, execution } = state;
  const request = state.request as ListRequest;
  const { file, schema, hash, acceptEmpty, folder, signal } = work;
  using database = await openDatabase(folder, signal);
  const days = [{ day: window.start_date, rows: object.rows ?? 0, sums: {} }];
  const version = { report_id: execution, created_at: object.copied_at, request_hash: hash };
  const merged = schema
    ? await mergeMonths(days, async () => {
        const offer = { version, schema, account: request.account, acceptEmpty };
        return [await mergeList({ ...work, database }, file, window.start_date, offer)];
      })
    : NONE;
  const { curated, warnings } = describeTable(request, schema, days, merged);
  const unlogged = await writeLedger(days, merged, { ...state, version }, { ...work, database });
  return { curated, warnings: [...warnings, ...unlogged] };
}

/** Months that were merged before one failed. */
interface Merged<T = MergedDay> {
  readonly days: readonly T[];
  readonly stopped?: FinalError;
}

const NONE: Merged = { days: [] };

/** @throws any error that another try may cure */
async function mergeMonths<T extends DayFacts, R>(
  days: readonly T[],
  merge: (month: string, days: readonly T[]) => Promise<readonly R[]>,
): Promise<Merged<R>> {
  const merged: R[] = [];
  try {
    for (const [month, some] of byMonth(days)) merged.push(...(await merge(month, some)));
    return { days: merged };
  } catch (error) {
    if (isFinal(error)) return { days: merged, stopped: error };
    throw error;
  }
}

/** The date is a column of its own, also if it is among the dimensions. */
function columnsOf(request: ReportRequest, schema: TableSchema | undefined): Column[] {
  const date = (schema?.date_column ?? DATE_COLUMN).toLowerCase();
  return reportColumns(request).filter(({ from }) => from.toLowerCase() !== date);
}

function createdAt({ ready_id, reports }: SavedWindow): string {
  const report = reports.find(({ id }) => id === ready_id);
  if (!report) throw new Error(`The state names no report ${ready_id}`);
  return report.created_at;
}

/** A report by day says of each day of its window that it has no rows, unless its rows have no dates. */
function daysWithEmpty(
  { granularity }: ReportRequest,
  window: Window,
  { rows, sums, days }: ReportFacts,
): readonly DayFacts[] {
  if (granularity.toUpperCase() !== 'DAY' || (rows !== 0 && days.length === 0)) return days;
  const found = new Map(days.map((each) => [each.day, each]));
  const none = Object.fromEntries(Object.keys(sums).map((name) => [name, '0']));
  return daysOf(window).map((day) => found.get(day) ?? { day, rows: 0, sums: none });
}

/** The newest day that has rows and was over when the report was created. */
function newestDay(
  { time_zone = 'UTC' }: ReportRequest,
  { days }: ReportFacts,
  created_at: string,
): string | undefined {
  const today = dateIn(time_zone, new Date(created_at));
  return days.findLast(({ day }) => day < today)?.day;
}

/** Describes the changes of the table, and warns about them. */
function describeTable(
  request: ReportRequest | ListRequest,
  schema: TableSchema | undefined,
  days: readonly DayFacts[],
  { days: merged, stopped }: Merged,
  fault?: string,
): Pick<Curation, 'curated' | 'warnings'> {
  if (!schema) return { curated: {}, warnings: [] };
  const { table } = schema;
  const reason = fault ?? (stopped && reasonOf(stopped));
  const absent = days.slice(merged.length).map(({ day }) => day);
  const problem =
    reason &&
    (merged.length === 0 ? notWritten(table, reason) : partlyWritten(table, absent, days.length, reason));
  return {
    curated: {
      ...(merged.length > 0 && { table: summarize(table, merged) }),
      ...(problem !== undefined && { table_problem: problem }),
    },
    warnings: [
      ...(problem === undefined ? [] : [problem]),
      ...describeHeld(request, merged),
      ...describeTaken(table, merged),
    ],
  };
}

function summarize(name: string, merged: readonly MergedDay[]): NonNullable<Curated['table']> {
  const restated = merged.filter((each) => each.restated).map(({ day }) => day);
  const by = Map.groupBy(merged, ({ outcome }) => outcome);
  const held = by.get('held')?.map(({ day }) => day) ?? [];
  return {
    name,
    days: by.get('shown')?.length ?? 0,
    kept: by.get('kept')?.length ?? 0,
    restated: restated.length,
    ...(restated[0] && { first_restated: restated[0], last_restated: restated.at(-1) }),
    held: held.length,
    ...(held[0] && { first_held: held[0], last_held: held.at(-1) }),
  };
}

/** Warns about days that the report would have emptied. */
function describeHeld({ kind }: ReportRequest | ListRequest, merged: readonly MergedDay[]): string[] {
  const held = merged.filter(({ outcome }) => outcome === 'held');
  const [first] = held;
  if (!first?.keeps) return [];
  const rows = held.reduce((sum, { keeps }) => sum + (keeps?.rows ?? 0), 0);
  const happened =
    kind === 'list'
      ? `the list is empty; the table keeps the ${count(rows, 'item')} of ${first.keeps.day}`
      : `${count(held.length, 'day')} that had ${count(rows, 'row')} ${held.length === 1 ? 'has' : 'have'} none in the new report; the table keeps them`;
  return [`${happened}; see DaysHeld in infra/RUNBOOK.md`];
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}

/** Warns about days of another request: rows that only it asked for, such as those of another advertiser, are gone. */
function describeTaken(table: string, merged: readonly MergedDay[]): string[] {
  const taken = merged.filter(({ tookOver }) => tookOver);
  if (taken.length === 0) return [];
  return [
    `days of table ${table} that showed another request (other advertisers, columns or options) until now: ${taken.length}, the first is ${taken[0]?.day}`,
  ];
}

/** @returns the reason why the ledger was not written */
async function writeLedger(
  days: readonly DayFacts[],
  { days: merged }: Merged,
  entry: Entry,
  { catalog, ...merging }: Merging & Pick<Work, 'catalog'>,
): Promise<string[]> {
  if (!catalog) return [];
  const outcomes = new Map(merged.map(({ day, outcome }) => [day, outcome]));
  const logged = days.map(
    (each): LedgerDay => ({ ...each, outcome: outcomes.get(each.day) ?? 'not written' }),
  );
  const { stopped } = await mergeMonths(logged, async (month, some) => {
    await mergeLedger(merging, month, some, entry);
    return [];
  });
  return stopped ? [`the ledger is not written: ${reasonOf(stopped)}`] : [];
}

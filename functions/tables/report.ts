import { AccessRefused, DiskFull, DownloadRefused, readMessage } from '../workflow/errors.ts';
import type { ReportRequest } from '../workflow/request/request.ts';
import type { Window } from '../workflow/state-parts.ts';
import type { Column, TableSchema } from '../workflow/table.ts';

/** The rows of the platform's file, on this machine's disk. */
export interface ReportFile {
  /** Ends with `.zst` if the text is compressed. */
  readonly path: string;
  /**
   * A JSON array of objects; JSON objects one after the other; the items of a list, one per line; or CSV,
   * with a JSON array of its fields for each line.
   */
  readonly layout: 'array' | 'lines' | 'items' | 'csv';
  /** The first line of CSV. */
  readonly header?: readonly string[];
  /** The first line of CSV that is no row. Such lines are left out. */
  readonly badLine?: string | undefined;
}

/** The names of fields of a file's rows. */
export interface RowFields {
  readonly date: string;
  readonly metrics: readonly string[];
}

export interface DayFacts {
  /** YYYY-MM-DD */
  readonly day: string;
  readonly rows: number;
  readonly sums: Sums;
}

/**
 * By column, as in the schema. Strings keep every digit, and have no trailing zeros. The sum of no rows is 0,
 * and the sum of rows without a value is null, as in SQL.
 */
export type Sums = Readonly<Record<string, string | null>>;

/** The settings with which a report is staged. */
export interface ReportOptions extends Pick<ReportRequest, 'granularity'> {
  /** With granularity DAY, no row may have another date. */
  readonly window: Window;
  /** Absent if the export has no table. The rows are only counted and added up then. */
  readonly schema: Pick<TableSchema, 'columns' | 'date_column'> | undefined;
  /**
   * The columns that the request asks for: the file must have them. Another account's request may have added
   * others to the schema.
   */
  readonly columns: readonly Column[];
}

/** The facts of a report that is staged and added up. */
export interface StagedReport {
  readonly rows: number;
  /** Absent if no row has a date. Of a report by day, in the window. */
  readonly first_date?: string;
  readonly last_date?: string;
  /** Over all rows. Empty if a value could not be read. */
  readonly sums: Sums;
  /** Ascending; only days that have rows. Empty if the rows have no date, or with a table problem. */
  readonly days: readonly DayFacts[];
  /** Metrics that no row of a JSON file has, by column. Some platforms leave out a metric that is 0. */
  readonly absent: readonly string[];
  readonly warnings: readonly string[];
  /** The reason why the rows do not fit a table: nothing may be written then. */
  readonly table_problem?: string;
}

/**
 * The table cannot take the file, or a part of it: a person has to act. The file is delivered all the same.
 * The message says why, without a full stop, because a warning goes on after it.
 */
export class TableProblem extends Error {
  override readonly name = 'TableProblem';
}

/** The file is no JSON, although it is not cut. */
export class MalformedJson extends TableProblem {
  readonly reason: string;

  constructor(reason: string, line?: string) {
    super(`the file cannot be read as JSON: ${reason}${line === undefined ? '' : `; ${line}`}`);
    this.reason = reason;
  }
}

/** An object of the table cannot be read, or something else wrote it. */
export function damagedObject(key: string, cause?: Error): TableProblem {
  return new TableProblem(
    `${key} is damaged or was not written by this stack; restore an earlier version of the object, or run the command rebuild NAME, which says what would be lost if you remove it`,
    { cause },
  );
}

/** @returns the key of the object that a message of {@link damagedObject} names */
export function damagedKeyIn(message: string): string | undefined {
  return /(tables\/\S+) is damaged or was not written by this stack/.exec(message)?.[1];
}

const OUT_OF_TIME =
  "the file takes longer than CurateReport's timeout; raise memory_mb of CurateReport, which brings CPU, or curate_minutes, or export shorter ranges (in a local run: the machine was busy or asleep)";

/** The limit to raise, by the message of an error. DuckDB has no codes. */
const LIMIT_ADVICE: readonly (readonly [RegExp, string])[] = [
  [/maximum_object_size/, 'a row of the file, with the blanks around it, is longer than 16 MB'],
  [
    /surrogate in string/,
    'a text of the file has half of a character that JSON writes in two escapes, such as "\\ud83d", and UTF-8 cannot hold it',
  ],
  [
    /no space left on device|max_temp_directory_size/i,
    "the file or the table's month needs more than CurateReport's ephemeral storage; raise max_curate_bytes, which sets its size, or export shorter ranges (in a local run: make room on the disk)",
  ],
];

/** @returns undefined if the call met no limit */
export function limitOf(error: unknown, signal?: AbortSignal): TableProblem | undefined {
  const [, limit] = LIMIT_ADVICE.find(([pattern]) => pattern.test((error as Error).message)) ?? [];
  const reason = signal?.aborted ? OUT_OF_TIME : limit;
  return reason === undefined ? undefined : new TableProblem(reason, { cause: error });
}

/**
 * @returns the reason if another try would end the same, and the file can be delivered without its table. A
 *   warning goes on after it
 */
export function reasonOf(error: unknown, signal?: AbortSignal): string | undefined {
  if (error instanceof AccessRefused || error instanceof DiskFull)
    return readMessage(error.message).happened.replace(/\.$/, '');
  return error instanceof TableProblem ? error.message : limitOf(error, signal)?.message;
}

/** @param part the days that are not written, if others are */
export function notWritten(table: string, reason: string, part = ''): string {
  // The section says which values of the config to change, and how to write the table then.
  return `table ${table} is not written${part}: ${reason}; see TableProblems in infra/RUNBOOK.md`;
}

/** Ends the warning of a file that the table does not take because the config has another request. */
export function otherRequest(account: string): string {
  return `the request differs from the one that account ${account} has in the deployed config`;
}

export function refusedFile(fault: string): DownloadRefused {
  return new DownloadRefused(`The file ${fault}. It is not a report.`);
}

/** Fields that a message names, and characters of each name and value. */
const MAX_NAMES = 20;
export const MESSAGE_CHARACTERS = 40;

/** Names for a message. */
export function listNames(names: readonly string[]): string {
  const shown = names.slice(0, MAX_NAMES).map((name) => shorten(name));
  return shown.join(', ') + (names.length > MAX_NAMES ? ' and more' : '');
}

/** Characters that nobody sees, or that look like others: byte order marks, no-break spaces, joiners. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]|(?! )\p{Zs}/gu;

/** A name or a value for a message, as JSON, so that line breaks and invisible marks can be seen. */
export function shorten(text: string, length = MESSAGE_CHARACTERS): string {
  const shown = text.length > length ? `${text.slice(0, length).toWellFormed()}…` : text;
  return JSON.stringify(shown).replace(INVISIBLE, escapeMark);
}

function escapeMark(mark: string): string {
  const units = Array.from({ length: mark.length }, (_, at) => mark.charCodeAt(at));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
}

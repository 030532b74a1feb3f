import type { Window } from '../workflow/state-parts.ts';
import type { Column, TableSchema } from '../workflow/table.ts';

/** The platform's file on this machine's disk. */
export interface ReportFile {
  /** Ends with `.zst` if the text is compressed. */
  readonly path: string;
  /** A JSON array of objects, JSON objects one after the other, or CSV with commas. */
  readonly layout: 'array' | 'lines' | 'csv';
  /** The first line of CSV. */
  readonly header?: string;
  /** Lines of CSV have more fields than the first one. */
  readonly isRagged?: boolean;
  /** The reason why the file is no report, such as `is empty`. */
  readonly fault?: string;
  /** The reason why its rows cannot be found: the file is delivered without its table. */
  readonly problem?: string;
}

export interface ReportOptions {
  /** No row may have another date. */
  readonly window: Window;
  /** Absent if the export has no table. The rows are only counted and added up then. */
  readonly schema: Pick<TableSchema, 'columns' | 'date_column'> | undefined;
  /** The columns that the request asks for: the file must have them. Another account's request may have added others to the schema. */
  readonly columns: readonly Column[];
  /** Default: DAY. With another one, the date of a row may be the first day of its month, which is before the window. */
  readonly granularity?: string | undefined;
  /** Takes files of about a tenth of the report's size, and what DuckDB cannot hold in memory. */
  readonly folder: string;
}

/** One day's rows. */
export interface DayFacts {
  /** YYYY-MM-DD */
  readonly day: string;
  readonly rows: number;
  /** By column, as in the schema. Strings keep every digit; no trailing zeros. */
  readonly sums: Readonly<Record<string, string>>;
}

export interface ReportFacts {
  /** Absent if the rows cannot be found or told apart, which is a table problem too. */
  readonly rows?: number;
  /** Absent if no row has a date. */
  readonly first_date?: string;
  readonly last_date?: string;
  /** Over all rows. Empty if a value could not be read. */
  readonly sums: Readonly<Record<string, string>>;
  /** Ascending; only days that have rows. Empty if the rows have no date, or with a table problem. */
  readonly days: readonly DayFacts[];
  readonly warnings: readonly string[];
  /** The reason why the rows do not fit the table: nothing may be written then. Only with a schema. */
  readonly table_problem?: string;
}

/** A report whose rows were read: what `stageReport(database, file, options)` resolves to. */
export interface StagedReport {
  readonly facts: ReportFacts;
  /**
   * A Parquet file on this disk, in the order of the report: `date` (DATE), the columns of the schema by name and type, and others
   * whose names have a blank. Only without a table problem.
   */
  readonly rows: string;
}

/** The step ran out of something that a setting can raise. */
export class CurateLimit extends Error {
  override readonly name = 'CurateLimit';
  readonly which: 'storage' | 'memory' | 'time';

  constructor(which: CurateLimit['which'], options?: ErrorOptions) {
    super(`CurateReport ran out of ${which}`, options);
    this.which = which;
  }
}

/** @returns undefined if the call met no limit */
export function limitOf(error: unknown, signal: AbortSignal): CurateLimit | undefined {
  if (signal.aborted) return new CurateLimit('time', { cause: error });
  const isFull = (error as NodeJS.ErrnoException).code === 'ENOSPC';
  return isFull ? new CurateLimit('storage', { cause: error }) : undefined;
}

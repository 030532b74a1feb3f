import type { ObjectEnd } from '../aws/objects.ts';
import type { Window } from '../workflow/state-parts.ts';
import type { Column, TableSchema } from '../workflow/table.ts';

/** A text on this machine's disk. */
export interface ReportFile {
  /** Ends with `.zst` if the text is compressed. */
  readonly path: string;
  /** A JSON array of objects, JSON objects one after the other, or CSV with commas. */
  readonly layout: 'array' | 'lines' | 'csv';
  /** The first line of CSV. */
  readonly header?: string;
  /** The first line of CSV has no requested field. */
  readonly headless?: true;
  /** The reason why the file cannot be a report, such as `is empty`. */
  readonly fault?: string;
}

export interface ReportOptions {
  /** No row may have another date. */
  readonly window: Window;
  /** Absent if the export has no table. The rows are only counted then. */
  readonly schema: Pick<TableSchema, 'columns' | 'date_column'> | undefined;
  /**
   * The columns that the request asks for (see reportColumns). With a schema, those that must be in the file: another
   * account's request may have added the others. Without one, those to add up.
   */
  readonly columns: readonly Column[];
  /** Default: DAY. With another one, the date of a row may be the first day of its month, which is before the window. */
  readonly granularity?: string | undefined;
  /** A folder for files of about a tenth of the report's size, and for what DuckDB cannot hold in memory. */
  readonly folder: string;
  /** Stops with CurateLimit `time`. */
  readonly signal: AbortSignal;
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
  readonly rows: number;
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

export interface OpenReport extends AsyncDisposable {
  readonly facts: ReportFacts;
  /**
   * Writes the Parquet file of a day, of zero rows if the day has none. The rows keep the report's order, so the
   * same report and metadata give the same bytes.
   *
   * @param metadata becomes the key-value metadata of the Parquet file
   * @returns its path, which the next call overwrites
   * @throws CurateLimit
   */
  writeDay(day: string, metadata: Readonly<Record<string, string>>): Promise<string>;
  /** Reads the key-value metadata of a Parquet file that writeDay wrote. @param end with the whole footer @throws CurateLimit */
  readMetadata(end: ObjectEnd): Promise<Readonly<Record<string, string>>>;
}

export interface OpenList extends AsyncDisposable {
  readonly rows: number;
  /** Writes one Parquet file with LIST_COLUMNS. @throws CurateLimit */
  write(metadata: Readonly<Record<string, string>>): Promise<string>;
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

import type { Window } from '../workflow/states.ts';
import type { Column, TableSchema } from '../workflow/table.ts';

/** A report's file on this machine's disk, as {@link SpooledFile} left it. */
export interface ReportFile {
  readonly path: string;
  readonly compression: 'zstd' | 'gzip' | 'none';
  /** As requested of the platform: JSON or CSV. Any other format has no rows that we can count. */
  readonly format: string;
  readonly content_type: string;
}

/** A file and the facts about the bytes as they came. */
export interface SpooledFile {
  readonly file: ReportFile;
  readonly bytes: number;
  /** Base64 of the big-endian CRC32, as S3 returns it. */
  readonly crc32: string;
}

export interface ReportOptions {
  /** No row may have another date. */
  readonly window: Window;
  /** Absent if the export has no table. The rows are only counted then. */
  readonly schema: TableSchema | undefined;
  /** The columns to add up if there is no schema. */
  readonly columns: readonly Column[];
  /** An empty folder for files of about the report's size. The caller removes it. */
  readonly folder: string;
  /** Stops with CurateLimit `time`. */
  readonly signal: AbortSignal;
}

/** One day's rows. */
export interface DayFacts {
  /** YYYY-MM-DD */
  readonly day: string;
  readonly rows: number;
  /** By column. Strings keep every digit. */
  readonly sums: Readonly<Record<string, string>>;
}

export interface ReportFacts {
  readonly rows: number;
  /** Absent if no row has a date. */
  readonly first_date?: string;
  readonly last_date?: string;
  /** Over all days, by column. */
  readonly sums: Readonly<Record<string, string>>;
  /** Ascending; only days that have rows. Empty if the rows have no date. */
  readonly days: readonly DayFacts[];
  readonly warnings: readonly string[];
  /** The reason why the rows do not fit the table. Then there are no days to write. */
  readonly table_problem?: string;
}

export interface OpenReport extends AsyncDisposable {
  readonly facts: ReportFacts;
  /**
   * Writes the Parquet file of a day, of zero rows if the day has none.
   *
   * @param metadata becomes the key-value metadata of the Parquet file
   * @returns its path, which the next call may write again
   * @throws CurateLimit
   */
  writeDay(day: string, metadata: Readonly<Record<string, string>>): Promise<string>;
}

/** The function ran out of something that a setting can raise. */
export class CurateLimit extends Error {
  override readonly name = 'CurateLimit';
  readonly which: 'storage' | 'memory' | 'time';

  constructor(which: CurateLimit['which'], cause?: unknown) {
    super(`CurateReport ran out of ${which}`, { cause });
    this.which = which;
  }
}

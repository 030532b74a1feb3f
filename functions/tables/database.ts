import { mkdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance, type Json } from '@duckdb/node-api';
import { count } from '../workflow/count.ts';
import { byName } from '../workflow/json.ts';
import { memoryLimit } from './memory.ts';
import { limitOf, MalformedJson, refusedFile, TableProblem } from './report.ts';

export type Row = Readonly<Record<string, Json>>;

export interface Database extends Disposable {
  /** Options of a COPY. */
  readonly parquet: string;
  /**
   * @returns the rows; numbers of more than 32 bits and dates are strings
   * @throws DownloadRefused if a JSON file is cut; MalformedJson if it does not parse; TableProblem at a
   *   limit; otherwise DuckDB's own error
   */
  query(sql: string): Promise<readonly Row[]>;
}

/**
 * DuckDB holds a row group until it is written. Its default, 122,880 rows, is too much for 50 columns, and
 * takes a fifth more CPU than half of it. Readers skip a group that has none of their days.
 */
const ROW_GROUP_VALUES = 1_000_000;
const MAX_ROW_GROUP_ROWS = 61_440;

/**
 * DuckDB gives memory back to the system when it frees this much at a time. With its default of 512 MB, a
 * report of 1 GB takes between 320 and 580 MB of RSS, by chance. With 8 MB it takes 300 MB and no more CPU,
 * with 1 MB 240 MB and a tenth more CPU.
 */
const FLUSH_THRESHOLD = '8MB';

/** Repeated, because DuckDB forgets an interrupt that comes while it still parses the query. */
const INTERRUPT_MS = 50;

/**
 * Opens an empty DuckDB in memory. Its extensions for JSON and Parquet are part of the binary.
 *
 * @param folder takes what does not fit into memory
 * @param columns of the table
 */
export async function openDatabase(folder: string, signal: AbortSignal, columns = 1): Promise<Database> {
  const instance = await DuckDBInstance.create(':memory:', {
    threads: '1',
    allocator_bulk_deallocation_flush_threshold: FLUSH_THRESHOLD,
    memory_limit: memoryLimit(columns),
    temp_directory: join(folder, 'spilled'),
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
    allow_community_extensions: 'false',
    lock_configuration: 'true',
  });
  const connection = await instance.connect();
  const interrupting = setInterval(() => signal.aborted && connection.interrupt(), INTERRUPT_MS);
  const rows = Math.min(MAX_ROW_GROUP_ROWS, Math.ceil(ROW_GROUP_VALUES / columns));
  return {
    parquet: `FORMAT parquet, ROW_GROUP_SIZE ${rows}`,
    async query(sql) {
      try {
        signal.throwIfAborted();
        const reader = await connection.runAndReadAll(sql);
        const names = reader.deduplicatedColumnNames();
        return reader.getRowsJson().map((row) => byName(names.map((name, at) => [name, row[at] ?? null])));
      } catch (error) {
        throw limitOf(error, signal) ?? explainError(error as Error, columns);
      }
    },
    [Symbol.dispose]() {
      clearInterval(interrupting);
      // Without these, DuckDB keeps its threads and its files until the garbage collector finds it.
      connection.closeSync();
      instance.closeSync();
    },
  };
}

/** A folder of this machine that is removed when it is disposed of. */
export interface ScratchFolder extends AsyncDisposable {
  readonly folder: string;
  /** The path of a file in a folder of its own, because a reader writes other files beside it. */
  readonly copy: string;
}

/**
 * Makes an empty folder in the temporary folder of the instance. A call shares the instance with no other.
 */
export async function openScratchFolder(name: string): Promise<ScratchFolder> {
  const folder = join(tmpdir(), name);
  const remove = () => rm(folder, { recursive: true, force: true });
  // Lambda keeps the files of a call that it killed.
  await remove();
  await mkdir(join(folder, 'file'), { recursive: true });
  return { folder, copy: join(folder, 'file', 'copy'), [Symbol.asyncDispose]: remove };
}

/** @returns the error itself, unless it is about memory or a file's text */
function explainError(error: Error, columns: number): Error {
  if (error.message.startsWith('Out of Memory Error'))
    return new TableProblem(
      `the file, for ${count(columns, 'column')} of its table, needs more than CurateReport's memory; ` +
        'raise memory_mb of CurateReport in the config, or export fewer columns or shorter ranges',
      { cause: error },
    );
  const [, reason] =
    /^Invalid Input Error: Malformed JSON.* in record\/value \d+: (.*?)\W*(?:Parse errors cannot.*)?$/m.exec(
      error.message,
    ) ??
    /^Invalid Input Error: (Missing closing.*?)\W*$/m.exec(error.message) ??
    [];
  if (reason === undefined) return error;
  return /^unexpected end|^Missing closing/.test(reason)
    ? refusedFile('is JSON that is cut off')
    : new MalformedJson(reason);
}

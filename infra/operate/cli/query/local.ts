import {
  type DuckDBConnection,
  DuckDBInstance,
  type DuckDBResult,
  DuckDBTimestampTZValue,
  StatementType,
} from '@duckdb/node-api';
import { dateIn } from '../../../../functions/workflow/request/dates.ts';
import { catalogName, LEDGER, type TableSchema } from '../../../../functions/workflow/table.ts';
import { PROGRAM } from '../../../package.ts';
import { type AsOf, savedQueries } from '../../../stack/catalog/queries.ts';
import { adviseOnDamage } from '../../days/damage.ts';
import { findExports, listExports } from '../../days/find-exports.ts';
import type { RecordedExport } from '../../days/read-export.ts';
import { openToRead } from '../../place/bucket.ts';
import { CommandFailed, toPrintable, UsageError } from '../../place/errors.ts';
import { createNoRunsError, hasRuns } from '../../place/has-runs.ts';
import { loadConfig } from '../../place/load-config.ts';
import { findTables, type LocalTable } from '../../place/local-tables.ts';
import { checkFirstWord, NO_QUERY } from './one-query.ts';
import type { QueryResult, Value } from './result.ts';
import { createViews, emptyTables, findReportTable, findUnreadable, tablesNamedIn } from './views.ts';

/** DuckDB must not download anything. What it needs is built in. */
const OFFLINE = { autoinstall_known_extensions: 'false', autoload_known_extensions: 'false' };

const HOW_TO_GET_TABLES =
  `Run '${PROGRAM} start NAME' for an export of the config, or without NAME for an example; or give another --out. ` +
  `'${PROGRAM} missing NAME --local' says why a delivered file is not in its table.`;

/** The query has a fault. After any other error, an object may be damaged. */
const FAULTY = /^(Parser|Binder|Catalog) Error/;

/** A query begins with one of them. Preparing other statements, such as EXPORT, may already write. */
const FIRST_WORDS = ['select', 'with', 'from', 'values'];

/** The ledger, and the views that are made of it. */
const OF_LEDGER = new RegExp(`${LEDGER}|_days\\b|_restatements\\b`, 'i');

/** DuckDB cannot read a value or a file: a run may have replaced it during the query. */
const UNREADABLE = /^(Invalid|Invalid Input|IO) Error/;

const REPEAT = 'Correct the query, or repeat it when no run writes the table.';

export interface LocalQuery {
  /** Reads also tables that the statement does not name. */
  readonly readsAll?: boolean;
  /** Refuses a statement that is no query, before it runs. */
  readonly isQueryOnly?: boolean;
  /** The DuckDB file of a person, which is only read. Its tables come before those of the folder. */
  readonly database?: string | undefined;
}

/**
 * Runs a query with DuckDB on the tables that local runs left in a folder.
 *
 * @param out the folder; undefined for the tables of the person's database alone
 * @returns a result that closes the database when its rows end
 * @throws UsageError unless there is one statement
 * @throws CommandFailed with DuckDB's message if the query fails
 */
export async function runLocalQuery(
  sql: string,
  out: string | undefined,
  { readsAll = false, isQueryOnly = false, database }: LocalQuery = {},
): Promise<QueryResult> {
  const tables = findTablesToQuery(out);
  const { connection, close } = await openDatabase(database);
  const named = readsAll ? [] : tablesNamedIn(sql, tables);
  const read = named.length > 0 ? named : [...tables.values()];
  // A query that needs no ledger runs although the ledger is damaged.
  const needsLedger = !isQueryOnly || OF_LEDGER.test(sql);
  const ledger = needsLedger ? tables.get(catalogName(LEDGER)) : undefined;
  try {
    await checkCount(connection, sql);
    if (isQueryOnly) checkFirstWord(sql, FIRST_WORDS);
    const { requests, withoutRows } = await readAboutDays(sql, out, tables);
    const options = { today: today(), config: loadConfig() };
    const requestsOfTable = (table: string) => requests.get(table) ?? {};
    await createViews(connection, [...read, ...withoutRows], ledger, options, requestsOfTable);
    if (isQueryOnly) await checkType(connection, sql);
    // A streamed result that fails halfway looks complete, so DuckDB holds the whole of it.
    const result = await connection.run(sql);
    const types = result.columnTypes();
    return {
      columns: result.columnNames().map((name, at) => ({ name, type: String(types[at]) })),
      rows: readRows(result, close),
      notes: [],
    };
  } catch (thrown) {
    using _closing = { [Symbol.dispose]: close };
    const error = thrown as Error;
    if (error instanceof UsageError) throw error;
    const asked = [...new Set([...read, ...(ledger ? [ledger] : [])])];
    const key = FAULTY.test(error.message) ? undefined : await findUnreadable(connection, asked);
    if (key !== undefined) throw new CommandFailed(`${key} cannot be read.`, adviseOnDamage(key));
    throw describeQueryFailure(error, { names: [...tables.keys()], out, database });
  }
}

/** @throws CommandFailed if the folder has neither tables nor runs */
function findTablesToQuery(out: string | undefined): ReadonlyMap<string, LocalTable> {
  if (out === undefined) return new Map();
  const tables = findTables(out);
  if (tables.size === 0 && !hasRuns(out)) throw createNoRunsError(out);
  return tables;
}

/**
 * Reads what the states of days need: the requests, and the tables whose objects were all removed. Only a
 * query about days needs them.
 */
async function readAboutDays(sql: string, out: string | undefined, tables: ReadonlyMap<string, LocalTable>) {
  if (out === undefined) return { requests: requestHashes([]), withoutRows: [] };
  const exports = (await isAboutDays(sql, out, tables)) ? await readFolderExports(out) : [];
  return { requests: requestHashes(exports), withoutRows: emptyTables(exports, out, tables) };
}

/** True of a query of days, and of the query of such a view if the view's table was removed. */
async function isAboutDays(
  sql: string,
  out: string,
  tables: ReadonlyMap<string, LocalTable>,
): Promise<boolean> {
  if (/_days\b/i.test(sql)) return true;
  const words = new Set(sql.toLowerCase().match(/\w+/g));
  if (!words.has(LEDGER)) return false;
  const names = (await listExports(out)).map(({ name }) => catalogName(name));
  return names.some((name) => !tables.has(name) && words.has(name));
}

/** The exports of a folder. */
async function readFolderExports(out: string): Promise<readonly RecordedExport[]> {
  const place = { local: true, out } as const;
  await using bucket = await openToRead(place, true);
  return await findExports(undefined, place, bucket, new Date());
}

/**
 * By table, the hash of the configured request of each account. A folder's runs may have asked for others.
 */
function requestHashes(exports: readonly RecordedExport[]): ReadonlyMap<string, TableSchema['requests']> {
  const byTable = Map.groupBy(exports, ({ request }) => request.name);
  return new Map(
    [...byTable].map(([table, some]) => [
      table,
      Object.fromEntries(some.map(({ request, hash }) => [request.account, hash])),
    ]),
  );
}

/** As SQL, in UTC. */
function today(): string {
  return `DATE '${dateIn('UTC', new Date())}'`;
}

/** The saved queries for the tables of a folder. */
export async function readSavedQueries(out: string, dates: AsOf) {
  const tables = findTables(out);
  const sql = 'SELECT table_name, column_name, data_type FROM duckdb_columns()';
  const { rows } = await runLocalQuery(sql, out, { readsAll: true });
  const columns = Map.groupBy((await Array.fromAsync(rows)).flat(), ([table]) => table);
  const written = [...tables.values()].flatMap(({ name, table }) =>
    findReportTable(
      table,
      (columns.get(name) ?? []).map(([, column, type]) => [String(column), String(type)]),
    ),
  );
  const exports = await readFolderExports(out);
  const reports = [...written, ...emptyTables(exports, out, tables).map(({ schema }) => schema)];
  const requests = requestHashes(exports);
  const configured = reports.map((report) => ({ ...report, requests: requests.get(report.table) ?? {} }));
  return savedQueries(configured, { ...dates, today: today(), config: loadConfig() });
}

async function* readRows(result: DuckDBResult, close: () => void): AsyncGenerator<Value[][]> {
  try {
    yield* result.yieldRowsJson() as AsyncIterable<Value[][]>;
  } finally {
    close();
  }
}

/** @param file of a person: DuckDB then gives its catalog the name that the views in it know */
async function openDatabase(file?: string) {
  const database = await openInstance(file);
  const connection = await database.connect();
  // Athena has the current date in UTC.
  await connection.run("SET TimeZone = 'UTC'");
  // The binding writes a time with a zone in this machine's offset of now, whatever the connection's zone is.
  DuckDBTimestampTZValue.timezoneOffsetInMinutes = 0;
  const close = () => {
    connection.closeSync();
    database.closeSync();
  };
  return { connection, close };
}

/** @throws CommandFailed if DuckDB cannot read the file */
async function openInstance(file: string | undefined): Promise<DuckDBInstance> {
  if (file === undefined) return DuckDBInstance.create(':memory:', OFFLINE);
  try {
    return await DuckDBInstance.create(file, { ...OFFLINE, access_mode: 'READ_ONLY' });
  } catch (error) {
    throw new CommandFailed(
      `DuckDB cannot read ${toPrintable(file)}: ${toPrintable((error as Error).message)}`,
      'Close the program that writes the file, such as dbt, or give a DuckDB file that this version reads.',
    );
  }
}

/** A query may begin with WITH and be another statement, such as INSERT. @throws UsageError */
async function checkType(connection: DuckDBConnection, sql: string): Promise<void> {
  const prepared = await connection.prepare(sql);
  const { statementType } = prepared;
  prepared.destroySync();
  if (statementType !== StatementType.SELECT) throw new UsageError([NO_QUERY]);
}

/** DuckDB would run the first of several statements and ignore the others. */
async function checkCount(connection: DuckDBConnection, sql: string): Promise<void> {
  const { count } = await connection.extractStatements(sql).catch((error: Error) => {
    // All that DuckDB says about a text of comments.
    if (error.message === 'Error in native callback') return { count: 0 };
    throw error;
  });
  if (count !== 1) throw new UsageError([`give one SQL statement; these are ${count}`]);
}

interface QueriedPlace {
  readonly names: readonly string[];
  readonly out: string | undefined;
  readonly database: string | undefined;
}

function describeQueryFailure({ message }: Error, { names, out, database }: QueriedPlace): CommandFailed {
  const lines = message.replace(/^Failed to extract statements: /, '').split('\n');
  const happened = lines.map(toPrintable).join('\n');
  if (UNREADABLE.test(message) && names.length > 0) return new CommandFailed(happened, REPEAT);
  const list = names.join(', ');
  if (database !== undefined) {
    const more = list === '' ? '' : ` and on the tables ${list}`;
    return new CommandFailed(happened, `Correct the query. It runs on ${database}${more}.`);
  }
  if (list === '') return new CommandFailed(happened, `${out} has no tables. ${HOW_TO_GET_TABLES}`);
  const correct = `Correct the query. The tables are: ${list}. 'DESCRIBE ${names[0]}' lists the columns of one.`;
  return new CommandFailed(happened, correct);
}

import {
  type DuckDBConnection,
  DuckDBInstance,
  type DuckDBResult,
  DuckDBTimestampTZValue,
} from '@duckdb/node-api';
import { dateIn } from '../../../../functions/workflow/request/dates.ts';
import { catalogName, LEDGER, type TableSchema } from '../../../../functions/workflow/table.ts';
import { PROGRAM } from '../../../package.ts';
import { type AsOf, savedQueries } from '../../../stack/catalog/queries.ts';
import { adviseOnDamage } from '../../days/damage.ts';
import { type FoundExport, findExports } from '../../days/exports.ts';
import {
  createViews,
  describeReport,
  emptyTables,
  findTables,
  findUnreadable,
  tablesNamedIn,
} from '../../days/views.ts';
import { openToRead } from '../../place/bucket.ts';
import { loadConfig } from '../../place/config.ts';
import { CommandFailed, toPrintable, UsageError } from '../../place/errors.ts';
import { createNoRunsError, hasRuns } from '../../place/local-runs.ts';
import type { QueryResult, Value } from './result.ts';

/** DuckDB must not download anything. What it needs is built in. */
const OFFLINE = { autoinstall_known_extensions: 'false', autoload_known_extensions: 'false' };

const HOW_TO_GET_TABLES =
  `Run '${PROGRAM} start NAME' for an export of the config, or without NAME for an example; or give another --out. ` +
  `'${PROGRAM} missing NAME --local' says why a delivered file is not in its table.`;

/** The query has a fault. After any other error, an object may be damaged. */
const FAULTY = /^(Parser|Binder|Catalog) Error/;

/** DuckDB cannot read a value or a file: a run may have replaced it during the query. */
const UNREADABLE = /^(Invalid|Invalid Input|IO) Error/;

const REPEAT = 'Correct the query, or repeat it when no run writes the table.';

/**
 * Runs a query with DuckDB on the tables that local runs left in a folder.
 *
 * @param readsAll also tables that the statement does not name
 * @returns a result that closes the database when its rows end
 * @throws UsageError unless there is one statement
 * @throws CommandFailed with DuckDB's message if the query fails
 */
export async function runLocalQuery(sql: string, out: string, readsAll = false): Promise<QueryResult> {
  const tables = findTables(out);
  if (tables.size === 0 && !hasRuns(out)) throw createNoRunsError(out);
  const { connection, close } = await openDatabase();
  const named = readsAll ? [] : tablesNamedIn(sql, tables);
  const read = named.length > 0 ? named : [...tables.values()];
  const ledger = tables.get(catalogName(LEDGER));
  try {
    await checkCount(connection, sql);
    // Only the state of a day needs the requests, and they have to be read.
    const exports = /_days\b/i.test(sql) ? await readExports(out) : [];
    const requests = requestsOf(exports);
    const withoutRows = emptyTables(exports, out, tables);
    const options = { today: today(), config: loadConfig() };
    await createViews(
      connection,
      [...read, ...withoutRows],
      ledger,
      options,
      (table) => requests.get(table) ?? {},
    );
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
    throw describeQueryFailure(error, [...tables.keys()], out);
  }
}

/** The exports of a folder. */
async function readExports(out: string): Promise<readonly FoundExport[]> {
  const place = { local: true, out } as const;
  await using bucket = await openToRead(place, true);
  return await findExports(undefined, place, bucket, new Date());
}

/** By table, the hash of the configured request of each account. A folder's runs may have asked for others. */
function requestsOf(exports: readonly FoundExport[]): ReadonlyMap<string, TableSchema['requests']> {
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
  const { rows } = await runLocalQuery(sql, out, true);
  const columns = Map.groupBy((await Array.fromAsync(rows)).flat(), ([table]) => table);
  const written = [...tables.values()].flatMap(({ name, table }) =>
    describeReport(
      table,
      (columns.get(name) ?? []).map(([, column, type]) => [String(column), String(type)]),
    ),
  );
  const exports = await readExports(out);
  const reports = [...written, ...emptyTables(exports, out, tables).map(({ schema }) => schema)];
  const requests = requestsOf(exports);
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

async function openDatabase() {
  const database = await DuckDBInstance.create(':memory:', OFFLINE);
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

/** DuckDB would run the first of several statements and ignore the others. */
async function checkCount(connection: DuckDBConnection, sql: string): Promise<void> {
  const { count } = await connection.extractStatements(sql).catch((error: Error) => {
    // All that DuckDB says about a text of comments.
    if (error.message === 'Error in native callback') return { count: 0 };
    throw error;
  });
  if (count !== 1) throw new UsageError([`give one SQL statement; these are ${count}`]);
}

function describeQueryFailure({ message }: Error, names: readonly string[], out: string): CommandFailed {
  const lines = message.replace(/^Failed to extract statements: /, '').split('\n');
  const happened = lines.map(toPrintable).join('\n');
  if (names.length === 0) return new CommandFailed(happened, `${out} has no tables. ${HOW_TO_GET_TABLES}`);
  const correct = `Correct the query. The tables are: ${names.join(', ')}. 'DESCRIBE ${names[0]}' lists the columns of one.`;
  return new CommandFailed(happened, UNREADABLE.test(message) ? REPEAT : correct);
}

import { globSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { EXPORTS_PREFIX, MANIFEST } from '../../../functions/workflow/keys.ts';
import { catalogName, TABLES_PREFIX } from '../../../functions/workflow/table.ts';
import { CommandFailed, toPrintable, UsageError } from '../errors.ts';
import type { QueryResult, Value } from './result.ts';

/** DuckDB must not download anything. What it needs is built in. */
const OFFLINE = { autoinstall_known_extensions: 'false', autoload_known_extensions: 'false' };

/**
 * Runs a query with DuckDB on the tables that local runs left in a folder.
 *
 * @throws UsageError unless there is one statement
 * @throws CommandFailed if there are no tables, or with DuckDB's message if the query fails
 */
export async function runLocalQuery(sql: string, out: string): Promise<QueryResult> {
  const tables = findTables(out);
  if (tables.size === 0) throw new CommandFailed(`${out} has no tables.`, howToGetTables(out));
  const database = await DuckDBInstance.create(':memory:', OFFLINE);
  const connection = await database.connect();
  try {
    await checkCount(connection, sql);
    await createViews(connection, tables, sql);
    const reader = await connection.runAndReadAll(sql);
    const types = reader.columnTypes();
    const columns = reader.columnNames().map((name, at) => ({ name, type: String(types[at]) }));
    return { columns, rows: reader.getRowsJson() as Value[][] };
  } catch (error) {
    throw error instanceof UsageError ? error : describeFailure(error, tables);
  } finally {
    connection.closeSync();
    database.closeSync();
  }
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

/** A file whose values do not fit its table is delivered without it. */
function howToGetTables(out: string): string {
  const delivered = globSync(`*/${EXPORTS_PREFIX}**/${MANIFEST}`, { cwd: out }).length > 0;
  return delivered
    ? "The manifest of each delivered file says in its warnings why it is not in a table. Correct that, then run 'npm run export -- curate NAME --local'."
    : "Run 'npm start' for an example, or 'npm start -- NAME' for an export of cdk.json; or give another --out.";
}

/** The tables' folders by their names in SQL. @throws UsageError if two folders have the same table */
function findTables(out: string): Map<string, string> {
  const tables = new Map<string, string>();
  const accounts = globSync(`*/${TABLES_PREFIX}*/account=*/`, { cwd: out });
  for (const folder of new Set(accounts.map(dirname).sort())) {
    const name = catalogName(basename(folder));
    const other = tables.get(name);
    if (other !== undefined)
      throw new UsageError([`${other} and ${join(out, folder)} both have the table ${name}; remove one`]);
    tables.set(name, join(out, folder));
  }
  return tables;
}

/**
 * Creates a view of each table that the statement may read. A view reads the footer of each of its files, so tables that the
 * statement does not name are left out, unless it names none, such as SHOW TABLES.
 */
async function createViews(
  connection: DuckDBConnection,
  tables: ReadonlyMap<string, string>,
  sql: string,
): Promise<void> {
  const words = new Set(sql.toLowerCase().match(/\w+/g));
  const named = [...tables].filter(([name]) => words.has(name));
  for (const [name, folder] of named.length > 0 ? named : tables) {
    // A list has one object per account, and no dates.
    const isList = globSync('account=*/*.parquet', { cwd: folder }).length > 0;
    const types = isList ? 'account: VARCHAR' : 'account: VARCHAR, date: DATE';
    const files = quote(`${escapeGlob(resolve(folder))}/**/*.parquet`);
    await connection.run(
      `CREATE VIEW "${name}" AS SELECT * FROM read_parquet(${files}, hive_partitioning = true, hive_types = {${types}}, union_by_name = true)`,
    );
  }
}

function escapeGlob(path: string): string {
  return path.replace(/[*?[]/g, '[$&]');
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

function describeFailure(error: unknown, tables: ReadonlyMap<string, string>): CommandFailed {
  const lines = (error as Error).message.replace(/^Failed to extract statements: /, '').split('\n');
  const names = [...tables.keys()].join(', ');
  return new CommandFailed(
    lines.map(toPrintable).join('\n'),
    `Correct the query. The tables are: ${names}. 'DESCRIBE ${names.split(',')[0]}' lists the columns of one.`,
  );
}

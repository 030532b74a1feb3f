import { globSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import type { DuckDBConnection } from '@duckdb/node-api';
import { identifier, literal } from '../../functions/tables/database.ts';
import { damaged } from '../../functions/tables/report.ts';
import { addDays, type DateRange, daysOf, groupDays } from '../../functions/workflow/request/dates.ts';
import { name as tableName } from '../../functions/workflow/request/fields.ts';
import { DAYS, readShownDays } from '../../functions/workflow/shown-days.ts';
import {
  type Column,
  type ColumnType,
  catalogName,
  LEDGER,
  RESERVED_COLUMNS,
  TABLES_PREFIX,
} from '../../functions/workflow/table.ts';
import { daysView, type QueriedTable, restatementsView } from '../config/queries.ts';
import { UsageError } from './errors.ts';

/** A table that local runs left in a folder. */
export interface LocalTable {
  /** In SQL. */
  readonly name: string;
  /** The part of the key after `tables/`. */
  readonly table: string;
  /** The absolute path of its objects, as a literal of SQL. It has a wildcard. */
  readonly files: string;
  /** Its objects: absolute paths. */
  readonly paths: readonly string[];
}

/** Days that a table does not have, between the first and the last one that it has. */
export interface Holes {
  readonly name: string;
  readonly account: string;
  /** An export that wrote the table. */
  readonly export: string;
  readonly ranges: readonly DateRange[];
}

/** @returns by name, the ledger too; other folders are left out @throws UsageError if two folders have the same table */
export function findTables(out: string): ReadonlyMap<string, LocalTable> {
  const objects = Map.groupBy(globSync(`*/${TABLES_PREFIX}*/*.parquet`, { cwd: out }), dirname);
  const found = new Map<string, LocalTable & { readonly folder: string }>();
  for (const [each, inside] of [...objects].sort()) {
    const [table, folder] = [basename(each), join(out, each)];
    const paths = inside.map((path) => resolve(out, path));
    if (!tableName.safeParse(table).success) continue;
    const name = catalogName(table);
    const other = found.get(name);
    if (other)
      throw new UsageError([`${other.folder} and ${folder} both have the table ${name}; remove one`]);
    const files = literal(`${escapeGlob(resolve(folder))}/*.parquet`);
    found.set(name, { name, table, folder, files, paths });
  }
  return found;
}

/**
 * The tables that a statement may read. A view reads the footer of each of its files, so tables that the statement does not name
 * are left out, unless it names none, such as SHOW TABLES.
 */
export function tablesNamedIn(sql: string, tables: ReadonlyMap<string, LocalTable>): readonly LocalTable[] {
  const words = new Set(sql.toLowerCase().match(/\w+/g));
  return [...tables.values()].filter(({ name }) =>
    [name, daysName(name), restatementsName(name)].some((view) => words.has(view)),
  );
}

/**
 * Creates a view of each table, and of each report's table two views over the ledger. They list their columns, so a column that
 * is added to the table does not break a view that was saved.
 *
 * @returns the names of the views
 */
export async function createViews(
  connection: DuckDBConnection,
  tables: readonly LocalTable[],
  ledger: LocalTable | undefined,
): Promise<string[]> {
  const views = new Map<string, string>();
  const reports: QueriedTable[] = [];
  // The views over the ledger need its own.
  for (const { name, table, files } of new Set([...(ledger ? [ledger] : []), ...tables])) {
    const columns = await describeFiles(connection, files);
    const names = columns.map(([column]) => identifier(column));
    views.set(name, `SELECT ${names.join(', ')} FROM ${readParquet(files)}`);
    reports.push(...describeReport(table, columns));
  }
  if (ledger) for (const report of reports) addLedgerViews(views, report);
  for (const [name, sql] of views)
    await connection.run(`CREATE OR REPLACE VIEW ${identifier(name)} AS ${sql}`);
  return [...views.keys()];
}

/** A table of such a name comes first. */
function addLedgerViews(views: Map<string, string>, report: QueriedTable): void {
  const name = catalogName(report.table);
  if (!views.has(daysName(name))) views.set(daysName(name), daysView(report));
  if (!views.has(restatementsName(name))) views.set(restatementsName(name), restatementsView(report));
}

function daysName(name: string): string {
  return `${name}_days`;
}

function restatementsName(name: string): string {
  return `${name}_restatements`;
}

/** An object that was written before a column was added has NULL there. */
function readParquet(files: string): string {
  return `read_parquet(${files}, union_by_name = true)`;
}

type Described = readonly (readonly [name: string, type: string])[];

async function describeFiles(connection: DuckDBConnection, files: string): Promise<Described> {
  const reader = await connection.runAndReadAll(`DESCRIBE SELECT * FROM ${readParquet(files)}`);
  return reader.getRows().map(([name, type]) => [String(name), String(type)]);
}

/** @returns nothing if it is not the table of a report */
export function describeReport(table: string, columns: Described): QueriedTable[] {
  const names = columns.map(([name]) => name);
  if (table === LEDGER || !names.includes('report_id')) return [];
  const currencies: Record<string, string> = names.includes('currency') ? { all: 'currency' } : {};
  return [{ table, kind: 'report', columns: ownColumns(columns), currencies }];
}

/** The columns that come from the platform's file. */
function ownColumns(columns: Described): Column[] {
  return columns
    .filter(([name]) => !RESERVED_COLUMNS.includes(name))
    .map(([name, type]) => ({
      name,
      type: type === 'VARCHAR' ? 'string' : (type.toLowerCase() as ColumnType),
      from: name,
    }));
}

/** Finds the object that made a query fail. DuckDB does not always name it. */
export async function findDamaged(
  query: (sql: string) => Promise<unknown>,
  paths: readonly string[],
  { message }: Error,
): Promise<string | undefined> {
  const named = paths.filter((path) => message.includes(path));
  for (const path of named.length > 0 ? named : paths) {
    const read = query(`SELECT max(hash(COLUMNS(*))) FROM read_parquet(${literal(escapeGlob(path))})`);
    if (!(await read.then(Boolean, () => false))) return path;
  }
  return undefined;
}

/** Finds the days that tables of reports do not have. A day without rows is there too. @throws TableProblem */
export async function findHoles(
  connection: DuckDBConnection,
  tables: readonly LocalTable[],
  ledger: LocalTable | undefined,
): Promise<Holes[]> {
  const holes: Holes[] = [];
  for (const { name, table, files, paths } of tables.filter((each) => each.table !== LEDGER)) {
    for (const [account, days] of await readDays(connection, files, paths)) {
      const ranges = rangesBetween([...days].sort());
      if (ranges.length === 0) continue;
      const written = ledger && (await findExport(connection, ledger, table, account));
      holes.push({ name, account, export: written ?? table, ranges });
    }
  }
  return holes;
}

/** The days of each account. @throws TableProblem if an object has none */
async function readDays(
  connection: DuckDBConnection,
  files: string,
  paths: readonly string[],
): Promise<Map<string, Set<string>>> {
  const reader = await connection.runAndReadAll(
    `SELECT file_name, decode(value) FROM parquet_kv_metadata(${files}) WHERE decode(key) = '${DAYS}'`,
  );
  const own = new Set(reader.getRows().map(([file]) => file));
  const foreign = paths.find((path) => !own.has(path));
  if (foreign !== undefined) throw damaged(foreign);
  const days = new Map<string, Set<string>>();
  for (const [file, text] of reader.getRows()) {
    // An account has no point, which is before the month.
    const [account = ''] = basename(String(file)).split('.');
    const known = days.get(account) ?? new Set();
    for (const day of Object.keys(readShownDays(String(text)) ?? {})) known.add(day);
    days.set(account, known);
  }
  return days;
}

function rangesBetween(days: readonly string[]): DateRange[] {
  const [first, last] = [days[0], days.at(-1)];
  if (first === undefined || last === undefined) return [];
  const there = new Set(days);
  return groupDays(
    daysOf({ start_date: first, end_date: addDays(last, 1) }).filter((day) => !there.has(day)),
  );
}

/** `missing` takes the name of an export, not of its table. */
async function findExport(
  connection: DuckDBConnection,
  { files }: LocalTable,
  table: string,
  account: string,
): Promise<string | undefined> {
  const reader = await connection.runAndReadAll(
    `SELECT arg_max(export, copied_at) FROM read_parquet(${files}) WHERE table_name = ${literal(table)} AND account = ${literal(account)}`,
  );
  const [[name] = []] = reader.getRows();
  return name === null || name === undefined ? undefined : String(name);
}

/** A path in which no character is a wildcard of DuckDB. */
export function escapeGlob(path: string): string {
  return path.replace(/[*?[]/g, '[$&]');
}

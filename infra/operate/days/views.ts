import { globSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import type { DuckDBConnection } from '@duckdb/node-api';
import { duckType } from '../../../functions/tables/merge.ts';
import { identifier, literal } from '../../../functions/tables/sql.ts';
import { name as tableName } from '../../../functions/workflow/request/fields.ts';
import {
  type Column,
  type ColumnType,
  catalogName,
  LEDGER,
  RESERVED_COLUMNS,
  TABLES_PREFIX,
  type TableSchema,
  tableColumns,
} from '../../../functions/workflow/table.ts';
import type { Finality } from '../../stack/catalog/ledger.ts';
import { daysView, type QueriedTable, restatementsView } from '../../stack/catalog/queries.ts';
import { UsageError } from '../place/errors.ts';

/** A table that a query can read. */
interface ReadableTable {
  /** In SQL. */
  readonly name: string;
  /** The part of the key after `tables/`. */
  readonly table: string;
  readonly folder: string;
  /** A query of all its rows. */
  readonly rows: string;
}

/** A table that local runs left in a folder. */
export interface LocalTable extends ReadableTable {
  /** The absolute path of its objects, as a literal of SQL. It has a wildcard. */
  readonly files: string;
}

/** The tables by name, with the ledger. @throws UsageError if two folders have the same table */
export function findTables(out: string): ReadonlyMap<string, LocalTable> {
  const folders = new Set(globSync(`*/${TABLES_PREFIX}*/*.parquet`, { cwd: out }).map(dirname));
  const tables = new Map<string, LocalTable>();
  for (const path of [...folders].sort()) {
    const [table, folder] = [basename(path), join(out, path)];
    if (!tableName.safeParse(table).success) continue;
    const name = catalogName(table);
    const same = tables.get(name);
    if (same) throw new UsageError([`${same.folder} and ${folder} both have the table ${name}; remove one`]);
    const files = literal(`${escapeGlob(resolve(folder))}/*.parquet`);
    const rows = `SELECT * FROM read_parquet(${files}, union_by_name = true)`;
    tables.set(name, { name, table, folder, files, rows });
  }
  return tables;
}

/**
 * The tables of reports that have no object, because somebody removed all of them. They have no rows, and the
 * ledger still knows their days.
 */
export function emptyTables(
  exports: readonly { readonly schema: TableSchema | undefined }[],
  out: string,
  present: ReadonlyMap<string, LocalTable>,
): (ReadableTable & { readonly schema: TableSchema })[] {
  const schemas = new Map(exports.flatMap(({ schema }) => (schema ? [[schema.table, schema] as const] : [])));
  const absent = [...schemas.values()].filter(
    ({ kind, table }) => kind === 'report' && !present.has(catalogName(table)),
  );
  return absent.map((schema) => {
    const { table } = schema;
    const columns = tableColumns(schema).map(
      ({ name, type }) => `CAST(NULL AS ${duckType(type)}) AS ${identifier(name)}`,
    );
    const rows = `SELECT ${columns} WHERE false`;
    return { name: catalogName(table), table, folder: join(out, TABLES_PREFIX, table), rows, schema };
  });
}

/**
 * The tables that a statement may read. A view reads the footer of each of its files, so tables that the
 * statement does not name are left out, unless it names none, such as SHOW TABLES.
 */
export function tablesNamedIn(sql: string, tables: ReadonlyMap<string, LocalTable>): readonly LocalTable[] {
  const words = new Set(sql.toLowerCase().match(/\w+/g));
  return [...tables.values()].filter(({ name }) =>
    [name, `${name}_days`, `${name}_restatements`].some((view) => words.has(view)),
  );
}

/** Finds an object that DuckDB cannot read in full. @returns its key; undefined if it can read all of them */
export async function findUnreadable(
  connection: DuckDBConnection,
  tables: readonly LocalTable[],
): Promise<string | undefined> {
  for (const { table, folder } of tables)
    for (const name of globSync('*.parquet', { cwd: folder }).sort()) {
      const path = literal(escapeGlob(resolve(folder, name)));
      const read = connection.run(`SELECT bit_xor(hash(row)) FROM read_parquet(${path}) AS row`);
      const isRead = await read.then(
        () => true,
        () => false,
      );
      if (!isRead) return `${TABLES_PREFIX}${table}/${name}`;
    }
  return undefined;
}

/**
 * Creates a view of each table, and two over the ledger for a report's, unless tables have their names.
 *
 * @param requestsOf a table: the hash of the configured request of each account
 */
export async function createViews(
  connection: DuckDBConnection,
  tables: readonly ReadableTable[],
  ledger: LocalTable | undefined,
  options: Finality,
  requestsOf: (table: string) => TableSchema['requests'],
): Promise<void> {
  const all = [...new Set([...(ledger ? [ledger] : []), ...tables])];
  const create = (name: string, sql: string) =>
    connection.run(`CREATE VIEW IF NOT EXISTS ${identifier(name)} AS ${sql}`);
  for (const { name, rows } of all) await create(name, rows);
  for (const { name, table } of ledger ? all : []) {
    const reader = await connection.runAndReadAll(`DESCRIBE ${identifier(name)}`);
    const columns = reader.getRows().map(([name, type]) => [String(name), String(type)] as const);
    for (const report of describeReport(table, columns)) {
      await create(`${name}_days`, daysView({ ...report, requests: requestsOf(table) }, options));
      await create(`${name}_restatements`, restatementsView(report));
    }
  }
}

type Described = readonly (readonly [name: string, type: string])[];

/** @returns nothing if it is not the table of a report */
export function describeReport(table: string, columns: Described): QueriedTable[] {
  const names = columns.map(([name]) => name);
  if (table === LEDGER || !names.includes('report_id') || !names.includes('report_created_at')) return [];
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

/** A path in which no character is a wildcard of DuckDB. */
function escapeGlob(path: string): string {
  return path.replace(/[*?[]/g, '[$&]');
}

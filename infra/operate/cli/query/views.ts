import { globSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { DuckDBConnection } from '@duckdb/node-api';
import { duckType } from '../../../../functions/tables/merge.ts';
import { identifier, literal } from '../../../../functions/tables/sql.ts';
import {
  type Column,
  type ColumnType,
  catalogName,
  LEDGER,
  RESERVED_COLUMNS,
  TABLES_PREFIX,
  type TableSchema,
  tableColumns,
} from '../../../../functions/workflow/table.ts';
import type { Finality } from '../../../stack/catalog/ledger-sql.ts';
import { daysView, type QueriedTable, restatementsView } from '../../../stack/catalog/queries.ts';
import { escapeGlob, type LocalTable, type ReadableTable } from '../../place/local-tables.ts';

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
 * Creates a view of each table, and two over the ledger for a report's, unless tables have their names. The
 * views are temporary, because the database may be one that is only read.
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
  const ofPerson = await connection.runAndReadAll(NAMES);
  const taken = new Set(ofPerson.getRows().map(([name]) => String(name).toLowerCase()));
  const ours = all.filter(({ name }) => !taken.has(name));
  const create = async (name: string, sql: string) => {
    if (taken.has(name)) return;
    taken.add(name);
    await connection.run(`CREATE TEMP VIEW ${identifier(name)} AS ${sql}`);
  };
  for (const { name, rows } of ours) await create(name, rows);
  for (const { name, table } of ledger && ours.includes(ledger) ? ours : []) {
    const reader = await connection.runAndReadAll(`DESCRIBE ${identifier(name)}`);
    const columns = reader.getRows().map(([name, type]) => [String(name), String(type)] as const);
    for (const report of findReportTable(table, columns)) {
      await create(`${name}_days`, daysView({ ...report, requests: requestsOf(table) }, options));
      await create(`${name}_restatements`, restatementsView(report));
    }
  }
}

/** The names that a query finds without a schema, before the temporary views. */
const NAMES = `SELECT table_name FROM information_schema.tables
  WHERE table_catalog = current_database() AND table_schema = current_schema()`;

type DescribedColumns = readonly (readonly [name: string, type: string])[];

/** @returns nothing if it is not the table of a report */
export function findReportTable(table: string, columns: DescribedColumns): QueriedTable[] {
  const names = columns.map(([name]) => name);
  if (table === LEDGER || !names.includes('report_id') || !names.includes('report_created_at')) return [];
  const currencies: Record<string, string> = names.includes('currency') ? { all: 'currency' } : {};
  return [{ table, kind: 'report', columns: columnsOfFile(columns), currencies }];
}

/** The columns that come from the platform's file. */
function columnsOfFile(columns: DescribedColumns): Column[] {
  return columns
    .filter(([name]) => !RESERVED_COLUMNS.includes(name))
    .map(([name, type]) => ({
      name,
      type: type === 'VARCHAR' ? 'string' : (type.toLowerCase() as ColumnType),
      from: name,
    }));
}

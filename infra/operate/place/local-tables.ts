import { globSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { literal } from '../../../functions/tables/sql.ts';
import { name as tableName } from '../../../functions/workflow/request/fields.ts';
import { catalogName, TABLES_PREFIX } from '../../../functions/workflow/table.ts';
import { UsageError } from './errors.ts';

/** A table that a query can read. */
export interface ReadableTable {
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

/** A path in which no character is a wildcard of DuckDB. */
export function escapeGlob(path: string): string {
  return path.replace(/[*?[]/g, '[$&]');
}

import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ObjectStore } from '../aws/objects.ts';
import { ServiceUnavailable } from '../workflow/errors.ts';
import { DAYS_KEY, readShownDays, type ShownDays } from '../workflow/shown-days.ts';
import type { TableColumn } from '../workflow/table.ts';
import { type Database, openDatabase } from './database.ts';
import { damagedObject, TableProblem } from './report.ts';
import { identifier, literal } from './sql.ts';

/** Writers of an object are runs of one export. A conflict means that another one has written it. */
const MAX_CONFLICTS = 10;

export interface Merging {
  readonly database: Database;
  readonly store: Pick<ObjectStore, 'getFile' | 'putFile'>;
  /** Takes the old object and the new one. */
  readonly folder: string;
  readonly signal: AbortSignal;
}

/**
 * Opens a database that writes objects of a table, without a limit of time. The database is closed, and its
 * folder removed, when it is disposed of.
 *
 * @param columns of the table
 */
export async function openMerging(
  store: Merging['store'],
  columns?: number,
): Promise<Merging & AsyncDisposable> {
  await using opening = new AsyncDisposableStack();
  const { signal } = new AbortController();
  const { path: folder } = opening.use(await mkdtempDisposable(join(tmpdir(), 'table-')));
  const database = opening.use(await openDatabase(folder, signal, columns));
  const opened = opening.move();
  return { database, store, folder, signal, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

/** The object of the bucket, on this disk. */
export interface OldObject {
  readonly path: string;
  /** DuckDB's types by name. */
  readonly columns: ReadonlyMap<string, string>;
  /** Undefined if the object has no such list. */
  readonly days: ShownDays | undefined;
}

/** The new object. */
export interface NewObject {
  /** As a query. */
  readonly rows: string;
  readonly days?: ShownDays;
}

/**
 * Replaces an object of a table by a new one that is made from it. If another writer has replaced it
 * meanwhile, this is repeated. A reader sees the old object or the new one.
 *
 * @param merge `next` is absent if the object stays as it is
 * @throws TableProblem, AccessRefused, ENOSPC; ServiceUnavailable if other writers are always faster
 */
export async function mergeObject<T>(
  { database, store, folder, signal }: Merging,
  key: string,
  merge: (old: OldObject | undefined) => Promise<{ readonly next?: NewObject; readonly result: T }>,
): Promise<T> {
  for (let tries = 0; tries < MAX_CONFLICTS; tries += 1) {
    // A path of its own, because DuckDB may remember what it read from a path.
    await using scratch = await mkdtempDisposable(join(folder, 'merge-'));
    const path = join(scratch.path, 'old.parquet');
    const etag = (await store.getFile(key, path, signal))?.etag;
    const build = async () => {
      const { next, result } = await merge(
        etag === undefined ? undefined : await readTableObject(database, path),
      );
      return { result, written: next && (await write(database, scratch.path, next)) };
    };
    const { result, written } = await build().catch((error: Error) => {
      // DuckDB's own error. It may not name the file, but the report's rows were read before.
      throw etag === undefined || error.name !== 'Error' ? error : damagedObject(key, error);
    });
    if (written === undefined || (await store.putFile(key, written, etag))) return result;
  }
  throw new ServiceUnavailable(`Other runs replaced ${key} ${MAX_CONFLICTS} times in a row.`, { key });
}

/** Reads the columns and the days of an object on this disk. */
export async function readTableObject(database: Database, path: string): Promise<OldObject> {
  const columns = await database.query(`DESCRIBE FROM ${parquet(path)}`);
  const [days] = await database.query(
    `SELECT decode(value) AS text FROM parquet_kv_metadata(${literal(path)}) WHERE decode(key) = ${literal(DAYS_KEY)}`,
  );
  return {
    path,
    columns: new Map(columns.map((row) => [String(row.column_name), String(row.column_type)])),
    days: days && readShownDays(String(days.text)),
  };
}

async function write(database: Database, folder: string, { rows, days }: NewObject): Promise<string> {
  const path = join(folder, 'new.parquet');
  const metadata = days ? `, KV_METADATA {${DAYS_KEY}: ${literal(JSON.stringify(days))}}` : '';
  await database.query(
    `COPY (${rows}) TO ${literal(path)} (${database.parquet}, COMPRESSION snappy${metadata})`,
  );
  return path;
}

/**
 * The rows of an object with a table's columns, as SQL. Columns that it lacks are NULL.
 *
 * @param values expressions for columns whose values do not come from the object
 * @param moreColumns names of columns of the object that the table does not have
 * @throws TableProblem if the object has a column with another type
 */
export function selectOld(
  { path, columns: types }: OldObject,
  columns: readonly TableColumn[],
  values: Readonly<Record<string, string>> = {},
  moreColumns: readonly string[] = [],
): string {
  const absent = columns.filter(({ name }) => !types.has(name));
  const changed = columns.find(
    ({ name, type }) =>
      !Object.hasOwn(values, name) && (types.get(name) ?? duckType(type)) !== duckType(type),
  );
  if (changed)
    throw new TableProblem(
      `column ${changed.name} is ${changed.type} now, but was written as ${types.get(changed.name)?.toLowerCase()}; run the command rebuild NAME, which names the days that no file gives again: they would be lost. Then remove the table's objects, and run rebuild NAME again`,
    );
  const nulls = absent.map(({ name, type }) => [name, `CAST(NULL AS ${duckType(type)})`]);
  const selected = [
    selectColumns(columns, { ...Object.fromEntries(nulls), ...values }),
    ...moreColumns.map(identifier),
  ];
  return `SELECT ${selected.join(', ')} FROM ${parquet(path)}`;
}

/** Columns as a list of SQL. @param values expressions for columns that the rows do not have by name */
export function selectColumns(
  columns: readonly TableColumn[],
  values: Readonly<Record<string, string>>,
): string {
  const from = (name: string) => (Object.hasOwn(values, name) ? values[name] : identifier(name));
  return columns.map(({ name }) => `${from(name)} AS ${identifier(name)}`).join(', ');
}

/** @returns the days that an object shows @throws TableProblem if something else wrote it */
export function shownIn(old: OldObject | undefined, key: string): ShownDays {
  if (old && !old.days) throw damagedObject(key);
  return old?.days ?? {};
}

/** DuckDB's name of a type of the Data Catalog. */
export function duckType(type: TableColumn['type']): string {
  return type === 'string' ? 'VARCHAR' : type.toUpperCase();
}

/** A file, or all files of a pattern, as a relation of SQL. */
export function parquet(path: string): string {
  return `read_parquet(${literal(path)}, hive_partitioning = false)`;
}

/** One text as the value of all rows. DuckDB writes an ENUM as a string, and looks at no row for it. */
export function constant(text: string): string {
  return `${literal(text)}::ENUM(${literal(text)})`;
}

/** @param time in ISO 8601 @returns a TIMESTAMP in UTC, as SQL */
export function timestamp(time: string): string {
  return `TIMESTAMP ${literal(new Date(time).toISOString().slice(0, -1))}`;
}

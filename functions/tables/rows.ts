import type { Column } from '../workflow/table.ts';
import { castTo, castToDate } from './cast.ts';
import type { Database } from './database.ts';
import { MalformedJson, MESSAGE_CHARACTERS, type ReportFile } from './report.ts';
import { readText } from './report-file.ts';
import { identifier, literal } from './sql.ts';
import { findJsonFault } from './text.ts';

/** Rows of JSON that show which names are usual. */
const FIRST_ROWS = 1000;

/** The file is read a few times and removed. It is as small as Snappy with dictionaries, for less CPU. */
const READ_SOON = 'COMPRESSION lz4_raw, DICTIONARY_SIZE_LIMIT 1';

/** DuckDB's binding drops a byte order mark at the start of a text, so that a message could not show it. */
export const BEFORE_TEXT = '=';

/** Names of unusual rows that are looked at. The names of columns come first. */
const MAX_OTHER_NAMES = 1000;

/**
 * Columns of the staged file beside the table's, as SQL. No column of a table has a `$` in its name.
 *
 * - BAD_CELL: the number of the first column whose text does not fit, and the text after {@link BEFORE_TEXT}
 * - OTHER_NAMES: all names of the row, if they are not the usual names
 */
export const BAD_CELL = identifier('$bad_cell');
const OTHER_NAMES = identifier('$other_names');

/** Stands for all rows that have the same names in the same order. */
const SHAPE = identifier('$shape');

interface Staging {
  readonly path: string;
  readonly columns: readonly Column[];
  readonly isDated: boolean;
  readonly leftOut: readonly string[];
}

/** The rows of a file, as SQL: their `names` and `texts`, and whether they have the usual names in order. */
interface OpenedRows {
  readonly names: readonly string[];
  readonly rows: string;
}

/** Expressions of SQL for one column of the table. `text_3` and `value_3` are of the column number 3. */
interface StagedColumn {
  readonly name: string;
  /** The text of the row's field. */
  readonly text: string;
  /** The text as a value of the column's type; NULL if it does not fit. */
  readonly value: string;
  readonly isBad: string;
  /** The text of a bad cell, for a message. */
  readonly badCell: string;
}

/** A column whose field is inside of an object, and how many times a row has the field. */
interface InnerField {
  readonly from: string;
  readonly times: string;
  /** The column of the staged file, as SQL. */
  readonly column: string;
}

/**
 * Reads the texts of a file and writes their values into a Parquet file, in the order of the rows: the
 * columns by name, NULL where a text does not fit; and the columns that this file names.
 *
 * @param path of the Parquet file
 * @param columns the first is the date
 * @param isDated whether each row must have a date
 * @param leftOut days whose rows are left out. A name that only such rows have is not returned, unless all
 *   rows are left out
 * @returns the names of the file, or many of them; and the `from` of a column whose field is inside of an
 *   object, if a row has it. A name or `from` that a row repeats is there twice
 * @throws DownloadRefused if the file is cut; MalformedJson if it does not parse; TableProblem
 */
export async function stageRows(
  database: Database,
  file: ReportFile,
  staging: Staging,
): Promise<readonly string[]> {
  try {
    const opened = await openRows(database, file);
    const fields = await writeRows(database, file, opened, staging);
    return await readNames(database, opened.names, fields, staging);
  } catch (error) {
    if (!(error instanceof MalformedJson) || file.layout === 'csv') throw error;
    throw (await findJsonFault(readText(file.path), error.reason)) ?? error;
  }
}

/** @returns the fields that are inside of objects */
async function writeRows(
  database: Database,
  file: ReportFile,
  { names, rows }: OpenedRows,
  { path, columns: tableColumns, isDated }: Staging,
): Promise<readonly InnerField[]> {
  const { columns, inner, objects } = describeColumns(file, names, tableColumns, isDated);
  const keys = 'CASE WHEN NOT is_usual THEN list_transform(names, lambda name: lower(name)) END AS keys';
  const texts = [
    ...columns.map(({ text }, number) => `${text} AS text_${number}`),
    ...inner.map(({ times, column }) => `${times} AS ${column}`),
    `CASE WHEN NOT is_usual THEN names END AS ${OTHER_NAMES}`,
  ];
  const values = columns.map(({ value }, number) => `${value} AS value_${number}`);
  const badCells = columns.map(({ isBad, badCell }) => `WHEN ${isBad} THEN ${badCell}`);
  const written = [
    ...columns.map(({ name }, number) => `value_${number} AS ${identifier(name)}`),
    ...inner.map(({ column }) => column),
    `CASE ${badCells.join(' ')} END AS ${BAD_CELL}`,
    OTHER_NAMES,
  ];
  const steps = [
    nameStep('file_rows', rows),
    nameStep('keyed_rows', `SELECT *, ${keys} FROM file_rows`),
    nameStep('opened_rows', `SELECT ${['*', ...objects]} FROM keyed_rows`),
    nameStep('text_rows', `SELECT ${texts} FROM opened_rows`),
    nameStep('value_rows', `SELECT ${['*', ...values]} FROM text_rows`),
  ];
  await database.query(
    `COPY (WITH ${steps} SELECT ${written} FROM value_rows) TO ${literal(path)} (${database.parquet}, ${READ_SOON})`,
  );
  return inner;
}

/** DuckDB would keep the result of each step in memory otherwise. */
function nameStep(name: string, query: string): string {
  return `${name} AS NOT MATERIALIZED (${query})`;
}

/** Expressions of SQL for the columns of a file's rows. */
interface DescribedColumns {
  readonly columns: readonly StagedColumn[];
  readonly inner: readonly InnerField[];
  /** The names in objects that hold fields, as columns. `inner` needs them. */
  readonly objects: readonly string[];
}

/** @param usualNames the names of most rows, in their order */
function describeColumns(
  { layout }: ReportFile,
  usualNames: readonly string[],
  tableColumns: readonly Column[],
  isDated: boolean,
): DescribedColumns {
  const usualKeys = usualNames.map((name) => name.toLowerCase());
  const textOf = (key: string) =>
    // Reading a text by its position takes less time than by its name.
    `CASE WHEN is_usual THEN texts[${usualKeys.indexOf(key) + 1}]
      ELSE texts[list_position(keys, ${literal(key)})] END`;
  const objects = createObjectNames();
  const columns: StagedColumn[] = [];
  const inner: InnerField[] = [];
  for (const [number, column] of tableColumns.entries()) {
    const { from } = column;
    const field = textOf(from.toLowerCase());
    const place = layout === 'csv' ? undefined : pathInObject(from);
    if (!place) {
      columns.push(stageColumn(column, number, field, isDated));
      continue;
    }
    const object = textOf(place.outer.toLowerCase());
    const text = `coalesce(${field}, ${valueInside(place.inner, object)})`;
    columns.push(stageColumn(column, number, text, isDated));
    const times = timesInside(place.inner, object, objects.columnOf);
    inner.push({ from, times, column: identifier(`$times_${number}`) });
  }
  return { columns, inner, objects: objects.selected() };
}

/** @param isDated the first column, which is the date, must have a value */
function stageColumn({ name, type }: Column, number: number, text: string, isDated: boolean): StagedColumn {
  const isDate = number === 0;
  const column = `text_${number}`;
  const isRequired = isDate ? String(isDated) : `${column} IS NOT NULL`;
  const shown = `'${BEFORE_TEXT}' || left(${column}, ${MESSAGE_CHARACTERS + 1})`;
  return {
    name,
    text,
    value: isDate ? castToDate(column) : castTo(type, column),
    isBad: type === 'string' && !isDate ? 'false' : `value_${number} IS NULL AND ${isRequired}`,
    badCell: `{"column": ${number}, value: ${shown}}`,
  };
}

/** Several columns may be in the same object: its names are read once. */
function createObjectNames() {
  const columns = new Map<string, string>();
  return {
    /** @param names an expression of SQL: the names in an object @returns the column that has its value */
    columnOf(names: string): string {
      const column = columns.get(names) ?? `object_${columns.size}`;
      columns.set(names, column);
      return column;
    },
    selected: () => [...columns].map(([names, column]) => `${names} AS ${column}`),
  };
}

/**
 * Reads the names of the rows that count: without the rows of days that the report leaves out, unless there
 * are no others.
 */
async function readNames(
  database: Database,
  usualNames: readonly string[],
  fields: readonly InnerField[],
  staging: Staging,
): Promise<readonly string[]> {
  const { where, hasUsualRow } = await findCountingRows(database, staging);
  const usual = hasUsualRow ? usualNames : [];
  const others = await readOtherNames(database, staging, where);
  const outer = [...usual, ...others.flatMap(({ name, times }) => namesToAdd(name, times, usual))];
  const known = new Set(outer.map((name) => name.toLowerCase()));
  const inside = await countInside(database, staging.path, fields, where);
  const inner = inside.flatMap(({ from, times }) => {
    if (times > 1) return [from, from];
    return times === 1 && !known.has(from.toLowerCase()) ? [from] : [];
  });
  return [...outer, ...inner];
}

/**
 * @returns a condition of SQL for the rows that count, and whether one of them has the usual names. Without
 *   any row, the usual names are the names of the file
 */
async function findCountingRows(
  database: Database,
  { path, leftOut }: Staging,
): Promise<{ readonly where: string; readonly hasUsualRow: boolean }> {
  const counted = leftOut.length > 0 ? `(date IN (${leftOut.map(literal)})) IS NOT TRUE` : 'true';
  const [total] = await database.query(
    `SELECT count(*) AS rows, count(*) FILTER (${OTHER_NAMES} IS NULL) AS usual
     FROM ${literal(path)} WHERE ${counted}`,
  );
  if (total?.rows === '0') return { where: 'true', hasUsualRow: true };
  return { where: counted, hasUsualRow: total?.usual !== '0' };
}

/** @returns names of rows without the usual names, and how many times the row with most of a name has it */
async function readOtherNames(
  database: Database,
  { path, columns }: Staging,
  where: string,
): Promise<readonly { readonly name: string; readonly times: number }[]> {
  const keys = columns.map(({ from }) => from.toLowerCase());
  const others = await database.query(
    `WITH shape AS (
       SELECT any_value(${OTHER_NAMES}) AS names, hash(${OTHER_NAMES}) AS ${SHAPE} FROM ${literal(path)}
       WHERE ${OTHER_NAMES} IS NOT NULL AND ${where} GROUP BY ${SHAPE}),
     named AS (SELECT ${SHAPE}, unnest(names) AS name FROM shape),
     counted AS (SELECT name, count(*) AS times FROM named GROUP BY ${SHAPE}, name)
     SELECT name, max(times) AS times FROM counted
     GROUP BY name ORDER BY lower(name) IN (${keys.map(literal)}) DESC, name LIMIT ${MAX_OTHER_NAMES}`,
  );
  return others.map(({ name, times }) => ({ name: String(name), times: Number(times) }));
}

/** Once, or twice for a name that a row repeats, less the times that the usual names have it. */
function namesToAdd(name: string, times: number, usual: readonly string[]): string[] {
  const known = usual.filter((other) => other === name).length;
  return Array<string>(Math.max(0, Math.min(2, times) - known)).fill(name);
}

/** @returns the fields, and how many times the row that has the field most often has it */
async function countInside(
  database: Database,
  path: string,
  fields: readonly InnerField[],
  where: string,
): Promise<readonly { readonly from: string; readonly times: number }[]> {
  if (fields.length === 0) return [];
  const most = fields.map(({ column }, number) => `max(${column}) AS times_${number}`);
  const [row] = await database.query(`SELECT ${most} FROM ${literal(path)} WHERE ${where}`);
  return fields.map(({ from }, number) => ({ from, times: Number(row?.[`times_${number}`] ?? 0) }));
}

/**
 * The place of a field inside of an object, such as `metrics.spend`.
 *
 * @returns the name in the row, and the keys inside of its object; undefined for any other field
 */
export function pathInObject(
  from: string,
): { readonly outer: string; readonly inner: readonly string[] } | undefined {
  const [outer = '', ...inner] = from.split('.');
  return inner.length === 0 ? undefined : { outer, inner };
}

/** A pointer into a JSON text (RFC 6901), as a literal of SQL. */
function pointer(keys: readonly string[]): string {
  return literal(keys.map((key) => `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`).join(''));
}

/** SQL of the value in a JSON text, which may be any other text too. */
function valueInside(keys: readonly string[], text: string): string {
  return `CASE WHEN json_valid(${text}) THEN json_extract_string(${text}, ${pointer(keys)}) END`;
}

/**
 * SQL of the number of times that a text, which may be no JSON, has a field. If an object around the field is
 * repeated, this counts as the field.
 *
 * @param columnOfNames the column that has the value of an expression: the names in an object
 * @returns SQL that is 0, 1 or 2, where 2 stands for more too
 */
function timesInside(keys: readonly string[], text: string, columnOfNames: (sql: string) => string): string {
  const isRepeated = keys.map((key, depth) => {
    const names = columnOfNames(
      `CASE WHEN json_valid(${text}) THEN json_keys(${text}, ${pointer(keys.slice(0, depth))}) END`,
    );
    return `len(list_filter(${names}, lambda name: name = ${literal(key)})) > 1`;
  });
  const isThere = `CASE WHEN json_valid(${text}) THEN json_exists(${text}, ${pointer(keys)}) END`;
  return `CASE WHEN ${isRepeated.join(' OR ')} THEN 2 WHEN ${isThere} THEN 1 ELSE 0 END`;
}

/**
 * As a map, a row keeps the names that no column has; DuckDB drops them silently otherwise. A row that is no
 * object has no names.
 *
 * @returns as names those of the header, or of most of the first rows; twice one that is there twice
 */
async function openRows(database: Database, file: ReportFile): Promise<OpenedRows> {
  const { layout, header = [] } = file;
  const type = layout === 'csv' ? 'VARCHAR[]' : 'MAP(VARCHAR, VARCHAR)';
  const json = readJson(file, ['records=false', 'ignore_errors=true', `columns={fields: '${type}'}`]);
  if (layout === 'csv')
    return {
      names: header,
      rows: `SELECT NULL::VARCHAR[] AS names, fields AS texts, true AS is_usual FROM ${json}`,
    };
  // As a variable, because a literal of SQL cannot hold the character U+0000.
  await database.query(
    `SET VARIABLE usual_names = (SELECT names
       FROM (SELECT map_keys(fields) AS names, row_number() OVER () AS row
         FROM (SELECT fields FROM ${json} LIMIT ${FIRST_ROWS}))
       GROUP BY names ORDER BY count(*) DESC, min(row) LIMIT 1)`,
  );
  const [usual] = await database.query(`SELECT getvariable('usual_names') AS names`);
  const rows = `SELECT *, names IS NOT DISTINCT FROM getvariable('usual_names') AS is_usual
    FROM (SELECT map_keys(fields) AS names, map_values(fields) AS texts FROM ${json})`;
  return { names: (usual?.names ?? []) as string[], rows };
}

/** A table function. */
export function readJson(
  { path, layout }: ReportFile,
  options: readonly string[],
  name = 'read_json',
): string {
  // Unlike the others, this format takes items that are no objects.
  const format = layout === 'array' ? 'array' : layout === 'items' ? 'newline_delimited' : 'unstructured';
  return `${name}(${[literal(path), `format='${format}'`, ...options]})`;
}

import { join } from 'node:path';
import { ADVERTISER_COLUMN, type Column, type ColumnType, DATE_COLUMN } from '../workflow/table.ts';
import { type Database, identifier, literal } from './database.ts';
import type { ReportFile, ReportOptions } from './report.ts';
import {
  list,
  MESSAGE_CHARACTERS,
  openSource,
  readRows,
  type Source,
  shorten,
  UnreadableRows,
} from './source.ts';

/** Rows as values in a Parquet file. */
export interface StagedRows {
  /**
   * In the order of the report: `date`; the columns by name, NULL where a text does not fit; `bad column`, the number of the first
   * column that does not fit, -1 for the date, and `bad value`, its text; and `other names` (see {@link Source}).
   */
  readonly path: string;
  /** Those of the table, or the metrics of the request if there is none. */
  readonly columns: readonly Column[];
  /** All names of the file. */
  readonly names: readonly string[];
  /** Columns that the request asks for, but the file does not have. A file of JSON without rows has none. */
  readonly missing: readonly string[];
  readonly hasMetric: boolean;
  /** Fields that the table has no column for. */
  readonly unknown: readonly string[];
  /** The reasons why the names do not fit the columns. */
  readonly problems: readonly string[];
}

/** Names of unusual rows that are looked at, those of columns first. */
const MAX_OTHER_NAMES = 1000;

/**
 * Reads the texts and writes their values. A second time if something has to be left out, or if a name is spelled in another way
 * in some rows.
 *
 * @throws DownloadRefused if the file does not parse; UnreadableRows, CurateLimit
 */
export async function stageRows(
  database: Database,
  file: ReportFile,
  options: ReportOptions,
): Promise<StagedRows> {
  const path = join(options.folder, 'rows.parquet');
  let leftOut: string | undefined;
  for (let others: readonly string[] = []; ; ) {
    try {
      const source = await openSource(database, file, leftOut === undefined);
      const columns = matchColumns([...source.names, ...others], options);
      if (file.layout === 'csv' && columns.every(({ fields }) => fields.length === 0))
        throw new UnreadableRows(
          `the first line of the CSV file names no column: ${shorten(file.header ?? '')}`,
        );
      await readRows(database, copyRows(source, columns, path, options));
      const found = file.layout === 'csv' ? [] : await readOtherNames(database, path, columns);
      const names = [...source.names, ...found];
      const all = matchColumns(names, options);
      if (others.length > 0 || all.every((column, at) => fieldOf(column) === fieldOf(columns[at] as Matched)))
        return { path, names, ...judgeNames(names, all, options, leftOut) };
      others = found;
    } catch (error) {
      if (!(error instanceof UnreadableRows && error.isPartly) || leftOut !== undefined) throw error;
      leftOut = error.message;
    }
  }
}

/** A column and its names in the file, which may differ in case: the Data Catalog has only lower case. */
interface Matched extends Column {
  readonly fields: readonly string[];
}

/** The date column comes first. */
function matchColumns(names: readonly string[], { schema, columns }: ReportOptions): readonly Matched[] {
  const byKey = Map.groupBy(names, (name) => name.toLowerCase());
  const date: Column = { name: 'date', type: 'string', from: schema?.date_column ?? DATE_COLUMN };
  const own = schema?.columns ?? columns.filter(({ type }) => type !== 'string');
  return [date, ...own].map((column) => ({ ...column, fields: byKey.get(column.from.toLowerCase()) ?? [] }));
}

/** A name that only unusual rows have is most likely spelled like the column's. */
function fieldOf({ fields: [field], from }: Matched): string {
  return field ?? from;
}

function judgeNames(
  names: readonly string[],
  all: readonly Matched[],
  { schema, columns: wanted }: ReportOptions,
  leftOut: string | undefined,
): Omit<StagedRows, 'path' | 'names'> {
  const [, ...columns] = all;
  const asked = new Set(wanted.map(({ name }) => name));
  const isAsked = ({ name }: Column) => asked.has(name) && name !== ADVERTISER_COLUMN;
  const required = schema ? all.filter((column, at) => at === 0 || isAsked(column)) : columns;
  const repeated = all.filter(({ fields }) => fields.length > 1).flatMap(({ fields }) => fields);
  const known = new Set(all.flatMap(({ fields }) => fields));
  return {
    columns,
    missing: required.filter(({ fields }) => fields.length === 0).map(({ from }) => from),
    hasMetric: columns.some(
      (column) => column.type !== 'string' && isAsked(column) && column.fields.length > 0,
    ),
    unknown: [...new Set(names)].filter((name) => !known.has(name)),
    problems: [
      ...(leftOut === undefined ? [] : [leftOut]),
      ...(repeated.length === 0
        ? []
        : [`several fields have the same name, whatever its case: ${list(repeated)}`]),
    ],
  };
}

/** Writes nulls for a text that does not fit. */
function copyRows(
  { select }: Source,
  all: readonly Matched[],
  path: string,
  { schema }: ReportOptions,
): string {
  const texts = all.map((_, at) => `"text ${at}"`);
  const names = all.map(({ name }) => identifier(name));
  const values = all.map(({ type }, at) => {
    const text = `"text ${at}"`;
    return at === 0 ? castToDate(text) : castTo(type, text);
  });
  const isBad = all.map(({ type }, at) => {
    // Without a table, a date may be an hour, and no date is none of our business.
    if (at === 0) return schema ? 'date IS NULL' : 'false';
    return type === 'string' ? 'false' : `${names[at]} IS NULL AND ${texts[at]} IS NOT NULL`;
  });
  const pick = (then: (at: number) => string | number) =>
    `CASE ${isBad.map((is, at) => `WHEN ${is} THEN ${then(at)}`).join(' ')} END`;
  return `COPY (
    SELECT ${names}, ${pick((at) => at - 1)} AS "bad column",
      ${pick((at) => `left(${texts[at]}, ${MESSAGE_CHARACTERS + 1})`)} AS "bad value", "other names"
    FROM (SELECT *, ${values.map((value, at) => `${value} AS ${names[at]}`)} FROM (${select(all.map(fieldOf))}))
  ) TO ${literal(path)} (FORMAT parquet)`;
}

/** @returns the names of unusual rows; those that a row repeats, twice */
async function readOtherNames(
  database: Database,
  path: string,
  columns: readonly Column[],
): Promise<string[]> {
  const first = columns.map(({ from }) => literal(from.toLowerCase()));
  const found = await database.query(
    `SELECT name, max(times) AS times FROM (
       SELECT name, count(*) AS times FROM (
         SELECT unnest(names) AS name, hash(names) AS row FROM (
           SELECT DISTINCT "other names" AS names FROM ${literal(path)} WHERE "other names" IS NOT NULL))
       GROUP BY name, row)
     GROUP BY name ORDER BY lower(name) IN (${first}) DESC, name LIMIT ${MAX_OTHER_NAMES}`,
  );
  return found.flatMap(({ name, times }) => Array(Math.min(2, Number(times))).fill(String(name)));
}

/** Casts also accept blanks, `1_000`, `0x10` and `inf`. */
const NUMBER = String.raw`-?\d+(\.\d+)?([eE][+-]?\d+)?`;

/** A cast would drop the time of a timestamp. */
function castToDate(text: string): string {
  const value = `TRY_CAST(${text} AS DATE)`;
  return `CASE WHEN CAST(${value} AS VARCHAR) = ${text} THEN ${value} END`;
}

/** @returns an expression of SQL that is NULL for a text that does not fit. A decimal is rounded. */
function castTo(type: ColumnType, text: string): string {
  if (type === 'string') return text;
  const value = `TRY_CAST(${text} AS ${type})`;
  const isNumber = `regexp_full_match(${text}, '${NUMBER}')`;
  // 1e400 becomes infinity.
  if (type === 'double') return `CASE WHEN ${isNumber} AND isfinite(${value}) THEN ${value} END`;
  // Most texts equal those of their values, or begin them. Comparing takes less time than a pattern.
  const written = `CAST(${value} AS VARCHAR)`;
  const isPlain = `starts_with(${written}, ${text}) AND NOT ends_with(${text}, '.')`;
  if (type !== 'bigint') return `CASE WHEN ${isPlain} OR ${isNumber} THEN ${value} END`;
  // 5.0 and 1e5 are counts too, but a cast rounds 3.7 to 4. DuckDB reads a JSON number with a point as a double, which has lost
  // digits from 2^53 on.
  const isWhole = `${value} = TRY_CAST(${text} AS DOUBLE) AND abs(${value}) < ${2 ** 53}`;
  return `CASE WHEN ${written} = ${text} THEN ${value}
    WHEN ${isNumber} AND (NOT regexp_matches(${text}, '[.eE]') OR ${isWhole}) THEN ${value} END`;
}

import { identifier, literal } from '../workflow/sql.ts';
import type { Column, ColumnType } from '../workflow/table.ts';
import type { Database } from './database.ts';
import { MESSAGE_CHARACTERS, type ReportFile } from './report.ts';

/** Rows of JSON that show which names are usual. */
const FIRST_ROWS = 1000;

/** The file is read a few times and removed. It is as small as Snappy with dictionaries, for less CPU. */
const READ_SOON = 'COMPRESSION lz4_raw, DICTIONARY_SIZE_LIMIT 1';

/** Names of unusual rows that are looked at. The names of columns come first. */
const MAX_OTHER_NAMES = 1000;

/**
 * Reads the texts of a file and writes their values into a Parquet file, in the order of the rows: the
 * columns by name, NULL where a text does not fit; `bad cell`, the number of the first column that does not
 * fit, and its text; and `other names`, all names of a row if they are not the usual ones.
 *
 * @param path of the Parquet file
 * @param columns the first is the date
 * @param isDated whether each row must have a date
 * @returns the names of the file, or many of them; a name twice if a row repeats it
 * @throws DownloadRefused if the file does not parse; TableProblem
 */
export async function stageRows(
  database: Database,
  file: ReportFile,
  { path, columns, isDated }: { path: string; columns: readonly Column[]; isDated: boolean },
): Promise<readonly string[]> {
  const { names, rows } = await openRows(database, file);
  const keys = columns.map(({ from }) => from.toLowerCase());
  const usualKeys = names.map((name) => name.toLowerCase());
  const values = columns.map(({ name, type }, at) => {
    const key = keys[at] ?? '';
    const text = `"text ${at}"`;
    const value = identifier(name);
    const isBad = at === 0 ? String(isDated) : `${text} IS NOT NULL`;
    const cast = at === 0 ? castToDate(text) : castTo(type, text);
    return {
      text,
      // By its position, which takes less time than by its name.
      found: `CASE WHEN is_usual THEN texts[${usualKeys.indexOf(key) + 1}]
        ELSE texts[list_position(keys, ${literal(key)})] END AS ${text}`,
      value,
      cast: `${cast} AS ${value}`,
      isBad: type === 'string' && at > 0 ? 'false' : `${value} IS NULL AND ${isBad}`,
    };
  });
  const bad = values.map(
    ({ isBad, text }, at) =>
      `WHEN ${isBad} THEN {"column": ${at}, value: left(${text}, ${MESSAGE_CHARACTERS + 1})}`,
  );
  await database.query(
    `COPY (
      SELECT ${values.map(({ value }) => value)}, CASE ${bad.join(' ')} END AS "bad cell", "other names"
      FROM (SELECT *, ${values.map(({ cast }) => cast)}
        FROM (SELECT ${values.map(({ found }) => found)}, CASE WHEN NOT is_usual THEN names END AS "other names"
          FROM (SELECT *, CASE WHEN NOT is_usual THEN list_transform(names, lambda name: lower(name)) END AS keys
            FROM (${rows}))))
    ) TO ${literal(path)} (${database.parquet}, ${READ_SOON})`,
  );
  const others = await database.query(
    `SELECT name, max(times) AS times FROM (
       SELECT name, count(*) AS times FROM (
         SELECT unnest(names) AS name, "its shape" FROM (
           SELECT any_value("other names") AS names, hash("other names") AS "its shape" FROM ${literal(path)}
             WHERE "other names" IS NOT NULL GROUP BY "its shape"))
       GROUP BY name, "its shape")
     GROUP BY name ORDER BY lower(name) IN (${keys.map(literal)}) DESC, name LIMIT ${MAX_OTHER_NAMES}`,
  );
  const added = others.flatMap(({ name, times }) => {
    const known = names.filter((other) => other === name).length;
    return Array<string>(Math.max(0, Math.min(2, Number(times)) - known)).fill(String(name));
  });
  return [...names, ...added];
}

/**
 * As a map, a row keeps the names that no column has; DuckDB drops them silently otherwise. A row that is no
 * object has no names.
 *
 * @returns the names of the header, or of most of the first rows, twice one that is there twice; and a query
 *   of the rows: their `names` and `texts`, and whether they have the usual names in the usual order
 */
async function openRows(
  database: Database,
  file: ReportFile,
): Promise<{ readonly names: readonly string[]; readonly rows: string }> {
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
  // Most texts equal the text of their value, or begin it. Comparing takes less time than a pattern.
  const written = `CAST(${value} AS VARCHAR)`;
  const isPlain = `starts_with(${written}, ${text}) AND NOT ends_with(${text}, '.')`;
  if (type !== 'bigint') return `CASE WHEN ${isPlain} OR ${isNumber} THEN ${value} END`;
  // 5.0 and 1e5 are counts too, but a cast rounds 3.7 to 4. DuckDB reads a JSON number with a point as a
  // double, which has lost digits from 2^53 on.
  const isWhole = `${value} = TRY_CAST(${text} AS DOUBLE) AND abs(${value}) < ${2 ** 53}`;
  return `CASE WHEN ${written} = ${text} THEN ${value}
    WHEN ${isNumber} AND (NOT regexp_matches(${text}, '[.eE]') OR ${isWhole}) THEN ${value} END`;
}

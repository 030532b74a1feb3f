import type { Column } from '../workflow/table.ts';
import { castTo, castToDate, scaleOf } from './casts.ts';
import { type Database, literal } from './database.ts';
import { type Match, type Matched, MESSAGE_CHARACTERS } from './match.ts';
import type { ReportFile } from './report.ts';
import { readJson, readRows, type Source } from './source.ts';

/**
 * Reads the texts once and writes their values into a Parquet file, which is a tenth of the size and can be read by day. Its
 * rows have the order of the report and the columns `day`; `c0`, `c1` and so on, NULL where a text does not fit; `bad`,
 * the number of the first column that does not fit, -1 for the date, with `bad_text`; `suspect` (see recheck); and
 * `other_names`.
 *
 * @param isDated whether each row must have a date
 * @returns names that the source does not know yet: the rows must then be read again
 * @throws DownloadRefused if the file does not parse, CurateLimit
 */
export async function stageRows(
  database: Database,
  path: string,
  { source, match, isDated }: { source: Source; match: Match; isDated: boolean },
): Promise<string[]> {
  const all = [match.date, ...match.columns];
  const names = all.flatMap(({ source: name }) => name ?? []);
  const [date = '', ...texts] = all.map(({ source: name }) =>
    name === undefined ? 'CAST(NULL AS VARCHAR)' : `t${names.indexOf(name)}`,
  );
  const values = match.columns.map((column, index) => ({
    ...column,
    value: `c${index}`,
    text: texts[index] ?? '',
  }));
  const casts = values.map(({ type, text, round, value }) => `${castTo(type, text, round)} AS ${value}`);
  const isBad = [
    isDated ? 'day IS NULL' : 'false',
    ...values.map(({ type, value, text }) =>
      type === 'string' ? 'false' : `${value} IS NULL AND ${text} IS NOT NULL`,
    ),
  ];
  const pick = (then: (index: number) => string | number) =>
    `CASE ${isBad.map((is, index) => `WHEN ${is} THEN ${then(index)}`).join(' ')} END`;
  // With CASE, DuckDB stops at the first condition that decides.
  const isSuspect = `CASE WHEN ${['false', ...values.flatMap(suspect)].join(' OR ')} THEN true END`;
  await readRows(
    database,
    `COPY (
      SELECT ${['day', ...values.map(({ value }) => value)]}, ${isSuspect} AS suspect,
        ${pick((index) => index - 1)} AS bad,
        ${pick((index) => `left(${[date, ...texts][index]}, ${MESSAGE_CHARACTERS + 1})`)} AS bad_text, other_names
      FROM (SELECT *, ${[`${castToDate(date)} AS day`, ...casts]} FROM (${source.select(names)}))
    ) TO ${literal(path)} (FORMAT parquet)`,
  );
  const known = Map.groupBy(source.names, (name) => name);
  // Once for a name, and twice if a row repeats it.
  const repeated = 'list_filter(other_names, lambda name, place: list_position(other_names, name) < place)';
  const found = await database.query(
    `SELECT DISTINCT unnest(other_names) AS name, 1 AS times FROM ${literal(path)}
       UNION ALL SELECT DISTINCT unnest(${repeated}), 2 FROM ${literal(path)}`,
  );
  return found.flatMap(({ name, times }) => {
    const isKnown = (known.get(String(name))?.length ?? 0) >= Number(times);
    return isKnown ? [] : Array(Number(times)).fill(String(name));
  });
}

interface Value extends Column {
  /** Expressions of SQL. */
  readonly value: string;
  readonly text: string;
}

/** @returns conditions of SQL, true for a JSON text that DuckDB may have changed */
function suspect({ type, round, value, text }: Value): string[] {
  // Comparing takes a tenth of the time of looking at the first character.
  const isNested = `(${text} >= '[' AND ${text} < '\\' OR ${text} >= '{' AND ${text} < '|') AND json_valid(${text})`;
  if (type === 'string') return [`(${isNested})`];
  if (!type.startsWith('decimal') || round) return [];
  return [isLongDecimal(type, value, text)];
}

/** A double keeps 15 digits, so of a number below 1e9 it keeps six decimals. */
function isLongDecimal(type: string, value: string, text: string): string {
  return `(abs(${value}) >= 1e${15 - scaleOf(type)} AND contains(${text}, '.'))`;
}

/**
 * A query for the first value that DuckDB reads wrongly from JSON: `row`, `bad` (the number of its column) and `bad_text`.
 * As texts, the list `["a"]` and a name of the same characters are equal, and a number with a point has passed through a
 * double, which turns 99999999999.999999 into 100000000000.0. Only the row as it was written shows it. This reads the whole
 * file again, so it is for the rare file that has suspect values.
 */
export function recheck(file: ReportFile, columns: readonly Matched[]): string | undefined {
  const checks = columns.flatMap((column, index) => {
    const check = checkOf(column);
    return check ? [{ ...check, index }] : [];
  });
  if (file.layout === 'csv' || checks.length === 0) return undefined;
  const bad = checks.map(({ isBad, index }) => `WHEN ${isBad} THEN ${index}`).join(' ');
  const texts = checks.map(({ text, index }) => `WHEN ${index} THEN ${text}`).join(' ');
  return `SELECT row, bad, left(CASE bad ${texts} END, ${MESSAGE_CHARACTERS + 1}) AS bad_text
    FROM (SELECT *, CASE ${bad} END AS bad
      FROM (SELECT row_number() OVER () AS row, json FROM ${readJson(file, [], 'read_json_objects')}))
    WHERE bad IS NOT NULL LIMIT 1`;
}

const NUMBER = String.raw`-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?`;
const STRING = String.raw`"(?:[^"\\]|\\.)*"`;

/** Matches the text of a row before one of its own names. Objects and lists in it, up to three deep, may have the same name. */
const BEFORE_NAME = String.raw`^\s*\{(?:${anything(3)})*?`;

function anything(depth: number): string {
  const flat = String.raw`[^{}\[\]"]|${STRING}`;
  return depth === 0 ? flat : String.raw`${flat}|[{\[](?:${anything(depth - 1)})*[}\]]`;
}

function checkOf({ type, round, source }: Matched): { isBad: string; text: string } | undefined {
  if (source === undefined) return undefined;
  const value = `json->>${literal(`$."${source.replaceAll(/["\\]/g, '\\$&')}"`)}`;
  if (type === 'string') {
    const isNested = `json_type(${value.replace('->>', ',')}) IN ('OBJECT', 'ARRAY')`;
    return { isBad: isNested, text: value };
  }
  if (!type.startsWith('decimal') || round) return undefined;
  const name = source.replaceAll(/[^\w]/g, '\\$&');
  const written = `regexp_extract(json, ${literal(`${BEFORE_NAME}"${name}"\\s*:\\s*"?(${NUMBER})`)}, 1)`;
  const isChanged = `TRY_CAST(${written} AS DECIMAL(38,18)) IS DISTINCT FROM TRY_CAST(${value} AS DECIMAL(38,18))`;
  const isLong = isLongDecimal(type, `TRY_CAST(${value} AS DOUBLE)`, value);
  return {
    isBad: `CASE WHEN ${isLong} THEN ${isChanged} END`,
    text: `coalesce(nullif(${written}, ''), ${value})`,
  };
}

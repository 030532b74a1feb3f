import type { Column } from '../workflow/table.ts';
import { castTo, castToDate, scaleOf } from './casts.ts';
import { type Database, literal } from './database.ts';
import { type Match, MESSAGE_CHARACTERS } from './match.ts';
import { readRows, type Source } from './source.ts';

/**
 * Reads the texts once and writes their values into a Parquet file, which is a tenth of the size and can be read by day. Its
 * rows have the order of the report and the columns `day`; `c0`, `c1` and so on, NULL where a text does not fit; `bad`,
 * the number of the first column that does not fit, -1 for the date, with `bad_text`; `suspect` (see recheck.ts); and
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
  const known = new Set(source.names);
  const found = await database.query(`SELECT DISTINCT unnest(other_names) AS name FROM ${literal(path)}`);
  return found.map(({ name }) => String(name)).filter((name) => !known.has(name));
}

interface Value extends Column {
  /** Expressions of SQL. */
  readonly value: string;
  readonly text: string;
}

/** A JSON text that may not be what was written. A double keeps 15 digits: six decimals of numbers below 1e9. */
function suspect({ type, round, value, text }: Value): string[] {
  // Comparing takes a tenth of the time of looking at the first character.
  const isNested = `(${text} >= '[' AND ${text} < '\\' OR ${text} >= '{' AND ${text} < '|') AND json_valid(${text})`;
  if (type === 'string') return [`(${isNested})`];
  if (!type.startsWith('decimal') || round) return [];
  return [`(abs(${value}) >= 1e${15 - scaleOf(type)} AND contains(${text}, '.'))`];
}

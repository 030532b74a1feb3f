import type { Column } from '../workflow/table.ts';
import { castTo, castToDate, scaleOf } from './casts.ts';
import { type Database, literal } from './database.ts';
import { type Match, MESSAGE_CHARACTERS } from './match.ts';
import { readRows, type Source } from './source.ts';

/**
 * Reads the texts once and writes their values into a Parquet file, which is a tenth of the size and can be read by day. Its
 * rows have the order of the report and the columns `day`; `c0`, `c1` and so on, NULL where a text does not fit; `bad`,
 * the number of the first column that does not fit, -1 for the date, with `bad_text`; and `suspect` (see recheck.ts).
 *
 * @param isDated whether each row must have a date
 * @throws DownloadRefused if the file does not parse, CurateLimit
 */
export async function stageRows(
  database: Database,
  path: string,
  { source, match, isDated }: { source: Source; match: Match; isDated: boolean },
): Promise<void> {
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
    ...values.map(({ value, text }) => `${value} IS NULL AND ${text} IS NOT NULL`),
  ];
  const pick = (then: (index: number) => string | number) =>
    `CASE ${isBad.map((is, index) => `WHEN ${is} THEN ${then(index)}`).join(' ')} END`;
  await readRows(
    database,
    `COPY (
      SELECT ${['day', ...values.map(({ value }) => value)]}, ${['false', ...values.flatMap(suspect)].join(' OR ')} AS suspect,
        ${pick((index) => index - 1)} AS bad,
        ${pick((index) => `left(${[date, ...texts][index]}, ${MESSAGE_CHARACTERS + 1})`)} AS bad_text
      FROM (SELECT *, ${[`${castToDate(date)} AS day`, ...casts]} FROM (${source.select(names)}))
    ) TO ${literal(path)} (FORMAT parquet)`,
  );
}

interface Value extends Column {
  /** Expressions of SQL. */
  readonly value: string;
  readonly text: string;
}

/** A JSON text that may not be what was written. A double keeps 15 digits: six decimals of numbers below 1e9. */
function suspect({ type, round, value, text }: Value): string[] {
  if (type === 'string') return [`((${text})[1] IN ('{', '[') AND json_valid(${text}))`];
  if (!type.startsWith('decimal') || round) return [];
  return [`(abs(${value}) >= 1e${15 - scaleOf(type)} AND contains(${text}, '.'))`];
}

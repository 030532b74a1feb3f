import type { ColumnType } from '../workflow/table.ts';

/** Expressions of SQL that turn a text into a value. They are NULL for a text that does not fit; DuckDB's casts are too kind. */

/** Casts also accept blanks, `1_000`, `0x10` and `inf`. */
const NUMBER = String.raw`-?\d+(\.\d+)?([eE][+-]?\d+)?`;

/** A cast would drop the time of a timestamp. */
export function castToDate(text: string): string {
  const value = `TRY_CAST(${text} AS DATE)`;
  return `CASE WHEN CAST(${value} AS VARCHAR) = ${text} THEN ${value} END`;
}

/** @param round accepts more digits than the type holds */
export function castTo(type: ColumnType, text: string, round = false): string {
  if (type === 'string') return text;
  if (type === 'bigint') return castToBigint(text, round);
  if (type === 'double') return castToDouble(text);
  return castToDecimal(type, text, round);
}

/**
 * Nearly all texts equal the text of their value; comparing them takes less time than a pattern. 5.0 and 1e5 are counts
 * too, but a cast rounds 3.7 to 4. DuckDB reads a JSON number with a point as a double, which has lost digits from 2^53 on.
 */
function castToBigint(text: string, round: boolean): string {
  const value = `TRY_CAST(${text} AS BIGINT)`;
  const isWhole = `${value} = TRY_CAST(${text} AS DOUBLE) AND abs(${value}) < ${2 ** 53}`;
  return `CASE WHEN CAST(${value} AS VARCHAR) = ${text} THEN ${value}
    WHEN ${matches(text, String.raw`-?\d+`)} THEN ${value}
    WHEN ${matches(text, NUMBER)} AND ${round ? 'true' : isWhole} THEN ${value} END`;
}

/** 1e400 becomes infinity. */
function castToDouble(text: string): string {
  const value = `TRY_CAST(${text} AS DOUBLE)`;
  return `CASE WHEN ${matches(text, NUMBER)} AND isfinite(${value}) THEN ${value} END`;
}

/**
 * A cast rounds. The text of the value has more zeros than nearly all texts, and is otherwise equal; the cast to 38 digits
 * takes a hundred times as long. The comparison of doubles finds decimals after the 18th, such as 1e-20.
 */
function castToDecimal(type: `decimal(${number},${number})`, text: string, round: boolean): string {
  const scale = scaleOf(type);
  // RE2 refuses {1,0}.
  const fraction = scale > 0 ? String.raw`(\.\d{1,${scale}}0*)?` : '';
  const value = `TRY_CAST(${text} AS ${type})`;
  const isExact = `${value} = TRY_CAST(${text} AS DECIMAL(38,18))
    AND CAST(${value} AS DOUBLE) = TRY_CAST(${text} AS DOUBLE)`;
  const isPlain = `starts_with(CAST(${value} AS VARCHAR), ${text}) AND NOT ends_with(${text}, '.')`;
  return `CASE WHEN ${isPlain} THEN ${value}
    WHEN ${matches(text, String.raw`-?\d+${fraction}`)} THEN ${value}
    WHEN ${matches(text, NUMBER)} AND ${round ? 'true' : isExact} THEN ${value} END`;
}

/** Digits after the point. */
export function scaleOf(decimal: string): number {
  return Number(decimal.slice(decimal.indexOf(',') + 1, -1));
}

function matches(text: string, pattern: string): string {
  return `regexp_full_match(${text}, '${pattern}')`;
}

import type { ColumnType } from '../workflow/table.ts';

// Texts of a file as values of a column, in SQL.

/** Casts also accept `1_000`, `0x10` and `inf`. */
const NUMBER = String.raw`[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?`;

/** A cast would drop the time of a timestamp. */
export function castToDate(text: string): string {
  const value = `TRY_CAST(${text} AS DATE)`;
  return `CASE WHEN CAST(${value} AS VARCHAR) = trim(${text}) THEN ${value} END`;
}

/**
 * @returns an expression of SQL that is NULL for a text that does not fit. It ignores blanks around a number
 *   and rounds a decimal
 */
export function castTo(type: ColumnType, text: string): string {
  if (type === 'string') return text;
  const value = `TRY_CAST(${text} AS ${type})`;
  const isNumber = `regexp_full_match(trim(${text}), '${NUMBER}')`;
  // 1e400 becomes infinity.
  if (type === 'double') return `CASE WHEN ${isNumber} AND isfinite(${value}) THEN ${value} END`;
  // Most texts equal the text of their value, or begin it. Comparing takes less time than a pattern.
  const written = `CAST(${value} AS VARCHAR)`;
  if (type !== 'bigint')
    return `CASE WHEN starts_with(${written}, ${text}) THEN ${value}
      WHEN NOT ${isNumber} THEN NULL
      WHEN regexp_matches(${text}, '[eE]') THEN TRY_CAST(${withoutExponent(text)} AS ${type})
      ELSE ${value} END`;
  // 5.0 and 1e5 are counts too, but a cast rounds 3.7 to 4. DuckDB reads a JSON number with a point as a
  // double, which has lost digits from 2^53 on.
  const isWhole = `${value} = TRY_CAST(${text} AS DOUBLE) AND abs(${value}) < ${2 ** 53}`;
  return `CASE WHEN ${written} = ${text} THEN ${value}
    WHEN ${isNumber} AND (NOT regexp_matches(${text}, '[.eE]') OR ${isWhole}) THEN ${value} END`;
}

/** Exponents that are written out with as many zeros. Those beyond it are 0, or larger than any decimal. */
const MAX_EXPONENT = 400;

/** SQL of the same number without an exponent: a cast to a decimal rounds 0.99e-7 twice, to 0.000001. */
function withoutExponent(text: string): string {
  const part = (group: number) =>
    String.raw`regexp_extract(${text}, '([+-]?)(\d*)\.?(\d*)[eE]([+-]?\d+)', ${group})`;
  const exponent = `coalesce(TRY_CAST(${part(4)} AS INTEGER), if(starts_with(${part(4)}, '-'), -1, 1) * ${MAX_EXPONENT})`;
  const shift = `greatest(least(${exponent}, ${MAX_EXPONENT}), -${MAX_EXPONENT})`;
  const zeros = `repeat('0', ${MAX_EXPONENT})`;
  const digits = `${zeros} || ${part(2)} || ${part(3)} || ${zeros}`;
  const point = `${MAX_EXPONENT} + length(${part(2)}) + ${shift}`;
  return `${part(1)} || ltrim(left(${digits}, ${point}), '0') || '.' || substr(${digits}, ${point} + 1)`;
}

import { literal } from './database.ts';
import { type Matched, MESSAGE_CHARACTERS } from './match.ts';
import type { ReportFile } from './report.ts';
import { readJson } from './source.ts';

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

function checkOf({ type, round, source }: Matched): { isBad: string; text: string } | undefined {
  if (source === undefined) return undefined;
  const value = `json->>${literal(`$."${source.replaceAll(/["\\]/g, '\\$&')}"`)}`;
  if (type === 'string') {
    const isNested = `json_type(${value.replace('->>', ',')}) IN ('OBJECT', 'ARRAY')`;
    return { isBad: isNested, text: value };
  }
  if (!type.startsWith('decimal') || round) return undefined;
  const name = source.replaceAll(/[^\w]/g, '\\$&');
  const written = `regexp_extract(json, ${literal(`"${name}"\\s*:\\s*(-?\\d+\\.\\d+([eE][+-]?\\d+)?)`)}, 1)`;
  const isChanged = `TRY_CAST(${written} AS DECIMAL(38,18)) <> TRY_CAST(${value} AS DECIMAL(38,18))`;
  return { isBad: isChanged, text: written };
}

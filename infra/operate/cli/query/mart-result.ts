import { readFileSync } from 'node:fs';
import Papa from 'papaparse';
import { type MartResult, UNTYPED } from '../../check/read-mart.ts';
import { UsageError } from '../../place/errors.ts';
import { checkOneQuery } from './one-query.ts';

/** Where the rows of a mart are: a query, or a file with the result of one. */
export type MartSource =
  | { readonly sql: string; readonly database?: string | undefined }
  | { readonly file: string };

/** The folder of local runs; without `local`, Athena has the tables. */
interface MartPlace {
  readonly local?: true;
  readonly out: string;
}

/**
 * Reads a mart. A query runs in Athena, or in DuckDB if it is about local tables or a person's database.
 *
 * @returns undefined if Ctrl-C stopped the query
 * @throws UsageError if the statement is no query, before it runs, or if the file is no table
 * @throws CommandFailed if the query fails
 */
export async function readMartResult(source: MartSource, place: MartPlace): Promise<MartResult | undefined> {
  if ('file' in source) return readCsv(source.file);
  const { sql, database } = source;
  if (place.local || database !== undefined) {
    const { runLocalQuery } = await import('./local.ts');
    const out = place.local ? place.out : undefined;
    return runLocalQuery(sql, out, { database, isQueryOnly: true });
  }
  const query = checkOneQuery(sql);
  const { readAthenaPlace, runAthenaQuery } = await import('./athena.ts');
  // As a part of another query, nothing but a query can run.
  return runAthenaQuery(`SELECT * FROM (\n${query}\n) AS "mart"`, await readAthenaPlace());
}

/** A file with a header. An empty field is NULL. */
function readCsv(file: string): MartResult {
  const text = readFileSync(file, 'utf8').replace(/^\uFEFF/, '');
  const { data, errors } = Papa.parse<string[]>(text, { skipEmptyLines: true });
  const [header = [], ...lines] = data;
  const [wrong] = errors.filter(({ type }) => type === 'Quotes');
  if (wrong) throw new UsageError([`${file} is no CSV file: ${wrong.message} in row ${wrong.row}`]);
  const uneven = lines.findIndex((line) => line.length !== header.length);
  if (uneven >= 0)
    throw new UsageError([
      `${file} is no CSV file with a header: row ${uneven + 1} has ${lines[uneven]?.length} fields, and the header ${header.length}`,
    ]);
  const rows = lines.map((line) => line.map((field) => (field === '' ? null : field)));
  return {
    columns: header.map((name) => ({ name: name.trim(), type: UNTYPED })),
    rows: (async function* () {
      yield rows;
    })(),
  };
}

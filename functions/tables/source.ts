import { DownloadRefused } from '../workflow/errors.ts';
import { type Database, identifier, literal, type Row } from './database.ts';
import type { ReportFile } from './report.ts';

/** The names of a file, and its rows as texts. */
export interface Source {
  /** Of the header, or of the usual rows. A name that is there twice is here twice. */
  readonly names: readonly string[];
  /**
   * A query for the values of these names, as `text 0`, `text 1` and so on, and for the list `other names`: those of a row whose
   * names are not the usual ones, or NULL.
   */
  readonly select: (names: readonly string[]) => string;
}

/** The rows cannot be read into columns. The file is delivered without its table. */
export class UnreadableRows extends Error {
  override readonly name = 'UnreadableRows';
  /** The file can be read without the fields or values that do not fit. */
  readonly isPartly: boolean;

  constructor(message: string, isPartly = false, options?: ErrorOptions) {
    super(message, options);
    this.isPartly = isPartly;
  }
}

/** Rows of JSON that show which names are usual. */
const FIRST_ROWS = 1000;

/** The contract has at most 200. DuckDB takes 32 KB for each. */
const MAX_CSV_FIELDS = 1000;

/** A message names so many fields, and shortens each name and value. */
const MAX_NAMES = 20;
export const MESSAGE_CHARACTERS = 40;

/**
 * Reads the names of a file.
 *
 * @param isStrict refuses fields of CSV beyond the header, and values of JSON that are no objects; otherwise they are left out
 * @throws DownloadRefused if the file is no report; UnreadableRows, CurateLimit
 */
export async function openSource(database: Database, file: ReportFile, isStrict: boolean): Promise<Source> {
  if (file.fault !== undefined) throw refused(file.fault);
  if (file.problem !== undefined) throw new UnreadableRows(file.problem);
  return file.layout === 'csv' ? openCsv(file, isStrict) : openJson(database, file, isStrict);
}

/**
 * As a map, a row keeps the names that no column has. DuckDB drops them silently otherwise. Where the names are the usual ones, in
 * the usual order, a value is found by its position, which takes less time than by its name.
 */
async function openJson(database: Database, file: ReportFile, isStrict: boolean): Promise<Source> {
  const rows = readJson(file, [
    'records=false',
    `columns={fields: 'MAP(VARCHAR, VARCHAR)'}`,
    `ignore_errors=${!isStrict}`,
  ]);
  const [usual] = await readRows(
    database,
    `SELECT map_keys(fields) AS names, hash(map_keys(fields))::VARCHAR AS hash
       FROM (SELECT fields FROM ${rows} LIMIT ${FIRST_ROWS}) GROUP BY ALL ORDER BY count(*) DESC, hash LIMIT 1`,
  );
  const names = (usual?.names ?? []) as string[];
  const text = (name: string, index: number) => {
    const at = names.indexOf(name) + 1;
    return `CASE WHEN is_usual THEN ${at > 0 ? `texts[${at}]` : 'NULL'} ELSE fields[${literal(name)}] END AS "text ${index}"`;
  };
  return {
    names,
    select: (
      wanted,
    ) => `SELECT ${[...wanted.map(text), 'CASE WHEN NOT is_usual THEN names END AS "other names"']}
      FROM (SELECT *, hash(names) = ${usual?.hash ?? 0}::UBIGINT AS is_usual
        FROM (SELECT fields, map_keys(fields) AS names, map_values(fields) AS texts FROM ${rows}))`,
  };
}

/** A table function. */
export function readJson(
  { path, layout }: ReportFile,
  options: readonly string[],
  name = 'read_json',
): string {
  const format = layout === 'array' ? 'array' : 'unstructured';
  return `${name}(${[literal(path), `format='${format}'`, ...options]})`;
}

/** DuckDB maps columns by position and ignores what a header says. Its own search for the header skips odd lines. */
function openCsv({ path, header = '' }: ReportFile, isStrict: boolean): Source {
  const fields = header.matchAll(/(?<=^|,)(?:"((?:[^"]|"")*)"|([^,]*))(?=,|$)/g);
  const names = Array.from(fields, ([, quoted, plain = '']) => quoted?.replaceAll('""', '"') ?? plain.trim());
  if (names.length > MAX_CSV_FIELDS)
    throw new UnreadableRows(`the first line of the CSV file has more than ${MAX_CSV_FIELDS} fields`);
  // Numbers as names, because two names may be equal.
  const columns = names.map((_, index) => `"${index}": 'VARCHAR'`);
  const syntax = [`delim=','`, `quote='"'`, `escape='"'`, 'auto_detect=false', 'header=true'];
  const rows = `read_csv(${[literal(path), ...syntax, `strict_mode=${isStrict}`, `columns={${columns}}`]})`;
  return {
    names,
    select(wanted) {
      const texts = wanted.map((name, index) => {
        const at = names.indexOf(name);
        return `${at < 0 ? 'NULL::VARCHAR' : identifier(String(at))} AS "text ${index}"`;
      });
      return `SELECT ${[...texts, 'NULL::VARCHAR[] AS "other names"']} FROM ${rows}`;
    },
  };
}

/**
 * Queries the file.
 *
 * @throws DownloadRefused if it does not parse, UnreadableRows, CurateLimit
 */
export async function readRows(database: Database, sql: string): Promise<readonly Row[]> {
  try {
    return await database.query(sql);
  } catch (error) {
    throw faultOf((error as Error).message) ?? error;
  }
}

/** DuckDB has no codes. Its readers of files name the file, its format or its encoding; other errors of a query do not. */
function faultOf(message: string): Error | undefined {
  const [, what] = /^Invalid(?: Input)? Error: (.*(?:file|CSV|JSON|unicode).*)/i.exec(message) ?? [];
  if (what === undefined) return undefined;
  // All quotes are closed, as readReportFile found: DuckDB says so of a line that does not fit into its buffer.
  if (/maximum_object_size|Maximum line size|unterminated quote/.test(message))
    return new UnreadableRows('a row is too long: one of JSON may have 16 MB, a line of CSV 2 MB');
  if (/Expected OBJECT/.test(message))
    return new UnreadableRows('the file is JSON, but not all of its rows are objects', true);
  const [, expected, found] = /Expected Number of Columns: (\d+) Found: (\d+)/.exec(message) ?? [];
  // A row with fewer fields may be cut off.
  if (Number(found) > Number(expected))
    return new UnreadableRows('rows of the CSV file have more fields than its first line', true);
  // About CSV, DuckDB's first line says where, a later one why. The rest is the line itself and advice about options.
  const [why = ''] = /^(Expected Number|Value with|Invalid unicode).*/m.exec(message) ?? [];
  const fault = `${what.replace(/ in file "[^"]*"/, '')} ${why}`.trim().slice(0, 300);
  return refused(`cannot be read: ${fault.replace(/\.+$/, '')}`);
}

export function refused(fault: string): DownloadRefused {
  return new DownloadRefused(`The file ${fault}. It is not a report.`);
}

/** Names for a message. */
export function list(names: readonly string[]): string {
  const more = names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : '';
  return (
    names
      .slice(0, MAX_NAMES)
      .map((name) => shorten(name))
      .join(', ') + more
  );
}

/** A name or a value for a message, as JSON, so that line breaks are visible. */
export function shorten(text: string, length = MESSAGE_CHARACTERS): string {
  return JSON.stringify(text.length > length ? `${text.slice(0, length).toWellFormed()}…` : text);
}

import { DownloadRefused } from '../workflow/errors.ts';
import { type Database, identifier, literal, type Row } from './database.ts';
import type { ReportFile } from './report.ts';

/** The names of a file, and its rows as texts. */
export interface Source {
  /** Of the header, or of the usual rows. A name that is there twice is here twice. */
  readonly names: readonly string[];
  /**
   * A query for the values of these names in lower case, as `text 0`, `text 1` and so on, and for the list `other names`: those of
   * a row whose names are not the usual ones, or NULL.
   */
  readonly select: (keys: readonly string[]) => string;
}

/** The rows cannot be read into columns. The file is delivered without its table. */
export class UnreadableRows extends Error {
  override readonly name = 'UnreadableRows';
}

/** Rows of JSON that show which names are usual. */
const FIRST_ROWS = 1000;

/** A request has at most 200. DuckDB takes 32 KB or more for each. */
const MAX_CSV_FIELDS = 500;

/** A message names so many fields, and shortens each name and value. */
const MAX_NAMES = 20;
export const MESSAGE_CHARACTERS = 40;

/**
 * Reads the names of a file.
 *
 * @throws DownloadRefused if the file does not parse; UnreadableRows, CurateLimit
 */
export async function openSource(database: Database, file: ReportFile): Promise<Source> {
  return file.layout === 'csv' ? openCsv(file) : openJson(database, file);
}

/**
 * As a map, a row keeps the names that no column has; DuckDB drops them silently otherwise. Where the names are the usual ones, in
 * the usual order, a value is found by its position, which takes less time than by its name. A row that is no object has no names.
 */
async function openJson(database: Database, file: ReportFile): Promise<Source> {
  const map = ['records=false', 'ignore_errors=true', `columns={fields: 'MAP(VARCHAR, VARCHAR)'}`];
  const rows = readJson(file, map);
  const [usual] = await readRows(
    database,
    `SELECT map_keys(fields) AS names, hash(map_keys(fields))::VARCHAR AS hash
       FROM (SELECT fields FROM ${rows} LIMIT ${FIRST_ROWS}) GROUP BY ALL ORDER BY count(*) DESC, hash LIMIT 1`,
  );
  const names = (usual?.names ?? []) as string[];
  const usualKeys = names.map((name) => name.toLowerCase());
  const text = (key: string, index: number) => `CASE WHEN is_usual THEN texts[${usualKeys.indexOf(key) + 1}]
    ELSE texts[list_position(keys, ${literal(key)})] END AS "text ${index}"`;
  return {
    names,
    select: (keys) => `SELECT ${[...keys.map(text), 'CASE WHEN NOT is_usual THEN names END AS "other names"']}
      FROM (SELECT *, CASE WHEN NOT is_usual THEN list_transform(names, lambda name: lower(name)) END AS keys
        FROM (SELECT *, hash(names) = ${usual?.hash ?? 0}::UBIGINT AS is_usual
          FROM (SELECT map_keys(fields) AS names, map_values(fields) AS texts FROM ${rows})))`,
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

/**
 * DuckDB maps columns by position and ignores what a header says. Its own search for the header skips odd lines. If it is not
 * strict, it leaves out fields beyond the header.
 */
function openCsv({ path, header = '', isRagged = false }: ReportFile): Source {
  const fields = header.matchAll(/(?<=^|,) *(?:"((?:[^"]|"")*)"|([^,]*)) *(?=,|$)/g);
  const names = Array.from(fields, ([, quoted, plain = '']) => quoted?.replaceAll('""', '"') ?? plain.trim());
  if (names.length > MAX_CSV_FIELDS)
    throw new UnreadableRows(`the first line of the CSV file has more than ${MAX_CSV_FIELDS} fields`);
  const keys = names.map((name) => name.toLowerCase());
  // Numbers as names, because two names may be equal.
  const columns = names.map((_, index) => `"${index}": 'VARCHAR'`);
  const syntax = [`delim=','`, `quote='"'`, `escape='"'`, 'auto_detect=false', 'header=true'];
  const rows = `read_csv(${[literal(path), ...syntax, `strict_mode=${!isRagged}`, `columns={${columns}}`]})`;
  const text = (key: string, index: number) =>
    `${keys.includes(key) ? identifier(String(keys.indexOf(key))) : 'NULL::VARCHAR'} AS "text ${index}"`;
  return {
    names,
    select: (wanted) => `SELECT ${[...wanted.map(text), 'NULL::VARCHAR[] AS "other names"']} FROM ${rows}`,
  };
}

/**
 * Queries the file.
 *
 * @throws DownloadRefused if it does not parse; UnreadableRows, CurateLimit
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
  if (message.includes('maximum_object_size'))
    return new UnreadableRows('a row of the file is longer than 16 MB');
  // About CSV, DuckDB's first line says where, a later one why. The rest is the line itself and advice about options.
  const [why = ''] = /^(Expected Number|Invalid unicode).*/m.exec(message) ?? [];
  const fault = `${what.replace(/ in file "[^"]*"|Parse errors cannot.*/g, '')} ${why}`.trim().slice(0, 300);
  return refused(`cannot be read: ${fault.replace(/[\s.]+$/, '')}`);
}

export function refused(fault: string): DownloadRefused {
  return new DownloadRefused(`The file ${fault}. It is not a report.`);
}

/** Names for a message. @param unseen the number of other names */
export function list(names: readonly string[], unseen = 0): string {
  const rest = Math.max(0, names.length - MAX_NAMES) + unseen;
  const more = rest > 0 ? ` and ${rest} more` : '';
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

import { DownloadRefused } from '../workflow/errors.ts';
import { type Database, identifier, literal, type Row } from './database.ts';
import type { ReportFile } from './report.ts';

/** The names of a file, and its rows as texts. */
export interface Source {
  /** As the file spells them. A CSV header may name a column twice. */
  readonly names: readonly string[];
  /** A query for the values of these names, as columns t0, t1 and so on. */
  readonly select: (names: readonly string[]) => string;
  /** The first line of a CSV file without a header. */
  readonly headless?: string;
}

/**
 * Reads the names in all rows.
 *
 * @param isKnown whether the table or the request has a column of this name
 * @throws DownloadRefused if the file is not a report, CurateLimit
 */
export async function openSource(
  database: Database,
  file: ReportFile,
  isKnown: (name: string) => boolean,
): Promise<Source> {
  if (file.fault !== undefined) throw refused(file.fault);
  return file.layout === 'csv' ? openCsv(file, isKnown) : openJson(database, file);
}

/** As a map, a row keeps the names that no column has. DuckDB drops them silently otherwise. */
async function openJson(database: Database, file: ReportFile): Promise<Source> {
  const fields = readJson(file, ['records=false', `columns={fields: 'MAP(VARCHAR, VARCHAR)'}`]);
  const sql = `SELECT DISTINCT unnest(map_keys(fields)) AS name FROM ${fields} ORDER BY 1`;
  const rows = await readRows(database, sql);
  return {
    names: rows.map(({ name }) => String(name)),
    select(names) {
      // DuckDB counts no rows without a column.
      const columns = varchars(names.length > 0 ? names : ['none']);
      return `SELECT ${texts(names)} FROM ${readJson(file, [`columns=${columns}`])}`;
    },
  };
}

/** A table function. */
export function readJson(
  { path, layout }: ReportFile,
  options: readonly string[],
  name = 'read_json',
): string {
  const format = layout === 'array' ? 'array' : 'unstructured';
  return `${name}(${[literal(path), "compression='zstd'", `format='${format}'`, ...options]})`;
}

/** DuckDB maps columns by position and ignores what a header says. Its own search for the header skips odd lines. */
function openCsv(file: ReportFile, isKnown: (name: string) => boolean): Source {
  const header = splitLine(file.header ?? '');
  const isHeader = header.some(isKnown);
  const names = isHeader ? header : header.map((_, index) => `column ${index + 1}`);
  // Numbers as names, because two names may be equal.
  const columns = varchars(names.map((_, index) => String(index)));
  const rows = readCsv(file, [`header=${isHeader}`, `columns=${columns}`]);
  return {
    names,
    select: (wanted) => `SELECT ${texts(wanted.map((name) => String(names.indexOf(name))))} FROM ${rows}`,
    ...(!isHeader && { headless: file.header ?? '' }),
  };
}

function texts(names: readonly string[]): string {
  return names.map((name, index) => `${identifier(name)} AS t${index}`).join(', ') || '1';
}

function readCsv({ path }: ReportFile, options: readonly string[]): string {
  const syntax = [`delim=','`, `quote='"'`, `escape='"'`, 'auto_detect=false'];
  return `read_csv(${[literal(path), "compression='zstd'", ...syntax, ...options]})`;
}

function splitLine(line: string): string[] {
  const fields = line.matchAll(/(?<=^|,)(?:"((?:[^"]|"")*)"|([^,]*))(?=,|$)/g);
  return Array.from(fields, ([, quoted, plain = '']) => quoted?.replaceAll('""', '"') ?? plain.trim());
}

function varchars(names: readonly string[]): string {
  return `{${names.map((name) => `${identifier(name)}: 'VARCHAR'`).join(', ')}}`;
}

/**
 * Queries the file.
 *
 * @throws DownloadRefused if it does not parse
 */
export async function readRows(database: Database, sql: string): Promise<readonly Row[]> {
  try {
    return await database.query(sql);
  } catch (error) {
    const { message } = error as Error;
    // Errors of the SQL have other names, such as Binder Error.
    const [, what] = /^Invalid(?: Input)? Error: (.*)/.exec(message) ?? [];
    if (what === undefined) throw error;
    // Of CSV, the first line tells only where. Between the two are the line itself and advice about DuckDB's options.
    const [why = ''] = /^(Expected Number|Value with|Invalid unicode).*/m.exec(message) ?? [];
    throw refused(`cannot be read: ${`${what.replace(/ in file "[^"]*"/, '')} ${why}`.trim().slice(0, 300)}`);
  }
}

export function refused(fault: string): DownloadRefused {
  return new DownloadRefused(`The file ${fault}. It is not a report.`);
}

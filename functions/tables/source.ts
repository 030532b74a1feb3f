import { DownloadRefused } from '../workflow/errors.ts';
import { type Database, identifier, literal, type Row } from './database.ts';
import { shorten } from './match.ts';
import type { ReportFile } from './report.ts';

/** The names of a file, and its rows as texts. */
export interface Source {
  /** As the file spells them. A name that a CSV header or a JSON object repeats is here twice. */
  readonly names: readonly string[];
  /**
   * A query for the values of these names, as columns t0, t1 and so on, and for the list `other_names`: those of a row whose
   * names differ from the first row's, or NULL.
   */
  readonly select: (names: readonly string[]) => string;
  /** The reason why the rows of CSV cannot be read into columns. */
  readonly problem?: string;
}

/** Rows of JSON whose names are read beforehand. A name that comes later costs a second pass. */
const FIRST_ROWS = 1000;

/**
 * Reads the names in the first rows.
 *
 * @param more names in other rows, if they are known
 * @throws DownloadRefused if the file is not a report, CurateLimit
 */
export async function openSource(
  database: Database,
  file: ReportFile,
  more: readonly string[] = [],
): Promise<Source> {
  if (file.fault !== undefined) throw refused(file.fault);
  return file.layout === 'csv' ? openCsv(file) : openJson(database, file, more);
}

/**
 * As a map, a row keeps the names that no column has. DuckDB drops them silently otherwise. Where the names are those of the
 * first row, in the same order, a value is found by its position, which takes less time than by its name.
 */
async function openJson(database: Database, file: ReportFile, more: readonly string[]): Promise<Source> {
  const fields = readJson(file, ['records=false', `columns={fields: 'MAP(VARCHAR, VARCHAR)'}`]);
  const rows = await readRows(
    database,
    `SELECT map_keys(fields) AS names FROM ${fields} LIMIT ${FIRST_ROWS}`,
  );
  const lists = rows.map(({ names }) => (names ?? []) as string[]);
  const [first = []] = lists;
  const names = new Set([...lists, more].flat());
  const repeated = new Set([...lists, more].flatMap(repeats));
  const text = (name: string, index: number) =>
    `CASE WHEN is_usual THEN texts[${first.indexOf(name) + 1}] ELSE fields[${literal(name)}] END AS t${index}`;
  return {
    names: [...names, ...repeated].sort(),
    select: (names) => `SELECT ${[...names.map(text), 'CASE WHEN NOT is_usual THEN names END AS other_names']}
      FROM (SELECT *, names = [${first.map(literal)}]::VARCHAR[] AS is_usual
        FROM (SELECT fields, map_keys(fields) AS names, map_values(fields) AS texts FROM ${fields}))`,
  };
}

function repeats(names: readonly string[]): string[] {
  return names.filter((name, index) => names.indexOf(name) < index);
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
function openCsv(file: ReportFile): Source {
  const header = splitLine(file.header ?? '');
  const isHeader = !file.headless;
  const names = isHeader ? header : header.map((_, index) => `column ${index + 1}`);
  // Numbers as names, because two names may be equal.
  const columns = varchars(names.map((_, index) => String(index)));
  const rows = readCsv(file, [`header=${isHeader}`, `columns=${columns}`]);
  return {
    names,
    select(wanted) {
      const texts = wanted.map((name, index) => `${identifier(String(names.indexOf(name)))} AS t${index}`);
      return `SELECT ${[...texts, 'NULL::VARCHAR[] AS other_names']} FROM ${rows}`;
    },
    ...(!isHeader && {
      problem: `the CSV file has no header; its first line is ${shorten(file.header ?? '')}`,
    }),
  };
}

/** Only counts the lines of a CSV file that has other delimiters than commas. */
export function openLines(file: ReportFile, problem: string): Source {
  // No text has these delimiters.
  const syntax = [`delim='\x1f'`, `quote=''`, `escape=''`, 'auto_detect=false', `columns={line: 'VARCHAR'}`];
  const rows = `read_csv(${[literal(file.path), ...syntax, `header=${!file.headless}`]})`;
  return { names: [], select: () => `SELECT NULL::VARCHAR[] AS other_names FROM ${rows}`, problem };
}

function readCsv({ path }: ReportFile, options: readonly string[]): string {
  const syntax = [`delim=','`, `quote='"'`, `escape='"'`, 'auto_detect=false'];
  return `read_csv(${[literal(path), ...syntax, ...options]})`;
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
    // The readers of files name the file, its format or its encoding. Errors of the SQL may have the same beginning.
    const [, what] = /^Invalid(?: Input)? Error: (.*(?:file|CSV|JSON|unicode).*)/i.exec(message) ?? [];
    if (what === undefined) throw error;
    // About CSV, DuckDB's first line says where, a later one why. The rest is the line itself and advice about options.
    const [why = ''] = /^(Expected Number|Value with|Invalid unicode).*/m.exec(message) ?? [];
    const fault = `${what.replace(/ in file "[^"]*"/, '')} ${why}`.trim().slice(0, 300);
    throw refused(`cannot be read: ${fault.replace(/\.+$/, '')}`);
  }
}

export function refused(fault: string): DownloadRefused {
  return new DownloadRefused(`The file ${fault}. It is not a report.`);
}

import { toPrintable } from '../errors.ts';
import { alignColumns } from '../layout.ts';

/** A value of a result. Types whose values a JSON number cannot hold, such as decimals and bigints, are strings. */
export type Value = null | boolean | number | string | readonly Value[] | { readonly [name: string]: Value };

export interface QueryResult {
  /** `type` is the engine's name of it. Two columns may have the same name. */
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  readonly rows: readonly (readonly Value[])[];
  /** Facts for the person who waits, such as the bytes that the query read. */
  readonly note?: string;
}

export type Format = 'table' | 'json' | 'csv';

/** Prints the result on stdout, and the number of rows on stderr. */
export function printResult(result: QueryResult, format: Format): void {
  const { rows, note } = result;
  process.stdout.write(FORMATS[format](result));
  const count = rows.length === 1 ? '1 row' : `${rows.length} rows`;
  process.stderr.write(`${[count, note].filter(Boolean).join('; ')}\n`);
}

const FORMATS: Readonly<Record<Format, (result: QueryResult) => string>> = {
  table: formatTable,
  json: formatJson,
  csv: formatCsv,
};

const NUMBER = /^(u?(tiny|small|big|huge)?int(eger)?|decimal|double|float|real)\b/i;

/** Aligns numbers to the right. */
export function formatTable({ columns, rows }: QueryResult): string {
  const lines = [columns.map(({ name }) => name), ...rows.map((row) => row.map(cellText))];
  const numbers = columns.flatMap(({ type }, at) => (NUMBER.test(type) ? [at] : []));
  const table = alignColumns(
    lines.map((line) => line.map(toPrintable)),
    numbers,
  );
  return table.map((line) => `${line}\n`).join('');
}

function cellText(value: Value): string {
  if (value === null) return 'NULL';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** One document. A row is an object; a name that comes again gets a number, such as `spend_2`. */
export function formatJson({ columns, rows }: QueryResult): string {
  const names = distinctNames(columns.map(({ name }) => name));
  const document = {
    columns: columns.map(({ type }, at) => ({ name: names[at], type })),
    rows: rows.map((row) => Object.fromEntries(row.map((value, at) => [names[at], value]))),
  };
  return `${JSON.stringify(document)}\n`;
}

function distinctNames(names: readonly string[]): string[] {
  const taken = new Set<string>();
  return names.map((name) => {
    let distinct = name;
    for (let number = 2; taken.has(distinct); number += 1) distinct = `${name}_${number}`;
    taken.add(distinct);
    return distinct;
  });
}

/** RFC 4180. NULL is an empty field, and an empty text is `""`. */
export function formatCsv({ columns, rows }: QueryResult): string {
  const lines = [columns.map(({ name }) => name), ...rows];
  return lines.map((line) => `${line.map(csvField).join(',')}\r\n`).join('');
}

function csvField(value: Value): string {
  if (value === null) return '';
  const text = cellText(value);
  return text === '' || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

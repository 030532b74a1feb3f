import { toPrintable } from '../errors.ts';
import { fitsScreen, textWidth } from '../layout.ts';
import type { QueryResult, Value } from './result.ts';

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

/**
 * Pads each column to its widest cell. Numbers are aligned to the right. If that is wider than the screen, each field of a row has a
 * line of its own.
 */
export function formatTable({ columns, rows }: QueryResult, width?: number): string {
  const lines = [columns.map(({ name }) => name), ...rows.map((row) => row.map(cellText))];
  const printable = lines.map((line) => line.map(toPrintable));
  const widths = columns.map((_, at) => Math.max(...printable.map((line) => textWidth(line[at] ?? ''))));
  const pad = (cell: string, at: number) => {
    const space = ' '.repeat((widths[at] ?? 0) - textWidth(cell));
    return NUMBER.test(columns[at]?.type ?? '') ? space + cell : cell + space;
  };
  const table = printable.map((line) => line.map(pad).join('  ').trimEnd());
  return (fitsScreen(table, width) ? table : formatRecords(printable)).map((line) => `${line}\n`).join('');
}

/** An empty line is between two rows. */
function formatRecords([names = [], ...rows]: readonly (readonly string[])[]): string[] {
  return rows.flatMap((row, index) => [
    ...(index > 0 ? [''] : []),
    ...row.map((cell, at) => `${names[at]}: ${cell}`.trimEnd()),
  ]);
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

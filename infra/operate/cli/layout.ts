import stringWidth from 'string-width';
import { toPrintable, toPrintableJson } from '../place/errors.ts';

/** Writes lines, made safe for a terminal. The terminal breaks lines that are too long for it. */
export function printLines(lines: readonly string[], to: NodeJS.WritableStream = process.stdout): void {
  if (lines.length > 0) to.write(`${lines.map(toPrintable).join('\n')}\n`);
}

export function printMessage(message: string): void {
  printLines(message.split('\n'), process.stderr);
}

export function warn(message: string): void {
  printMessage(toPrintable(`warning: ${message}`));
}

/** The document of --json, in one line on stdout. */
export function printDocument(document: unknown): void {
  process.stdout.write(`${toPrintableJson(document)}\n`);
}

/**
 * Pads each column to its widest cell, as a terminal shows it.
 *
 * @param numbers the columns that are aligned to the right
 */
export function alignColumns(
  rows: readonly (readonly string[])[],
  numbers: readonly number[] = [],
): string[] {
  const widths = rows[0]?.map((_, column) =>
    rows.reduce((widest, row) => Math.max(widest, stringWidth(row[column] ?? '')), 0),
  );
  const pad = (cell: string, column: number) => {
    const space = ' '.repeat((widths?.[column] ?? 0) - stringWidth(cell));
    return numbers.includes(column) ? space + cell : cell + space;
  };
  return rows.map((row) => row.map(pad).join('  ').trimEnd());
}

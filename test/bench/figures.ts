/** Plain text in columns. The first columns have names and are aligned to the left, the others have figures. */
export function formatTable(rows: readonly (readonly string[])[], names: number): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const pad = (text: string, column: number) =>
    column < names ? text.padEnd(widths[column] ?? 0) : text.padStart(widths[column] ?? 0);
  return rows.map((row) => row.map(pad).join('  ')).join('\n');
}

/** A figure with its unit, and its ratio to another one, which has none itself. */
export function withRatio(figure: number, base: number | undefined, digits: number, unit = ''): string {
  const ratio = base === undefined || figure === base ? '' : ` (${(figure / base).toFixed(2)})`;
  return `${figure.toFixed(digits)}${unit}${ratio}`;
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  const [low = 0, high = 0] = [sorted[Math.ceil(middle) - 1], sorted[Math.floor(middle)]];
  return (low + high) / 2;
}

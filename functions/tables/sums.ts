import type { Column, TableColumn } from '../workflow/table.ts';
import { identifier, type Row } from './database.ts';
import type { DayFacts } from './report.ts';

/** A double has 15 digits, but the last ones of a sum depend on the order of the rows, which may change. */
const DOUBLE_DIGITS = 12;

/** The columns that are added up. */
export function metricsOf<C extends TableColumn>(columns: readonly C[]): C[] {
  return columns.filter(({ type }) => type === 'bigint' || type === 'double' || type.startsWith('decimal'));
}

/** SQL for the sum of each metric, by its name. The sum of a double is exact to its last digits with fsum only. */
export function sumExpressions(metrics: readonly Column[]): string[] {
  return metrics.map(({ name, type }) => {
    const sum = `${type === 'double' ? 'fsum' : 'sum'}(${identifier(name)})`;
    return `CAST(coalesce(${sum}, 0) AS VARCHAR) AS ${identifier(name)}`;
  });
}

/** @param row of a query with {@link sumExpressions} */
export function readSums(row: Row | undefined, metrics: readonly Column[]): DayFacts['sums'] {
  return Object.fromEntries(
    metrics.map(({ name, type }) => [name, plainSum(String(row?.[name] ?? 0), type)]),
  );
}

function plainSum(sum: string, type: Column['type']): string {
  if (type === 'double') return String(Number(Number(sum).toPrecision(DOUBLE_DIGITS)));
  // DuckDB writes a decimal(38,38) without the zero before its point.
  return sum.includes('.') ? sum.replace(/(?<!\d)\./, '0.').replace(/\.?0+$/, '') : sum;
}

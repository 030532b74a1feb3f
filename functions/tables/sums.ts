import type { Column } from '../workflow/table.ts';
import type { Row } from './database.ts';
import type { Sums } from './report.ts';
import { identifier } from './sql.ts';

/** A double has 15 digits, but the last ones of a sum depend on the order of the rows, which may change. */
const DOUBLE_DIGITS = 12;
const PLAIN = new Intl.NumberFormat('en', { maximumSignificantDigits: DOUBLE_DIGITS, useGrouping: false });

/** The columns that are added up. */
export function metricsOf(columns: readonly Column[]): Column[] {
  return columns.filter(({ type }) => type === 'bigint' || type === 'double' || type.startsWith('decimal'));
}

/**
 * The sum of each metric, as SQL. Only fsum is exact to the last digits of a double. The sums are numbered,
 * so a query may have columns of any name beside them.
 */
export function sumExpressions(metrics: readonly Column[]): string[] {
  return metrics.map(({ name, type }, number) => {
    const sum = `${type === 'double' ? 'fsum' : 'sum'}(${identifier(name)})`;
    return `CAST(coalesce(${sum}, if(count(*) = 0, 0, NULL)) AS VARCHAR) AS sum_${number}`;
  });
}

/** @param row of a query with {@link sumExpressions} of the same metrics */
export function readSums(row: Row, metrics: readonly Column[]): Sums {
  return Object.fromEntries(
    metrics.map(({ name, type }, number) => {
      const sum = row[`sum_${number}`];
      return [name, typeof sum === 'string' ? plainSum(sum, type) : null];
    }),
  );
}

function plainSum(sum: string, type: Column['type']): string {
  if (type === 'double') return PLAIN.format(Number(Number(sum).toPrecision(DOUBLE_DIGITS)));
  // DuckDB writes a decimal(38,38) without the zero before its point.
  return sum.includes('.') ? sum.replace(/(?<!\d)\./, '0.').replace(/\.?0+$/, '') : sum;
}

import type { ReportRequest } from '../workflow/request/request.ts';
import type { Comparison } from '../workflow/state-parts.ts';
import { columnName } from '../workflow/table.ts';

export function sayNoTotal(reason: string): string {
  return `the platform's total was not compared with the rows: ${reason}`;
}

export type Compared = Comparison['metrics'][number];

/** A sum of the rows of a day, beside the platform's own total. */
export interface ComparedDay extends Compared {
  readonly date: string;
}

/** The sums that differ by more than the request tolerates, the largest share of the total first. */
export function aboveTolerance(
  days: readonly ComparedDay[],
  tolerance: ReportRequest['reconcile_tolerance'] = {},
): ComparedDay[] {
  const shares = new Map(Object.entries(tolerance).map(([name, share]) => [columnName(name), share]));
  const shareOf = ({ difference, platform_total }: Compared) => Math.abs(difference / platform_total);
  return days
    .filter((day) => shareOf(day) > (shares.get(day.metric) ?? Number.POSITIVE_INFINITY))
    .toSorted((first, second) => shareOf(second) - shareOf(first));
}

/** Adds up what was compared, by metric. */
export function addByMetric(all: readonly Compared[]): Compared[] {
  return [...Map.groupBy(all, ({ metric }) => metric)].map(([metric, sums]) => {
    const sum = (name: Exclude<keyof Compared, 'metric'>) =>
      roundSum(sums.reduce((total, compared) => total + compared[name], 0));
    return {
      metric,
      rows_sum: sum('rows_sum'),
      platform_total: sum('platform_total'),
      difference: sum('difference'),
    };
  });
}

/** A sum of doubles may end with digits that none of them has. The ledger has ten decimals. */
function roundSum(sum: number): number {
  return Number(Number(sum.toPrecision(15)).toFixed(10));
}

import type { CheckedRun } from './ready.ts';
import type { DeliveredWindow } from './states.ts';

/** The namespace of the metrics in CloudWatch. Their only dimension is `service`, the stack's name. */
export const NAMESPACE = 'AdReportExport';

/**
 * Every metric and its unit. Each has an alarm. CloudWatch bills each combination of a metric and its
 * dimensions, so none is written for each export: the log line's properties name it.
 */
export const METRICS = {
  /** Windows that were delivered, but not written into their export's table. */
  TableProblems: 'Count',
  /** Days that a report would have emptied, and whose rows the table keeps. */
  DaysHeld: 'Count',
  /** Accounts whose windows were not there in time. */
  LateAccounts: 'Count',
} as const;
export type MetricName = keyof typeof METRICS;

/** The metrics of a call that are not 0. */
export type Measurement = Partial<Readonly<Record<MetricName, number>>>;

/** The fields that any step's output may have. */
type State = Partial<Pick<CheckedRun, 'late'>> &
  Partial<Omit<DeliveredWindow, 'outcome'>> & { readonly outcome?: string };

/** Measures a successful call by its output. */
export function measureStep(output: unknown): Measurement {
  const after = Object(output) as State;
  const { table_problem, held = 0 } = after.outcome === 'delivered' ? after : {};
  const values: Record<MetricName, number> = {
    TableProblems: table_problem === undefined ? 0 : 1,
    DaysHeld: held,
    LateAccounts: after.late ?? 0,
  };
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value > 0));
}

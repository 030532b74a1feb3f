import type { CheckedRun } from '../workflow/ready.ts';
import type { DeliveredWindow } from '../workflow/states.ts';

/** The namespace of the metrics in CloudWatch. Their only dimension is `service`, the stack's name. */
export const NAMESPACE = 'AdReportExport';

/**
 * Each metric is a count and has an alarm. CloudWatch bills each combination of a metric and its dimensions,
 * so none is written for each export: the log line's properties name it.
 */
export interface Measurement {
  /** Windows that were delivered, but not written into their export's table. */
  readonly TableProblems?: number;
  /** Days that a report would have emptied, and whose rows the table keeps. */
  readonly DaysHeld?: number;
  /** Accounts whose windows were not there in time. */
  readonly LateAccounts?: number;
}
export type MetricName = keyof Measurement;

/** Measures a successful call by its output. Leaves out counts of 0. */
export function measureStep(output: unknown): Measurement {
  const { late, outcome, table_problem, held }: Partial<CheckedRun & DeliveredWindow> = Object(output);
  const isDelivered = outcome === 'delivered';
  return {
    ...(isDelivered && table_problem !== undefined && { TableProblems: 1 }),
    ...(isDelivered && held && { DaysHeld: held }),
    ...(late && { LateAccounts: late }),
  };
}

import { TokenRefused } from './errors.ts';
import type { CheckedRun } from './ready.ts';
import type { DeliveredWindow, WindowState } from './states.ts';

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
  /** Reports that replace a stuck or unusable one. */
  ReportsResubmitted: 'Count',
  /** Access tokens that were refused before they expired. */
  TokensRefused: 'Count',
  /** Accounts whose windows were not there in time. */
  LateAccounts: 'Count',
} as const;
export type MetricName = keyof typeof METRICS;

/** The metrics of a call that are not 0. */
export type Measurement = Partial<Readonly<Record<MetricName, number>>>;

/** The fields that any step's input or output may have. */
type State = Partial<WindowState> &
  Partial<Pick<CheckedRun, 'late'>> &
  Partial<Omit<DeliveredWindow, 'outcome'>> & { readonly outcome?: string };

/** Measures a successful call by its input and output. */
export function measureStep(input: unknown, output: unknown): Measurement {
  const before = Object(input) as State;
  const after = Object(output) as State;
  const { table_problem, held = 0 } = after.outcome === 'delivered' ? after : {};
  const values: Record<MetricName, number> = {
    TableProblems: table_problem === undefined ? 0 : 1,
    DaysHeld: held,
    ReportsResubmitted: countReplacements(before, after),
    TokensRefused: 0,
    LateAccounts: after.late ?? 0,
  };
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value > 0));
}

/** Measures a failed call. A token that expired while its window waited is not the platform's fault. */
export function measureError(input: unknown, error: unknown, now: Date): Measurement {
  const { token } = Object(input) as State;
  const isExpired = token !== undefined && Date.parse(token.expires_at) <= now.getTime();
  return error instanceof TokenRefused && !isExpired ? { TokensRefused: 1 } : {};
}

/** A window's first report replaces nothing. */
function countReplacements({ reports: before }: State, { reports: after }: State): number {
  return before?.length ? (after?.length ?? 0) - before.length : 0;
}

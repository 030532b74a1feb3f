import { TokenRefused } from './errors.ts';
import { addDays } from './request/dates.ts';
import type { DeliveredWindow, WindowState } from './states.ts';

/** The namespace of the metrics in CloudWatch. Each has the dimension `service`, the stack's name. */
export const NAMESPACE = 'AdReportExport';

/** Every metric, of which each is watched by an alarm, and its unit. */
export const METRICS = {
  // By account and export.
  Deliveries: 'Count',
  /** Windows that were delivered without rows. This is not a failure. */
  EmptyDeliveries: 'Count',
  /**
   * Time from the end (midnight UTC) of the newest day that has rows and was over when its report was
   * created, to the delivery. Of a list or of purchases: from the end of the window. A backfill is as old as
   * its dates, so the minimum over a day shows how fresh the newest data is. Others have none.
   */
  Freshness: 'Seconds',

  /** Windows that were delivered, but not written into their export's table. */
  TableProblems: 'Count',
  /** Days that a report would have emptied, and whose rows the table keeps. */
  DaysHeld: 'Count',

  /** By kind. */
  Retries: 'Count',
} as const;
export type MetricName = keyof typeof METRICS;

/** The values of the dimension `kind` of Retries. */
export type RetryKind = 'TokenRefused' | 'ReportResubmitted';

/**
 * One line in the log. CloudWatch bills each combination of a metric and its dimensions, so retries have only
 * the dimension `kind`. The line's properties name the window.
 */
export interface Measurement {
  readonly values: Partial<Readonly<Record<MetricName, number>>>;
  readonly dimensions: Readonly<Record<string, string>>;
}

/** The fields that any step's input or output may have. */
type State = Partial<WindowState> & Partial<Omit<DeliveredWindow, 'outcome'>> & { readonly outcome?: string };

/** Measures a successful call by its input and output. */
export function measureStep(input: unknown, output: unknown, now: Date): Measurement[] {
  const before = Object(input) as State;
  const after = Object(output) as State;
  // A window's first report replaces nothing.
  const isReplaced = (after.reports?.length ?? 0) > Math.max(1, before.reports?.length ?? 0);
  return [...measureDelivery(before, after, now), ...(isReplaced ? [countRetry('ReportResubmitted')] : [])];
}

/** Measures a failed call. A token that expired while its window waited is not the platform's fault. */
export function measureError(input: unknown, error: unknown, now: Date): Measurement[] {
  const { token } = Object(input) as State;
  const isExpired = token !== undefined && Date.parse(token.expires_at) <= now.getTime();
  return error instanceof TokenRefused && !isExpired ? [countRetry('TokenRefused')] : [];
}

function countRetry(kind: RetryKind): Measurement {
  return { values: { Retries: 1 }, dimensions: { kind } };
}

function measureDelivery(before: State, after: State, now: Date): Measurement[] {
  const { request, window } = before;
  const { outcome, rows, table_problem, held = 0 } = after;
  if (outcome !== 'delivered' || !request || !window) return [];
  const end = endOfData(before);
  const values = {
    Deliveries: 1,
    ...(rows === 0 && { EmptyDeliveries: 1 }),
    // A list is a snapshot of today, whose end is in the future.
    ...(end !== undefined && { Freshness: Math.max(0, (now.getTime() - end) / 1000) }),
  };
  const table = {
    ...(table_problem !== undefined && { TableProblems: 1 }),
    ...(held > 0 && { DaysHeld: held }),
  };
  const delivery = { values, dimensions: { account: request.account, export: request.name } };
  // Without a dimension, one alarm watches all exports. The line's properties name the window.
  return [delivery, ...(Object.keys(table).length > 0 ? [{ values: table, dimensions: {} }] : [])];
}

/** In ms. Undefined if no day of a report has rows and was over. */
function endOfData({ request, window, curated }: State): number | undefined {
  if (request?.kind !== 'report') return window && Date.parse(window.end_date);
  return curated?.newest_day === undefined ? undefined : Date.parse(addDays(curated.newest_day, 1));
}

import { type ErrorName, ExportError } from './errors.ts';
import { addDays } from './request/dates.ts';
import type { DeliveredWindow, FailureReport, WindowState } from './states.ts';

/** The namespace of the metrics in CloudWatch. Each has the dimension `service`, the stack's name. */
export const NAMESPACE = 'AdReportExport';

/** Every metric and its unit. */
export const METRICS = {
  // By account and export.
  Deliveries: 'Count',
  Bytes: 'Bytes',
  /** Only if the format has rows that we can count. */
  Rows: 'Count',
  /** Windows that were delivered without rows. This is not a failure. */
  EmptyDeliveries: 'Count',
  /**
   * Time from the end (midnight UTC) of the newest day that has rows and was over when its report was
   * created, to the delivery. Of a list or of purchases: from the end of the window. A backfill is as old as
   * its dates, so the minimum over a day shows how fresh the newest data is. Others have none.
   */
  Freshness: 'Seconds',
  /** Days of the table that showed other values before. */
  DaysRestated: 'Count',
  /** From the report's creation to the poll that found it READY. */
  TimeToReady: 'Seconds',

  /** Windows that were delivered, but not written into their export's table. */
  TableProblems: 'Count',
  /** Days that a report would have emptied, and whose rows the table keeps. */
  DaysHeld: 'Count',

  /** By error: windows that were not delivered, and exports that failed before their windows started. */
  Failures: 'Count',

  /** By kind: failed tries, including the last one. */
  Retries: 'Count',
} as const;
export type MetricName = keyof typeof METRICS;

/** Errors after which the state machine repeats the step, renews the token or replaces the report. */
const RETRIED_ERRORS = [
  'TokenRefused',
  'UrlExpired',
  'PlatformUnavailable',
  'AnswerLost',
  'AnswerUnreadable',
  'CopyFailed',
  'ServiceUnavailable',
] as const satisfies readonly ErrorName[];

/** The values of the dimension `kind` of Retries: an error, or a change that a step made to the state. */
export type RetryKind = (typeof RETRIED_ERRORS)[number] | 'Throttled' | 'UselessAnswer' | 'ReportResubmitted';

/**
 * One line in the log. CloudWatch bills each combination of a metric and its dimensions, so retries have only
 * the dimension `kind`. The line's properties name the window.
 */
export interface Measurement {
  readonly values: Partial<Readonly<Record<MetricName, number>>>;
  readonly dimensions: Readonly<Record<string, string>>;
}

/** The fields that any step's input or output may have. */
type State = Partial<WindowState> &
  Partial<Omit<DeliveredWindow, 'outcome'>> & {
    readonly outcome?: string;
    readonly failure?: Pick<FailureReport, 'error' | 'windows_failed'>;
  };

/** Measures a successful call by its input and output. */
export function measureStep(input: unknown, output: unknown, now: Date): Measurement[] {
  const before = Object(input) as State;
  const after = Object(output) as State;
  return [
    ...measureDelivery(before, after, now),
    ...measureTable(after),
    ...measureReady(before, after, now),
    ...measureFailure(after),
    ...countRetries('Throttled', (after.throttled ?? 0) - (before.throttled ?? 0)),
    ...countRetries('AnswerLost', (after.lost_answers ?? 0) - (before.lost_answers ?? 0)),
    ...countRetries('UselessAnswer', uselessAnswers(after) - uselessAnswers(before)),
    ...countReplacements(before, after),
  ];
}

/** Measures a failed call. */
export function measureError(input: unknown, error: unknown, now: Date): Measurement[] {
  const { token } = Object(input) as State;
  if (!(error instanceof ExportError)) return [];
  // A token that expired while its window waited is not the platform's fault.
  const isExpired = token !== undefined && Date.parse(token.expires_at) <= now.getTime();
  if (error.name === 'TokenRefused' && isExpired) return [];
  const kind = RETRIED_ERRORS.find((name) => name === error.name);
  return kind === undefined ? [] : countRetries(kind, 1);
}

function measureDelivery(before: State, after: State, now: Date): Measurement[] {
  const { request, window } = before;
  if (after.outcome !== 'delivered' || !request || !window) return [];
  const { bytes = 0, rows, restated } = after;
  const end = endOfData(before);
  const values = {
    Deliveries: 1,
    Bytes: bytes,
    ...(rows !== undefined && { Rows: rows }),
    ...(rows === 0 && { EmptyDeliveries: 1 }),
    // A list is a snapshot of today, whose end is in the future.
    ...(end !== undefined && { Freshness: Math.max(0, (now.getTime() - end) / 1000) }),
    ...(restated !== undefined && { DaysRestated: restated }),
  };
  return [{ values, dimensions: { account: request.account, export: request.name } }];
}

/** In ms. Undefined if no day of a report has rows and was over. */
function endOfData({ request, window, curated }: State): number | undefined {
  if (request?.kind !== 'report') return window && Date.parse(window.end_date);
  return curated?.newest_day === undefined ? undefined : Date.parse(addDays(curated.newest_day, 1));
}

/** Has no dimension, so that one alarm watches all exports. The line's properties name the window. */
function measureTable({ outcome, table_problem, held = 0 }: State): Measurement[] {
  const values = {
    ...(table_problem !== undefined && { TableProblems: 1 }),
    ...(held > 0 && { DaysHeld: held }),
  };
  return outcome === 'delivered' && Object.keys(values).length > 0 ? [{ values, dimensions: {} }] : [];
}

function measureReady(before: State, { status, reports = [], ready_id, request }: State, now: Date) {
  const created = reports.find(({ id }) => id === ready_id)?.created_at;
  if (before.status !== 'pending' || status !== 'ready' || created === undefined || !request) return [];
  const values = { TimeToReady: (now.getTime() - Date.parse(created)) / 1000 };
  return [{ values, dimensions: { account: request.account, export: request.name } }];
}

/** An export whose windows failed is not counted, because its windows are. */
function measureFailure({ failure }: State): Measurement[] {
  if (!failure || failure.windows_failed !== undefined) return [];
  return [{ values: { Failures: 1 }, dimensions: { error: failure.error } }];
}

/** A window's first report replaces nothing. */
function countReplacements({ reports: before }: State, { reports: after }: State): Measurement[] {
  return before?.length ? countRetries('ReportResubmitted', (after?.length ?? 0) - before.length) : [];
}

function uselessAnswers({ reports = [] }: State): number {
  return reports.reduce((sum, { useless_answers }) => sum + useless_answers, 0);
}

function countRetries(kind: RetryKind, count: number): Measurement[] {
  return count > 0 ? [{ values: { Retries: count }, dimensions: { kind } }] : [];
}

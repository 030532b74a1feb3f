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

/** Changes of the state that are retries. A window's first report replaces nothing. */
const COUNTED: Readonly<Partial<Record<RetryKind, (state: State) => number>>> = {
  Throttled: ({ throttled = 0 }) => throttled,
  AnswerLost: ({ lost_answers = 0 }) => lost_answers,
  UselessAnswer: ({ reports = [] }) => reports.reduce((sum, each) => sum + each.useless_answers, 0),
  ReportResubmitted: ({ reports = [] }) => Math.max(0, reports.length - 1),
};

/** Measures a successful call by its input and output. */
export function measureStep(input: unknown, output: unknown, now: Date): Measurement[] {
  const before = Object(input) as State;
  const after = Object(output) as State;
  const { failure } = after;
  return [
    ...measureDelivery(before, after, now),
    ...measureReady(before, after, now),
    // An export whose windows failed is not counted, because its windows are.
    ...(failure && failure.windows_failed === undefined
      ? toLine({ Failures: 1 }, { error: failure.error })
      : []),
    ...Object.entries(COUNTED).flatMap(([kind, count]) => {
      const change = count(after) - count(before);
      return toLine({ Retries: change > 0 ? change : undefined }, { kind });
    }),
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
  return kind === undefined ? [] : toLine({ Retries: 1 }, { kind });
}

function measureDelivery(before: State, after: State, now: Date): Measurement[] {
  const { request, window } = before;
  const { outcome, bytes, rows, restated, table_problem, held } = after;
  if (outcome !== 'delivered' || !request || !window) return [];
  const end = endOfData(before);
  const delivery = {
    Deliveries: 1,
    Bytes: bytes,
    Rows: rows,
    EmptyDeliveries: rows === 0 ? 1 : undefined,
    // A list is a snapshot of today, whose end is in the future.
    Freshness: end === undefined ? undefined : Math.max(0, (now.getTime() - end) / 1000),
    DaysRestated: restated,
  };
  const table = { TableProblems: table_problem === undefined ? undefined : 1, DaysHeld: held || undefined };
  return [
    ...toLine(delivery, { account: request.account, export: request.name }),
    // Without a dimension, one alarm watches all exports. The line's properties name the window.
    ...toLine(table, {}),
  ];
}

/** In ms. Undefined if no day of a report has rows and was over. */
function endOfData({ request, window, curated }: State): number | undefined {
  if (request?.kind !== 'report') return window && Date.parse(window.end_date);
  return curated?.newest_day === undefined ? undefined : Date.parse(addDays(curated.newest_day, 1));
}

function measureReady(before: State, { status, reports = [], ready_id, request }: State, now: Date) {
  const created = reports.find(({ id }) => id === ready_id)?.created_at;
  if (before.status !== 'pending' || status !== 'ready' || created === undefined || !request) return [];
  const TimeToReady = (now.getTime() - Date.parse(created)) / 1000;
  return toLine({ TimeToReady }, { account: request.account, export: request.name });
}

/** None if no value is known. */
function toLine(
  values: Partial<Record<MetricName, number | undefined>>,
  dimensions: Measurement['dimensions'],
): Measurement[] {
  const known = Object.entries(values).filter(([, value]) => value !== undefined);
  return known.length > 0 ? [{ values: Object.fromEntries(known), dimensions }] : [];
}

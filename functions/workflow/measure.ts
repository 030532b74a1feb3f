import { type ErrorName, ExportError } from './errors.ts';
import type { DeliveredWindow, FailureReport, ReportRef, WindowState } from './states.ts';

/** Where CloudWatch shows the metrics. Each has the dimension `service`, the stack's name. */
export const NAMESPACE = 'AdReportExport';

/** Every metric, and its unit. */
export const METRICS = {
  // By account and export.
  Deliveries: 'Count',
  Bytes: 'Bytes',
  /** Only where they can be counted. */
  Rows: 'Count',
  /** Windows that were delivered with no rows: an outcome, and not a failure. */
  EmptyDeliveries: 'Count',
  /**
   * How long ago the window's end was (midnight UTC of its exclusive end date) when it was delivered. A backfill's is as
   * old as its dates, so the minimum over a day says how fresh the newest data is.
   */
  Freshness: 'Seconds',
  /** From the report's creation until it was seen READY, with the waits between two looks. */
  TimeToReady: 'Seconds',

  // By error: windows that were not delivered, and exports that failed before they had any.
  Failures: 'Count',

  // By kind: tries that came to nothing, the last one included.
  Retries: 'Count',

  /** Whole days on which the legacy key of an account still works (contract 9.6); there is none where no key is in use. */
  ApiKeyDaysLeft: 'Count',
} as const;
export type MetricName = keyof typeof METRICS;

/** Failures that the state machine answers with another try, a renewal or a replacement. */
const REPEATED = [
  'TokenRefused',
  'UrlExpired',
  'PlatformUnavailable',
  'AnswerLost',
  'AnswerUnreadable',
  'CopyFailed',
  'ServiceUnavailable',
] as const satisfies readonly ErrorName[];

/** What `Retries` are told apart by: what a step threw, or what it saw without throwing. */
export type RetryKind = (typeof REPEATED)[number] | 'Throttled' | 'UselessAnswer' | 'ReportResubmitted';

/**
 * What is written in one line. Each combination of a metric and its dimensions' values is paid for, so what goes wrong is
 * counted by its kind alone; the line's properties say whose it was.
 */
export interface Measurement {
  readonly values: Partial<Readonly<Record<MetricName, number>>>;
  readonly dimensions: Readonly<Record<string, string>>;
}

/** Whatever there is of a step's input or output, which each step's own schema and type say more of. */
type State = Partial<WindowState> &
  Partial<Omit<DeliveredWindow, 'outcome'>> & {
    readonly outcome?: string;
    readonly failure?: FailureReport;
  };

/** What a step has come to, by what it was given and what it returned. */
export function measureStep(input: unknown, output: unknown, now: Date): Measurement[] {
  const before = (input ?? {}) as State;
  const after = (output ?? {}) as State;
  return [
    ...measureDelivery(before, after, now),
    ...measureReady(before, after, now),
    ...measureFailure(after),
    ...retriesOf('Throttled', (after.throttled ?? 0) - (before.throttled ?? 0)),
    ...retriesOf('AnswerLost', (after.lost_answers ?? 0) - (before.lost_answers ?? 0)),
    ...retriesOf('UselessAnswer', uselessAnswers(after) - uselessAnswers(before)),
    ...measureReplacement(before, after),
  ];
}

/** A step that threw what the state machine tries again, or renews. */
export function measureError(input: unknown, error: unknown, now: Date): Measurement[] {
  return error instanceof ExportError ? retryAfter(error.name, (input ?? {}) as State, now) : [];
}

function retryAfter(error: string, { token }: State, now: Date): Measurement[] {
  // A token that came to its end while its window waited is renewed as one that was refused, and nobody needs to know.
  if (error === 'TokenRefused' && token && Date.parse(token.expires_at) <= now.getTime()) return [];
  const kind = REPEATED.find((name) => name === error);
  return kind === undefined ? [] : retriesOf(kind, 1);
}

function measureDelivery({ request, window }: State, after: State, now: Date): Measurement[] {
  if (after.outcome !== 'delivered' || !request || !window) return [];
  const { bytes = 0, rows } = after;
  const age = (now.getTime() - Date.parse(window.end_date)) / 1000;
  const values = {
    Deliveries: 1,
    Bytes: bytes,
    ...(rows !== undefined && { Rows: rows }),
    ...(rows === 0 && { EmptyDeliveries: 1 }),
    // A list is a snapshot of today, whose end is still to come.
    Freshness: Math.max(0, age),
  };
  return [{ values, dimensions: { account: request.account, export: request.name } }];
}

function measureReady(before: State, { status, reports = [], ready_id, request }: State, now: Date) {
  const created = reports.find(({ id }) => id === ready_id)?.created_at;
  if (before.status !== 'pending' || status !== 'ready' || created === undefined || !request) return [];
  const values = { TimeToReady: (now.getTime() - Date.parse(created)) / 1000 };
  return [{ values, dimensions: { account: request.account, export: request.name } }];
}

/** An export whose windows failed is not counted again beside them. */
function measureFailure({ failure }: State): Measurement[] {
  if (!failure || failure.windows_failed !== undefined) return [];
  return [{ values: { Failures: 1 }, dimensions: { error: failure.error } }];
}

/** Every report but a window's first. */
function measureReplacement({ reports: before }: State, { reports: after }: State): Measurement[] {
  return before?.length ? retriesOf('ReportResubmitted', (after?.length ?? 0) - before.length) : [];
}

function uselessAnswers({ reports = [] }: State): number {
  return reports.reduce((sum: number, { useless_answers }: ReportRef) => sum + useless_answers, 0);
}

function retriesOf(kind: RetryKind, count: number): Measurement[] {
  return count > 0 ? [{ values: { Retries: count }, dimensions: { kind } }] : [];
}

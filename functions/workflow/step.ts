import * as z from 'zod/mini';
import type { WindowState } from './states.ts';

export type LogFields = Readonly<Record<string, unknown>>;

/** One JSON line per entry. Fields are ids, numbers and names. */
export interface Log {
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** Adds fields to every later line of this call. */
  keep(fields: LogFields): void;
}

/** The part of Lambda's context that we use. */
export interface LambdaContext {
  readonly awsRequestId: string;
  getRemainingTimeInMillis(): number;
}

/** The dependencies that every step gets. */
export interface Common {
  readonly log: Log;
  readonly now: () => Date;
  /** Until Lambda ends this call. */
  readonly millisecondsLeft: () => number;
  /** The number of the execution's redrives; 0 if the state does not send it. */
  readonly redriveCount: number;
}

/** The event that a state sends to its function. */
export const Invocation = z.object({
  state: z.unknown(),
  /** The number of times that the state's Retry has repeated the call. */
  retry_count: z.number(),
  /** The number of the execution's redrives. Only the states that GET a report send it. */
  redrive_count: z.optional(z.number()),
});
export type Invocation = z.infer<typeof Invocation>;

/** Fields for every log line of a call. The state is not checked yet. */
export function fieldsOfState(state: unknown): LogFields {
  const { execution, window, request, ready_id, reports } = Object(state) as Partial<WindowState>;
  const [report, ...others] = reports ?? [];
  return {
    execution,
    account: request?.account,
    export: request?.name,
    window: window && `${window.start_date}/${window.end_date}`,
    // With several reports, no line names one until one is ready. Each call logs its own.
    report_id: ready_id ?? (others.length > 0 ? undefined : report?.id),
  };
}

/** Fields for the log line that ends a successful call. */
export function fieldsOfOutput(output: unknown): LogFields {
  const { status, outcome, wait_seconds, reports, ready_id } = Object(output) as Partial<WindowState> & {
    outcome?: string;
  };
  const report_ids = reports?.map(({ id }) => id);
  return { status: status ?? outcome, wait_seconds, report_ids, ready_id };
}

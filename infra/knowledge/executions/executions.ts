import { InvalidInput } from '../../../functions/workflow/errors.ts';
import { describeDays } from '../../../functions/workflow/request/dates.ts';
import { parseRequest } from '../../../functions/workflow/request/request.ts';
import type { Window } from '../../../functions/workflow/state-parts.ts';
import { WindowResult } from '../../../functions/workflow/states.ts';
import type { ExecutionEnd } from './outcome.ts';

/** The end of an execution or a window. `unfinished`: a local run that is running or was killed. */
export type ExecutionOutcome = 'running' | 'delivered' | 'failed' | 'stopped' | 'timed_out' | 'unfinished';

/** An execution of the state machine, deployed or local: an entry of `list --json`. */
export interface ExecutionSummary {
  readonly execution: string;
  readonly outcome: ExecutionOutcome;
  /** The fields of the request are absent if it is faulty. */
  readonly account?: string | undefined;
  readonly export?: string | undefined;
  readonly start_date?: string | undefined;
  readonly end_date?: string | undefined;
  /** Absent if only the event of its end is left. */
  readonly started_at?: string | undefined;
  readonly ended_at?: string | undefined;
  /** Until now, if it is running. */
  readonly seconds?: number | undefined;
  readonly error?: string | undefined;
}

/** One window of an execution. */
export interface WindowRun {
  readonly window: Window;
  readonly outcome: ExecutionOutcome | 'waiting' | 'not_begun';
  readonly seconds?: number | undefined;
  readonly bytes?: number | undefined;
  readonly rows?: number | undefined;
  readonly key?: string | undefined;
  readonly error?: string | undefined;
  /** Where a running window of a local run is. */
  readonly state?: string | undefined;
}

/** An execution with what became of its windows. */
export interface ExplainedExecution {
  readonly summary: ExecutionSummary;
  readonly end: ExecutionEnd;
  readonly windows: readonly WindowRun[];
  /** The page of a deployed execution in AWS's console, with every state and its input and output. */
  readonly console?: string;
  /** A local run's history has its states. */
  readonly recorded?: boolean;
  /** The command that exports the rest of a local run, if its history has it. */
  readonly next?: string | undefined;
}

const OUTCOMES: Readonly<Record<string, ExecutionOutcome>> = {
  SUCCEEDED: 'delivered',
  FAILED: 'failed',
  ABORTED: 'stopped',
  TIMED_OUT: 'timed_out',
};

/** @param status of Step Functions */
export function outcomeFor(status: string | undefined): ExecutionOutcome {
  return OUTCOMES[status ?? ''] ?? 'running';
}

export function isUnderWay({ outcome }: { readonly outcome: string }): boolean {
  return outcome === 'running' || outcome === 'unfinished';
}

/** Such as `timed out` or `failed: ReportStuck`. */
export function describeEnd(run: { readonly outcome: string; readonly error?: string | undefined }): string {
  const outcome = run.outcome.replace('_', ' ');
  return run.error === undefined ? outcome : `${outcome}: ${run.error}`;
}

/** The account, the export and the days of an execution, from its input. */
export function describeInput(
  input: unknown,
  startedAt: Date,
): Pick<ExecutionSummary, 'account' | 'export' | 'start_date' | 'end_date'> {
  try {
    const { account, name, start_date, end_date } = parseRequest(input, startedAt).request;
    return { account, export: name, start_date, end_date };
  } catch (error) {
    if (!(error instanceof InvalidInput)) throw error;
    const { account, name } = Object(input) as { account?: unknown; name?: unknown };
    const text = (value: unknown) => (typeof value === 'string' ? value : undefined);
    return { account: text(account), export: text(name) };
  }
}

/** The days of an execution, for a person. */
export function daysIn({
  start_date,
  end_date,
}: Pick<ExecutionSummary, 'start_date' | 'end_date'>): string | undefined {
  return start_date === undefined || end_date === undefined
    ? undefined
    : describeDays({ start_date, end_date });
}

/** Tenths of a second between two instants, as seconds. */
export function secondsBetween(from: string | Date, to: string | Date): number {
  return Math.round((new Date(to).getTime() - new Date(from).getTime()) / 100) / 10;
}

/** The outcome of a window of this execution that did not begin. */
export function unbegun({ outcome }: ExecutionSummary): 'waiting' | 'not_begun' {
  return isUnderWay({ outcome }) ? 'waiting' : 'not_begun';
}

/** Reads the output of a window that has ended. Without a result of its own, its execution died. */
export function readResult(
  output: unknown,
  error: string | undefined,
): Partial<WindowRun> & Pick<WindowRun, 'outcome'> {
  const { data } = WindowResult.safeParse(output);
  if (!data) return { outcome: 'failed', error };
  if (data.outcome === 'failed') return { outcome: 'failed', error: data.failure.error };
  const { bytes, rows, key } = data;
  return { outcome: 'delivered', bytes, rows, key };
}

/** The windows in PlanExport's output. */
export function plannedWindows(output: unknown): readonly Window[] {
  const { windows = [] } = Object(output) as { windows?: readonly Window[] };
  return windows.map(({ start_date, end_date }) => ({ start_date, end_date }));
}

/** 2026-11-22T02:31:12.521Z is `2026-11-22 02:31`. */
export function toMinute(instant: string): string {
  return instant.slice(0, 'YYYY-MM-DDThh:mm'.length).replace('T', ' ');
}

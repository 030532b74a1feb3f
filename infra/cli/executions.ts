import { InvalidInput } from '../../functions/workflow/errors.ts';
import { type ExportRequest, parseRequest } from '../../functions/workflow/request/request.ts';
import type { Window } from '../../functions/workflow/state-parts.ts';
import { WindowResult } from '../../functions/workflow/states.ts';
import type { ExecutionEnd } from './outcome.ts';

/** How an execution or a window ended. `unfinished`: a local run that was killed. */
export type ExecutionOutcome = 'running' | 'delivered' | 'failed' | 'stopped' | 'timed_out' | 'unfinished';

/** An execution of the state machine, deployed or local: an entry of `list --json`. */
export interface ExecutionSummary {
  readonly execution: string;
  readonly outcome: ExecutionOutcome;
  /** The fields of the request are absent if it is faulty. */
  readonly account?: string;
  readonly export?: string;
  readonly start_date?: string;
  readonly end_date?: string;
  /** Absent if only the event of its end is left. */
  readonly started_at?: string;
  readonly ended_at?: string;
  /** Until now, if it is running. */
  readonly seconds?: number;
  readonly error?: string;
}

/** The visits of one state. */
export interface Step {
  readonly state: string;
  /** Of all visits together, the pauses of retries included. */
  readonly seconds: number;
  readonly times: number;
  /** Present if a Retry repeated the state. */
  readonly tries?: number;
  readonly last_error?: string;
}

/** One window of an execution. */
export interface WindowRun {
  readonly window: Window;
  readonly outcome: ExecutionOutcome | 'waiting';
  /** Until its turn came. */
  readonly waited_seconds?: number;
  readonly seconds?: number;
  readonly bytes?: number;
  readonly rows?: number;
  readonly key?: string;
  readonly error?: string;
  /** In the order in which it last entered them. The last one of a running window is where it is now. */
  readonly steps: readonly Step[];
}

export interface ExecutionDetails {
  readonly summary: ExecutionSummary;
  readonly end: ExecutionEnd;
  /** Of the export itself, outside of its windows. */
  readonly steps: readonly Step[];
  readonly windows: readonly WindowRun[];
}

/** The facts about a state that AWS's history and the local one share. */
export interface StateEvent {
  readonly type: string;
  /** ISO 8601. */
  readonly time: string;
  readonly state?: string | undefined;
  /** Task, Wait, Choice … */
  readonly stateType?: string | undefined;
  readonly error?: string | undefined;
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

/** The account, the export and the days of an execution, from its input. */
export function describeInput(
  input: unknown,
  startedAt: Date,
): Pick<ExecutionSummary, 'account' | 'export' | 'start_date' | 'end_date'> {
  try {
    return describeRequest(parseRequest(input, startedAt).request);
  } catch (error) {
    if (!(error instanceof InvalidInput)) throw error;
    const { account, name } = Object(input) as { account?: unknown; name?: unknown };
    return {
      ...(typeof account === 'string' && { account }),
      ...(typeof name === 'string' && { export: name }),
    };
  }
}

export function describeRequest({ account, name, start_date, end_date }: Omit<ExportRequest, 'kind'>) {
  return { account, export: name, start_date, end_date };
}

/** Tenths of a second between two instants, as seconds. */
export function secondsBetween(from: string | Date, to: string | Date): number {
  return Math.round((new Date(to).getTime() - new Date(from).getTime()) / 100) / 10;
}

/** Adds what a window's own result says. Without one, its execution died, was stopped or is running. */
export function withResult(result: unknown, run: WindowRun): WindowRun {
  const { data } = WindowResult.safeParse(result);
  if (!data) return run.outcome === 'delivered' ? { ...run, outcome: 'failed' } : run;
  if (data.outcome === 'failed') return { ...run, outcome: 'failed', error: data.failure.error };
  const { bytes, rows, key } = data;
  return { ...run, outcome: 'delivered', bytes, ...(rows !== undefined && { rows }), key };
}

/** Does something with each item, with `size` of them at the same time. */
export async function inBatches<T, R>(
  size: number,
  items: readonly T[],
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  for (let start = 0; start < items.length; start += size)
    results.push(...(await Promise.all(items.slice(start, start + size).map(work))));
  return results;
}

/** States that only choose or pass something on take no time. A Map's time is that of its windows. */
const TIMED = ['Task', 'Wait'];

/**
 * Adds up how long an execution or a window was in each state.
 *
 * @param events in the order in which they happened
 * @param end of the execution, or now
 */
export function readSteps(events: readonly StateEvent[], end: string): Step[] {
  const steps = new Map<string, { ms: number; times: number; tries: number; last_error?: string }>();
  let at: { state: string; since: number } | undefined;
  const leave = (time: string) => {
    const step = at && steps.get(at.state);
    if (at && step) step.ms += Date.parse(time) - at.since;
    at = undefined;
  };
  for (const { type, time, state = '', stateType = '', error } of events) {
    if (type === 'StateEntered') {
      leave(time);
      if (!TIMED.includes(stateType)) continue;
      const { ms, times, tries, ...failure } = steps.get(state) ?? { ms: 0, times: 0, tries: 0 };
      steps.delete(state);
      steps.set(state, { ms, times: times + 1, tries: tries + 1, ...failure });
      at = { state, since: Date.parse(time) };
    } else if (at) {
      const step = steps.get(at.state);
      if (step && type === 'StateRetried') step.tries += 1;
      if (step && type === 'StateFailed' && error !== undefined) step.last_error = error;
      if (type === 'StateExited' && state === at.state) leave(time);
    }
  }
  leave(end);
  return [...steps].map(([state, { ms, times, tries, last_error }]) => ({
    ...{ state, seconds: Math.round(ms / 100) / 10, times },
    ...(tries > times && { tries }),
    ...(last_error !== undefined && { last_error }),
  }));
}

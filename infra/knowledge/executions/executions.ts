import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { InvalidInput } from '../../../functions/workflow/errors.ts';
import { parseJson } from '../../../functions/workflow/json.ts';
import { describeDays } from '../../../functions/workflow/request/dates.ts';
import { parseRequest } from '../../../functions/workflow/request/request.ts';
import type { Window } from '../../../functions/workflow/state-parts.ts';
import { WindowResult } from '../../../functions/workflow/states.ts';
import type { BusEvent } from '../../local/events.ts';
import type { ExecutionHistory, History } from '../../local/step-functions/history.ts';
import { UsageError } from '../errors.ts';
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
  /** Where a running window is. */
  readonly state?: string | undefined;
}

/** An event of a history. Those of a deployed execution and its windows get the names of the local run's. */
export interface ExecutionEvent {
  readonly type: string;
  /** ISO 8601. */
  readonly time: string;
  /** The window's place in the plan. Absent in the events of the export itself. */
  readonly window?: number | undefined;
  readonly state?: string | undefined;
  readonly input?: unknown;
  readonly output?: unknown;
  readonly error?: string | undefined;
}

/** An execution with what its history says. */
export interface RecordedExecution {
  readonly summary: ExecutionSummary;
  readonly end: ExecutionEnd;
  /** Empty if only the event of its end is left. */
  readonly events: readonly ExecutionEvent[];
  /** The end of the execution, or the last that is known of it. ISO 8601. */
  readonly until: string;
  /** The page of a deployed execution in AWS's console, with every state and its input and output. */
  readonly console?: string;
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

/** The windows of PlanExport's output; none before it has ended. */
export function plannedWindows(events: readonly ExecutionEvent[]): readonly Window[] {
  const plan = events.find(({ type, state }) => type === 'StateExited' && state === 'PlanExport');
  const { windows = [] } = Object(plan?.output) as { windows?: readonly Window[] };
  return windows;
}

export function readWindows({ events, summary, until }: RecordedExecution): WindowRun[] {
  const byWindow = Map.groupBy(events, ({ window }) => window);
  return plannedWindows(events).map(({ start_date, end_date }, place) => {
    const window = { start_date, end_date };
    const own = byWindow.get(place) ?? [];
    const begun = own[0]?.time;
    if (begun === undefined) return { window, outcome: isUnderWay(summary) ? 'waiting' : 'not_begun' };
    const end = own.find(({ type }) => /^MapIteration(Succeeded|Failed)$/.test(type));
    const ended = end?.time ?? until;
    return {
      window,
      outcome: summary.outcome,
      seconds: secondsBetween(begun, ended),
      ...(end ? readResult(end) : { state: own.findLast(({ type }) => type === 'StateEntered')?.state }),
    };
  });
}

/** Without a result of its own, the execution of the window died. */
function readResult({ output, error }: ExecutionEvent): Partial<WindowRun> & Pick<WindowRun, 'outcome'> {
  const { data } = WindowResult.safeParse(output);
  if (!data) return { outcome: 'failed', error };
  if (data.outcome === 'failed') return { outcome: 'failed', error: data.failure.error };
  const { bytes, rows, key } = data;
  return { outcome: 'delivered', bytes, rows, key };
}

/**
 * The executions of a local run's folder, newest first. history.json has those of the last run; of earlier ones,
 * events.jsonl has the end.
 *
 * @throws UsageError if the folder has neither file
 */
export async function listLocal(out: string): Promise<ExecutionSummary[]> {
  return (await readFolder(out)).map(({ summary }) => summary);
}

/** @throws UsageError if the folder does not have it */
export async function readLocal(out: string, execution: string): Promise<RecordedExecution> {
  const found = (await readFolder(out)).find(({ summary }) => summary.execution === execution);
  if (found) return found;
  throw new UsageError([`--out ${out} has no execution ${execution}`]);
}

async function readFolder(out: string): Promise<RecordedExecution[]> {
  const [history, events] = await Promise.all(
    ['history.json', 'events.jsonl'].map((name) => readFile(join(out, name), 'utf8').catch(() => undefined)),
  );
  if (history === undefined && events === undefined)
    throw new UsageError([`no run has begun in --out ${out}: repeat its command, or name another folder`]);
  const { executions = [], next } = Object(parseJson(history ?? '')) as Partial<History>;
  const recorded = executions.map((each) => ({ ...readRecorded(each), next }));
  const names = new Set(recorded.map(({ summary }) => summary.execution));
  const announced = (events ?? '')
    .split('\n')
    .flatMap((line) => readAnnounced(parseJson(line)))
    .filter(({ summary }) => !names.has(summary.execution));
  // Not by time: the clock of a run with --speed may be ahead of the next run's.
  return [...announced, ...recorded].reverse();
}

function readRecorded({ execution, result, events }: ExecutionHistory): RecordedExecution {
  const [first] = events;
  const until = events.at(-1)?.time ?? '';
  const summary = {
    execution,
    outcome: result ? outcomeFor(result.status) : ('unfinished' as const),
    ...(first && describeInput(first.input, new Date(first.time))),
    started_at: first?.time,
    ended_at: result && until,
    seconds: first && secondsBetween(first.time, until),
    error: result?.error,
  };
  return { summary, end: { name: execution, ...result }, events, until };
}

/** The event tells neither when the execution started nor what its states did. */
function readAnnounced(event: unknown): RecordedExecution[] {
  const { 'detail-type': type, detail, time } = Object(event) as BusEvent;
  const status = { 'Report Exported': 'SUCCEEDED', 'Report Export Failed': 'FAILED' }[type];
  if (status === undefined) return [];
  const { execution, account, name, export: failed, start_date, end_date, error } = Object(detail);
  const summary = {
    execution,
    outcome: outcomeFor(status),
    account,
    export: name ?? failed,
    start_date,
    end_date,
    ended_at: time,
    error,
  };
  const end = { name: execution, status, output: detail, error, cause: JSON.stringify(detail) };
  return [{ summary, end, events: [], until: time }];
}

/** 2026-11-22T02:31:12.521Z is `2026-11-22 02:31`. */
export function toMinute(instant: string): string {
  return instant.slice(0, 'YYYY-MM-DDThh:mm'.length).replace('T', ' ');
}

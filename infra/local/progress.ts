import { readCause } from '../../functions/workflow/errors.ts';
import { objectKey } from '../../functions/workflow/keys.ts';
import type { ExportRequest } from '../../functions/workflow/request/request.ts';
import type { Window } from '../../functions/workflow/state-parts.ts';
import type { WindowState } from '../../functions/workflow/states.ts';
import type { TimedState } from '../constructs/workflow-states.ts';
import { findRetrier, type Retrier, retryWait } from './definition.ts';
import type { HistoryEvent } from './history.ts';

/** The words for each state that takes time. */
export const DOING: Readonly<Record<TimedState, string>> = {
  PlanExport: 'plans the export',
  GetToken: 'gets a token',
  GetWindowToken: 'gets a token',
  CreateReport: 'creates the report',
  WaitForReport: 'waits for the report',
  CheckReport: 'waits for the report',
  SaveReport: 'copies the file',
  QueryPurchases: 'queries the purchases',
  ExportList: 'reads the list',
  CurateReport: 'reads the rows',
  PublishWindow: 'writes the manifest',
  PublishExport: 'sums up the windows',
  DescribeWindowFailure: 'describes the failure',
  DescribeFailure: 'describes the failure',
  AnnounceExport: 'announces the export',
  AnnounceFailure: 'announces the failure',
};

const WAITS_ITS_TURN = 'waits its turn';

/** A failure after which the state may be tried again. */
export interface Trouble {
  /** Such as `ENOTFOUND api.example.com`, `status 503`, or the error's name. */
  readonly error: string;
  /** Absent if the state is not tried again. */
  readonly retry?: {
    /** Tries that failed for the same reason. */
    readonly tries: number;
    readonly maxTries: number;
    /** Seconds; with `isAtMost`, the next try may come earlier. */
    readonly wait: number;
    readonly isAtMost: boolean;
    /** When the wait ends, in epoch ms by the run's clock. */
    readonly at: number;
  };
}

/** The state that an export or a window is in. */
export interface Activity {
  readonly doing: string;
  /** When it began to do that, in epoch ms by the run's clock. */
  readonly since: number;
  /** The last failure, while the state is tried again. */
  readonly trouble?: Trouble;
  /** The failures since the state was entered. */
  readonly failures: readonly Retrier[];
}

/** The progress of one window. */
export interface WindowProgress extends Activity {
  readonly window: Window;
  /** Of its object. */
  readonly key: string;
  readonly stage: 'waiting' | 'running' | 'delivered' | 'failed';
  /** Of the file that was delivered. */
  readonly bytes?: number;
}

export interface Progress {
  /** The state of the export itself. Absent while its windows run, and when it has ended. */
  readonly export?: Activity;
  /** By the window's place in the export. */
  readonly windows: ReadonlyMap<number, WindowProgress>;
}

/** Of the definition, by state. */
export type Retriers = ReadonlyMap<string, readonly Retrier[]>;

/** Returns the progress after one more event of the history, or the same object if the event changes nothing. */
export function advance(progress: Progress, event: HistoryEvent, retriers: Retriers): Progress {
  const { type, state, window: place } = event;
  if (type === 'StateExited' && state === 'PlanExport') return { ...progress, windows: planned(event) };
  if (place === undefined) {
    const isMap = type === 'StateEntered' && event.stateType === 'Map';
    if (isMap || type.startsWith('Execution')) return { windows: progress.windows };
    const after = next(progress.export, event, retriers);
    return after === undefined || after === progress.export ? progress : { ...progress, export: after };
  }
  const before = progress.windows.get(place);
  const after = before && step(before, event, retriers);
  if (after === undefined || after === before) return progress;
  return { ...progress, windows: new Map(progress.windows).set(place, after) };
}

function planned({ output, time }: HistoryEvent): Progress['windows'] {
  const { request, windows } = output as { request: ExportRequest; windows: readonly Window[] };
  const waiting = { stage: 'waiting', doing: WAITS_ITS_TURN, since: Date.parse(time), failures: [] } as const;
  return new Map(
    windows.map((window, place) => [place, { window, key: objectKey(request, window), ...waiting }]),
  );
}

function step(before: WindowProgress, event: HistoryEvent, retriers: Retriers): WindowProgress {
  const { window, key } = before;
  const ended = { window, key, since: Date.parse(event.time), failures: [] };
  if (event.type === 'MapIterationFailed')
    return { ...ended, stage: 'failed', doing: `failed: ${event.error}` };
  if (event.type === 'MapIterationSucceeded') {
    const { outcome, bytes, failure } = event.output as {
      outcome: 'delivered' | 'failed';
      bytes?: number;
      failure?: { error: string };
    };
    const doing = failure ? `${outcome}: ${failure.error}` : outcome;
    return { ...ended, stage: outcome, doing, ...(bytes !== undefined && { bytes }) };
  }
  const after = next(before, event, retriers);
  return after === before || after === undefined ? before : { window, key, stage: 'running', ...after };
}

function next<A extends Activity>(before: A | undefined, event: HistoryEvent, retriers: Retriers) {
  const { type, state = '', time } = event;
  // A Fail state fails too, and a Map fails with its windows.
  const isTimed = Object.hasOwn(DOING, state);
  if (type === 'StateFailed' && before && isTimed) return fail(before, event, retriers.get(state) ?? []);
  const doing = type === 'StateEntered' ? wordsFor(state, event.input) : undefined;
  if (doing === undefined || (doing === before?.doing && !before.trouble)) return before;
  return { doing, since: doing === before?.doing ? before.since : Date.parse(time), failures: [] };
}

function wordsFor(state: string, input: unknown): string | undefined {
  if (state !== ('WaitForReport' satisfies TimedState)) return DOING[state as TimedState];
  const { throttled = 0, request, reports } = Object(input) as Partial<WindowState>;
  if (throttled > 0) return 'waits after too many requests (429)';
  if (request && request.kind !== 'report') return 'waits before the next request';
  return reports?.length === 0 ? 'waits before it creates the report' : DOING.WaitForReport;
}

function fail<A extends Activity>(
  { doing, since, failures }: A,
  event: HistoryEvent,
  retriers: readonly Retrier[],
): Activity {
  const { error = '', cause = '', time } = event;
  const named = { error: nameOf(error, cause) };
  const retrier = findRetrier(retriers, error);
  const tries = failures.filter((each) => each === retrier).length + 1;
  const { MaxAttempts = 3, JitterStrategy } = retrier ?? {};
  if (!retrier || tries > MaxAttempts) return { doing, since, failures, trouble: named };
  const wait = retryWait(retrier, tries);
  const at = Date.parse(time) + 1000 * wait;
  const retry = { tries, maxTries: MaxAttempts + 1, wait, isAtMost: JitterStrategy === 'FULL', at };
  return { doing, since, failures: [...failures, retrier], trouble: { ...named, retry } };
}

/** The code of a lost connection and the host say most, then the status of an answer. */
function nameOf(error: string, cause: string): string {
  const { code, host, status } = readCause(cause).facts;
  if (typeof code === 'string') return typeof host === 'string' ? `${code} ${host}` : code;
  return typeof status === 'number' ? `${error} (${status})` : error;
}

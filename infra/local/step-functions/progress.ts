import { type ErrorName, readCause } from '../../../functions/workflow/errors.ts';
import { objectKey } from '../../../functions/workflow/keys.ts';
import { describeDays } from '../../../functions/workflow/request/dates.ts';
import type { ExportRequest } from '../../../functions/workflow/request/request.ts';
import type { Window } from '../../../functions/workflow/state-parts.ts';
import type { WindowState } from '../../../functions/workflow/states.ts';
import type { TimedState } from '../../constructs/workflow-states.ts';
import type { LocalRun } from '../run.ts';
import type { HistoryEvent } from './history.ts';
import type { Execution } from './step-functions.ts';

/** The words for each state that takes time. */
export const DOING: Readonly<Record<TimedState, string>> = {
  PlanExport: 'plans the export',
  GetToken: 'gets a token',
  GetWindowToken: 'gets a token',
  RenewToken: 'renews the token',
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

/** The present work of an export or a window. */
export interface Activity {
  readonly doing: string;
  /** When it began to do that, in epoch ms by the run's clock. */
  readonly since: number;
  /**
   * Set after a try of the state has failed, until it goes on. `tries` is the most that it has; `last` is such as
   * `ENOTFOUND api.example.com`, `PlatformUnavailable (503)`, or a name.
   */
  readonly failures?: { readonly count: number; readonly tries: number; readonly last: string };
}

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

/** Returns the progress after one more event of the history, or the same object if the event changes nothing. */
export function advance(progress: Progress, event: HistoryEvent): Progress {
  const { type, state, window: place } = event;
  if (type === 'StateExited' && state === 'PlanExport') return { ...progress, windows: planned(event) };
  if (place === undefined) {
    const isMap = type === 'StateEntered' && event.stateType === 'Map';
    if (isMap || type.startsWith('Execution')) return { windows: progress.windows };
    const after = next(progress.export, event);
    return after === undefined || after === progress.export ? progress : { ...progress, export: after };
  }
  const before = progress.windows.get(place);
  const after = before && nextOfWindow(before, event);
  if (after === undefined || after === before) return progress;
  return { ...progress, windows: new Map(progress.windows).set(place, after) };
}

function planned({ output, time }: HistoryEvent): Progress['windows'] {
  const { request, windows } = output as { request: ExportRequest; windows: readonly Window[] };
  const progressOf = (window: Window): WindowProgress => ({
    window,
    key: objectKey(request, window),
    stage: 'waiting',
    doing: 'waits its turn',
    since: Date.parse(time),
  });
  return new Map(windows.map((window, place) => [place, progressOf(window)]));
}

/** The end of a window, as PublishWindow and DescribeWindowFailure say. */
interface Ending {
  readonly outcome: 'delivered' | 'failed';
  readonly bytes?: number;
  readonly failure?: { readonly error: string };
}

function nextOfWindow(before: WindowProgress, event: HistoryEvent): WindowProgress {
  const { window, key } = before;
  if (event.type === 'MapIterationSucceeded' || event.type === 'MapIterationFailed') {
    const failed: Ending = { outcome: 'failed', failure: { error: event.error ?? '' } };
    const ending = event.type === 'MapIterationFailed' ? failed : (event.output as Ending);
    const { outcome: stage, bytes, failure } = ending;
    const doing = failure ? `${stage}: ${failure.error}` : stage;
    const since = Date.parse(event.time);
    return { window, key, stage, doing, since, ...(bytes !== undefined && { bytes }) };
  }
  const after = next(before, event);
  return after === before || after === undefined ? before : { window, key, stage: 'running', ...after };
}

function next(before: Activity | undefined, event: HistoryEvent): Activity | undefined {
  const { type, state = '', time, error = '', cause = '', tries = 1 } = event;
  // A Fail state fails too, and a Map fails with its windows.
  if (type === 'StateFailed' && before && Object.hasOwn(DOING, state)) {
    // Errors of one Retry are counted together.
    const count = 1 + (before.failures?.tries === tries ? before.failures.count : 0);
    const { doing, since } = before;
    return { doing, since, failures: { count, tries, last: sayError(error, cause) } };
  }
  const doing = type === 'StateEntered' ? wordsFor(state, event.input) : undefined;
  if (doing === undefined || (doing === before?.doing && !before.failures)) return before;
  return { doing, since: doing === before?.doing ? before.since : Date.parse(time) };
}

function wordsFor(state: string, input: unknown): string | undefined {
  const { throttled = 0, request, reports } = Object(input) as Partial<WindowState>;
  const { said } = reports?.at(-1)?.last_answer ?? {};
  if (state === ('CreateReport' satisfies TimedState) && said !== undefined)
    return `replaces the report, which ${said}`;
  const words = DOING[state as TimedState];
  if (words !== DOING.WaitForReport) return words;
  if (state === ('WaitForReport' satisfies TimedState)) {
    if (throttled > 0) return 'waits after too many requests (429)';
    if (request && request.kind !== 'report') return 'waits before the next request';
    if (reports?.length === 0) return 'waits before it creates the report';
  }
  return said === undefined || AS_USUAL.includes(said) ? words : `${words}, which ${said}`;
}

/** Last answers about a report that need no words while it is waited for. */
const AS_USUAL: readonly string[] = ['is CREATED', 'is PROCESSING', 'is READY'];

/** The code of a lost connection and the host say most, then the status of an answer. */
function sayError(error: string, cause: string): string {
  const { happened, facts } = readCause(cause);
  if (error === ('ExportIncomplete' satisfies ErrorName)) return happened.replace(/\.$/, '');
  const { code, host, status } = facts;
  if (typeof code === 'string') return typeof host === 'string' ? `${code} ${host}` : code;
  const words = error === ('RequestRefused' satisfies ErrorName) ? 'refused' : error;
  return typeof status === 'number' ? `${words} (${status})` : words;
}

/** The output for the progress. A terminal has `isTTY`. */
export interface Screen {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
  write(text: string): unknown;
}

type Sources = Pick<LocalRun, 'clock' | 'arrived'>;

/** Real ms between two redraws of a terminal. */
const REDRAW_MS = 200;

/**
 * Shows the progress of an execution until it ends: on a terminal, one line for each window; elsewhere, a line for each
 * change.
 */
export async function showProgress(execution: Execution, sources: Sources, screen: Screen): Promise<void> {
  let progress: Progress = { windows: new Map() };
  let drawn: readonly string[] = [];
  const draw = () => {
    const lines = picture(progress, sources, screen);
    if (lines.join('\n') !== drawn.join('\n')) screen.write(rewrite(drawn.length, lines));
    drawn = lines;
  };
  const timer = screen.isTTY ? setInterval(draw, REDRAW_MS) : undefined;
  try {
    for await (const event of execution.events) {
      const after = advance(progress, event);
      if (!screen.isTTY) for (const line of changes(progress, after)) screen.write(`${event.time} ${line}\n`);
      progress = after;
    }
  } finally {
    clearInterval(timer);
    if (screen.isTTY) draw();
  }
}

/** Without a duration: a line that stays must not depend on when it was written. */
function changes(before: Progress, after: Progress): string[] {
  const lines = after.export && after.export !== before.export ? [`export  ${describe(after.export)}`] : [];
  if (before.windows.size === 0 && after.windows.size > 0)
    return [...lines, `export  planned, windows: ${after.windows.size}`];
  const windows = [...after.windows].filter(([place, window]) => window !== before.windows.get(place));
  return [...lines, ...windows.map(([, window]) => `${describeDays(window.window)}  ${describe(window)}`)];
}

/** @param live the time now, and the bytes that have arrived, on a terminal */
function describe(
  activity: Activity & Partial<WindowProgress>,
  live?: { readonly now: number; readonly arrived: number | undefined },
): string {
  const { doing, since, failures, stage, bytes = live?.arrived } = activity;
  const isOver = stage === 'delivered' || stage === 'failed';
  const { count, tries, last } = failures ?? { count: 0, tries: 0, last: '' };
  const words = [
    doing,
    ...(live && !isOver ? [duration(live.now - since)] : []),
    ...(tries > 1 ? [`try ${count} of ${tries} failed`] : []),
  ].join(', ');
  return [failures ? `${words}: ${last}` : words, ...(bytes === undefined ? [] : [size(bytes)])].join(', ');
}

/**
 * Writes lines over those drawn before, and clears the rest of each. Clearing all of them first would flicker, and would fill
 * the scrollback of tmux with copies.
 */
function rewrite(drawn: number, lines: readonly string[]): string {
  const left = Math.max(0, drawn - lines.length);
  const text = [...lines, ...Array<string>(left).fill('')].map((line) => `${line}\x1b[K\n`).join('');
  // At Ctrl-C, the terminal writes ^C where the cursor stands.
  return `${drawn > 0 ? `\r\x1b[${drawn}A` : ''}${text}${left > 0 ? `\x1b[${left}A` : ''}`;
}

/** Windows that are shown first if not all fit. */
const BY_INTEREST: readonly WindowProgress['stage'][] = ['running', 'failed', 'waiting', 'delivered'];

/** A line for each window that fits, and a last line that counts. */
function picture(progress: Progress, { clock, arrived }: Sources, screen: Screen): string[] {
  // A terminal that does not know its size says 0.
  const { columns, rows } = { columns: screen.columns || 80, rows: screen.rows || 24 };
  const windows = [...progress.windows.values()];
  const byInterest = BY_INTEREST.flatMap((stage) => windows.filter((window) => window.stage === stage));
  // The last line counts, and the cursor stands below it.
  const shown = new Set(byInterest.slice(0, Math.max(0, rows - 2)));
  const now = clock.now();
  const lines = windows
    .filter((window) => shown.has(window))
    .map(
      (each) => `${describeDays(each.window)}  ${describe(each, { now, arrived: arrived.get(each.key) })}`,
    );
  const last = [
    ...(windows.length > 0 ? [count(windows)] : []),
    ...(progress.export ? [describe(progress.export, { now, arrived: undefined })] : []),
  ];
  return [...lines, last.join('; ')].map((line) => line.slice(0, columns - 1));
}

function count(windows: readonly WindowProgress[]): string {
  const done = windows.filter(({ stage }) => stage === 'delivered' || stage === 'failed').length;
  const running = windows.filter(({ stage }) => stage === 'running').length;
  return `${done} of ${windows.length} windows done, ${running} running`;
}

/** 75 s are `1 min 15 s`, and 27 h are `1 d 3 h`. */
export function duration(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  if (hours >= 24) return `${Math.floor(hours / 24)} d ${hours % 24} h`;
  if (hours > 0) return `${hours} h ${minutes % 60} min`;
  return minutes === 0 ? `${seconds} s` : `${minutes} min ${seconds % 60} s`;
}

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB'];

/** 1,234,567 are `1.2 MB`. */
export function size(bytes: number): string {
  const step = bytes === 0 ? 0 : Math.min(Math.floor(Math.log10(bytes) / 3), UNITS.length - 1);
  return `${(bytes / 1000 ** step).toFixed(step === 0 ? 0 : 1)} ${UNITS[step]}`;
}

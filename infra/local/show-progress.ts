import type { Window } from '../../functions/workflow/state-parts.ts';
import { retriersByState } from './definition.ts';
import { type Activity, advance, type Progress, type Trouble, type WindowProgress } from './progress.ts';
import type { LocalRun } from './run.ts';
import type { Execution } from './step-functions.ts';

/** The output for the progress. A terminal has `isTTY`. */
export interface Screen {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
  write(text: string): unknown;
}

type Sources = Pick<LocalRun, 'clock' | 'arrived'> & {
  readonly assembly: { readonly stateMachine: Pick<LocalRun['assembly']['stateMachine'], 'definition'> };
};

/** Real ms between two redraws of a terminal. */
const REDRAW_MS = 200;

/** Below this width a line leaves out the end of its window's range, and what a window in trouble does. */
const NARROW = 60;

/** Windows that are shown first if not all fit. */
const BY_INTEREST: readonly WindowProgress['stage'][] = ['running', 'failed', 'waiting', 'delivered'];

/**
 * Shows the progress of an execution until it ends: on a terminal, one line for each window; elsewhere, a line for each
 * change.
 */
export async function showProgress(execution: Execution, sources: Sources, screen: Screen): Promise<void> {
  if (screen.isTTY) await draw(execution, sources, screen);
  else await list(execution, sources, screen);
}

async function list(execution: Execution, { assembly }: Sources, screen: Screen): Promise<void> {
  const retriers = retriersByState(assembly.stateMachine.definition);
  let progress: Progress = { windows: new Map() };
  for await (const event of execution.events) {
    const after = advance(progress, event, retriers);
    for (const line of changes(progress, after)) screen.write(`${event.time} ${line}\n`);
    progress = after;
  }
}

function changes(before: Progress, after: Progress): string[] {
  const ofExport = after.export && after.export !== before.export ? [after.export] : [];
  const lines = ofExport.map((activity) => `export  ${describe(activity)}`);
  if (before.windows.size === 0 && after.windows.size > 0)
    return [...lines, `export  planned, windows: ${after.windows.size}`];
  const windows = [...after.windows].filter(([place, window]) => window !== before.windows.get(place));
  return [...lines, ...windows.map(([, window]) => `${rangeOf(window.window)}  ${describe(window)}`)];
}

/** Without a duration and a countdown: a line that stays must not depend on when it was written. */
function describe(activity: Activity & { readonly bytes?: number }): string {
  const { doing, bytes, trouble } = activity;
  const parts = [doing, bytes === undefined ? '' : size(bytes), trouble ? describeTrouble(trouble) : ''];
  return parts.filter((part) => part !== '').join(', ');
}

function describeTrouble({ error, retry }: Trouble, now?: number): string {
  if (!retry) return `after ${error}`;
  const { tries, maxTries, wait, isAtMost, at } = retry;
  const left = now === undefined ? wait * 1000 : at - now;
  const next = left <= 0 ? 'trying again' : `next try ${isAtMost ? 'within' : 'in'} ${duration(left)}`;
  return `try ${tries} of ${maxTries}, ${error}, ${next}`;
}

async function draw(execution: Execution, sources: Sources, screen: Screen): Promise<void> {
  const retriers = retriersByState(sources.assembly.stateMachine.definition);
  let progress: Progress = { windows: new Map() };
  let drawn: readonly string[] = [];
  const redraw = () => {
    const lines = picture(progress, sources, screen);
    if (lines.join('\n') !== drawn.join('\n')) screen.write(rewrite(drawn.length, lines));
    drawn = lines;
  };
  const timer = setInterval(redraw, REDRAW_MS);
  try {
    for await (const event of execution.events) progress = advance(progress, event, retriers);
  } finally {
    clearInterval(timer);
    redraw();
  }
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

/** A line for each window that fits, and a last line that counts. */
function picture(progress: Progress, sources: Sources, screen: Screen): string[] {
  // A terminal that does not know its size says 0.
  const { columns, rows } = { columns: screen.columns || 80, rows: screen.rows || 24 };
  // The last line counts, and the cursor stands below it.
  const shown = mostInteresting([...progress.windows.values()], rows - 2);
  const isNarrow = columns < NARROW;
  const lines = shown.map((window) => {
    const range = isNarrow ? window.window.start_date : rangeOf(window.window);
    return `${range}  ${describeLive(window, sources, isNarrow)}`;
  });
  const last = [
    ...(progress.windows.size > 0 ? [count(progress, shown)] : []),
    ...(progress.export ? [describeLive(progress.export, sources, isNarrow)] : []),
  ];
  return [...lines, last.join('; ')].map((line) => line.slice(0, columns - 1));
}

function mostInteresting(windows: readonly WindowProgress[], fitting: number): WindowProgress[] {
  const byInterest = BY_INTEREST.flatMap((stage) => windows.filter((window) => window.stage === stage));
  const chosen = new Set(byInterest.slice(0, Math.max(0, fitting)));
  return windows.filter((window) => chosen.has(window));
}

/** Such as `3 of 26 windows done (not shown: 1 waiting, 3 delivered)`. */
function count({ windows }: Progress, shown: readonly WindowProgress[]): string {
  const all = [...windows.values()];
  const done = all.filter(({ stage }) => stage === 'delivered' || stage === 'failed').length;
  const hidden = BY_INTEREST.flatMap((stage) => {
    const left = all.filter((window) => window.stage === stage && !shown.includes(window)).length;
    return left === 0 ? [] : [`${left} ${stage}`];
  });
  const more = hidden.length === 0 ? '' : ` (not shown: ${hidden.join(', ')})`;
  return `${done} of ${all.length} windows done${more}`;
}

function describeLive(
  activity: Activity & Partial<WindowProgress>,
  { clock, arrived }: Sources,
  isNarrow: boolean,
): string {
  const { doing, since, trouble, stage, key = '' } = activity;
  const bytes = activity.bytes ?? arrived.get(key);
  const isOver = stage === 'delivered' || stage === 'failed';
  const parts = [
    isNarrow && trouble ? '' : doing,
    isOver || trouble ? '' : duration(clock.now() - since),
    trouble ? describeTrouble(trouble, clock.now()) : '',
    bytes === undefined ? '' : size(bytes),
  ];
  return parts.filter((part) => part !== '').join(', ');
}
function rangeOf({ start_date, end_date }: Window): string {
  return `${start_date} to ${end_date}`;
}

/** 75 s are `1 min 15 s`, and 27 h are `1 d 3 h`. */
export function duration(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const [minutes, hours, days] = [60, 3_600, 86_400].map((unit) => Math.floor(seconds / unit)) as [
    number,
    number,
    number,
  ];
  if (days > 0) return `${days} d ${hours % 24} h`;
  if (hours > 0) return `${hours} h ${minutes % 60} min`;
  return minutes === 0 ? `${seconds} s` : `${minutes} min ${seconds % 60} s`;
}

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB'];

/** 1,234,567 are `1.2 MB`. */
export function size(bytes: number): string {
  const step = bytes === 0 ? 0 : Math.min(Math.floor(Math.log10(bytes) / 3), UNITS.length - 1);
  return `${(bytes / 1000 ** step).toFixed(step === 0 ? 0 : 1)} ${UNITS[step]}`;
}

import type { Window } from '../../functions/workflow/states.ts';
import { advance, type Progress, type WindowProgress } from './progress.ts';
import type { LocalRun } from './run.ts';
import type { Execution } from './step-functions.ts';

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
  if (screen.isTTY) await draw(execution, sources, screen);
  else await list(execution, sources, screen);
}

async function list(execution: Execution, sources: Sources, screen: Screen): Promise<void> {
  let progress: Progress = new Map();
  for await (const event of execution.events) {
    const after = advance(progress, event);
    for (const [place, window] of after) {
      // Without the live duration and bytes: later events may have arrived already.
      if (window !== progress.get(place))
        screen.write(`${event.time.slice(11, 19)} ${lineOf(window, sources)}\n`);
    }
    progress = after;
  }
}

async function draw(execution: Execution, sources: Sources, screen: Screen): Promise<void> {
  let progress: Progress = new Map();
  let drawn = 0;
  const redraw = () => {
    const lines = picture(progress, sources, screen);
    screen.write(`${erase(drawn)}${lines.map((line) => `${line}\n`).join('')}`);
    drawn = lines.length;
  };
  const timer = setInterval(redraw, REDRAW_MS);
  try {
    for await (const event of execution.events) progress = advance(progress, event);
  } finally {
    clearInterval(timer);
    redraw();
  }
}

/** Moves the cursor up over the lines drawn before, and clears from there to the end of the screen. */
function erase(lines: number): string {
  return lines === 0 ? '' : `\x1b[${lines}A\x1b[0J`;
}

/** A line for each window, or only for those under way if not all fit; then a count. */
function picture(progress: Progress, sources: Sources, screen: Screen): string[] {
  // A terminal that does not know its size says 0.
  const { columns, rows } = { columns: screen.columns || 80, rows: screen.rows || 24 };
  const windows = [...progress.values()];
  const active = windows.filter(({ done }) => !done);
  const done = windows.length - active.length;
  const fit = windows.length <= rows - 2 ? windows : active.slice(0, rows - 2);
  const counted = windows.length === 0 ? 'plans the export' : `${done} of ${windows.length} windows done`;
  return [...fit.map((window) => lineOf(window, sources, true)), counted].map((line) =>
    line.slice(0, columns - 1),
  );
}

function lineOf(progress: WindowProgress, { clock, arrived }: Sources, live = false): string {
  const { window, key, doing, since, done, trouble } = progress;
  const bytes = progress.bytes ?? (live ? arrived.get(key) : undefined);
  const parts = [
    doing,
    live && !done ? duration(clock.now() - since) : '',
    bytes === undefined ? '' : size(bytes),
    trouble ? `after ${trouble}` : '',
  ];
  return `${rangeOf(window)}  ${parts.filter((part) => part !== '').join(', ')}`;
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

import { readCause } from '../../../functions/workflow/errors.ts';
import { describeDays } from '../../../functions/workflow/request/dates.ts';
import type { WindowState } from '../../../functions/workflow/states.ts';
import type { StepName } from '../../constructs/retries.ts';
import { type ExecutionEvent, plannedWindows } from './executions.ts';

/** Of more lines, the middle is left out, because the beginning and the end say most. */
const FIRST_LINES = 12;
const LAST_LINES = 18;

/** A state that was entered, or that failed. */
interface Visit {
  readonly what: string;
  readonly time: string;
  readonly requestId?: string | undefined;
}

/** Several of these in a row. */
interface Entry extends Visit {
  readonly until: string;
  readonly times: number;
}

/**
 * Describes an execution in lines for a person: the export itself, and the window that it waited for. Visits of one state in a row,
 * such as polls, are one line.
 */
export function describeTimeline(events: readonly ExecutionEvent[]): string[] {
  const window = findWindow(events);
  const own = events.filter((event) => event.window === undefined || event.window === window);
  const sorted = own.toSorted((one, other) => one.time.localeCompare(other.time));
  const entries = sorted.reduce(visit, []).reduce(append, []);
  if (entries.length === 0) return [];
  const range = plannedWindows(events)[window ?? -1];
  const lines = entries.map(describeEntry);
  const omitted = lines.length - FIRST_LINES - LAST_LINES;
  return [
    `Timeline (UTC) of the export${range ? ` and its window ${describeDays(range)}` : ''}:`,
    ...(omitted > 0
      ? [...lines.slice(0, FIRST_LINES), `  … ${omitted} more`, ...lines.slice(-LAST_LINES)]
      : lines),
  ];
}

/** The first window that was not delivered; if all were, the one that was delivered last. */
function findWindow(events: readonly ExecutionEvent[]): number | undefined {
  const delivered = events
    .filter(({ type, output }) => type === 'MapIterationSucceeded' && Object(output).outcome === 'delivered')
    .sort((one, other) => one.time.localeCompare(other.time))
    .map(({ window }) => window);
  const others = events.flatMap(({ window = -1 }) =>
    window < 0 || delivered.includes(window) ? [] : [window],
  );
  return others.length > 0 ? Math.min(...new Set(others)) : delivered.at(-1);
}

function visit(visits: Visit[], { type, time, state = '', stateType, ...rest }: ExecutionEvent): Visit[] {
  if (stateType !== 'Task') return visits;
  const { error, cause = '', output } = rest;
  if (type === 'StateEntered') return [...visits, { what: state, time }];
  if (type === 'StateFailed') {
    const { request_id } = readCause(cause).facts;
    const requestId = typeof request_id === 'string' ? request_id : undefined;
    return [...visits, { what: `${state} failed: ${error}`, time, requestId }];
  }
  const { reports } = Object(output) as Partial<WindowState>;
  const answer = reports?.at(-1)?.last_answer;
  const last = visits.at(-1);
  // A failure that the state machine caught is followed by the exit too.
  const hasAnswered = type === 'StateExited' && last?.what === ('CheckReport' satisfies StepName);
  if (!hasAnswered || state !== last.what || !answer) return visits;
  const what = `${state}: the report ${answer.said}`;
  return [...visits.slice(0, -1), { ...last, what, requestId: answer.request_id }];
}

function append(entries: Entry[], { what, time, requestId }: Visit): Entry[] {
  const last = entries.at(-1);
  if (last?.what !== what) return [...entries, { what, time, until: time, times: 1, requestId }];
  return [...entries.slice(0, -1), { ...last, until: time, times: last.times + 1, requestId }];
}

function describeEntry({ what, time, until, times, requestId }: Entry): string {
  const again = times > 1 ? `, ${times} times until ${toSecond(until)}` : '';
  const id = requestId === undefined ? '' : `, request_id ${requestId}`;
  return `  ${toSecond(time)}  ${what}${id}${again}`;
}

function toSecond(instant: string): string {
  return instant.slice(0, 'YYYY-MM-DDThh:mm:ss'.length).replace('T', ' ');
}

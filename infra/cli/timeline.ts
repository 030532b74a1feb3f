import { readCause } from '../../functions/workflow/errors.ts';
import { describeDays } from '../../functions/workflow/request/dates.ts';
import { type ExecutionEvent, plannedWindows } from './executions.ts';

/** Of more lines, the middle is left out, because the beginning and the end say most. */
const FIRST_LINES = 12;
const LAST_LINES = 18;

/** A state that was entered, or that failed, once or several times in a row. */
interface Entry {
  readonly what: string;
  readonly from: string;
  readonly to: string;
  readonly times: number;
  readonly requestId: string | undefined;
}

/**
 * Describes an execution in lines for a person: the export itself, and the window that it waited for. Visits of one state in a row,
 * such as polls, are one line.
 */
export function describeTimeline(events: readonly ExecutionEvent[]): string[] {
  const window = findWindow(events);
  const own = events.filter((event) => event.window === undefined || event.window === window);
  const entries = own.toSorted((one, other) => one.time.localeCompare(other.time)).reduce(append, []);
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

function append(entries: Entry[], { type, time, state, stateType, error, cause }: ExecutionEvent): Entry[] {
  if (stateType !== 'Task' || (type !== 'StateEntered' && type !== 'StateFailed')) return entries;
  const what = type === 'StateFailed' ? `${state} failed: ${error}` : `${state}`;
  const { request_id } = readCause(cause ?? '').facts;
  const requestId = typeof request_id === 'string' ? request_id : undefined;
  const last = entries.at(-1);
  if (last?.what !== what) return [...entries, { what, from: time, to: time, times: 1, requestId }];
  return [...entries.slice(0, -1), { ...last, to: time, times: last.times + 1, requestId }];
}

function describeEntry({ what, from, to, times, requestId }: Entry): string {
  const again = times > 1 ? `, ${times} times until ${toSecond(to)}` : '';
  const id = requestId === undefined ? '' : `, request_id ${requestId}`;
  return `  ${toSecond(from)}  ${what}${id}${again}`;
}

function toSecond(instant: string): string {
  return instant.slice(0, 'YYYY-MM-DDThh:mm:ss'.length).replace('T', ' ');
}

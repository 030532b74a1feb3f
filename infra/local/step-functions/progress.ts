import { createLogUpdate } from 'log-update';
import prettyBytes from 'pretty-bytes';
import prettyMilliseconds from 'pretty-ms';
import type { AccountsPlan } from '../../../functions/plan-export.ts';
import { type ErrorName, readCause } from '../../../functions/workflow/errors.ts';
import { objectKey } from '../../../functions/workflow/keys.ts';
import { describeDays } from '../../../functions/workflow/request/dates.ts';
import type { ExportPlan, WindowResult, WindowState } from '../../../functions/workflow/states.ts';
import type { LocalRun } from '../run.ts';
import type { HistoryEvent } from './history.ts';
import type { Execution } from './step-functions.ts';

/** The present work of the export, or of one of its windows. */
interface Activity {
  /** Of several accounts. */
  readonly account?: string;
  /** `export`, or the days of the window. */
  readonly name: string;
  /** The key of the window's object. */
  readonly key?: string;
  readonly doing: string;
  /** When it began to do that, in epoch ms by the run's clock. */
  readonly since: number;
  /** The last failure of the state, until it goes on. */
  readonly failed?: string;
  /** Set once the window has ended. */
  readonly outcome?: WindowResult['outcome'];
}

/** @returns undefined if the event changes nothing */
function next(before: Activity | undefined, event: HistoryEvent): Activity | undefined {
  const { type, state, stateType, time, error = '' } = event;
  const since = Date.parse(time);
  if (type === 'StateEntered') {
    const [name, doing] = [nameOf(event), nameState(event)];
    const isSame = doing === before?.doing;
    if (!name || doing === undefined || (isSame && !before?.failed)) return undefined;
    return { ...name, doing, since: (isSame && before?.since) || since };
  }
  if (!before) return undefined;
  const { failed: _, ...activity } = before;
  // A Fail state fails too, and a Map fails with its windows. A token that is renewed is no failure.
  if (type === 'StateFailed' && stateType === 'Task' && error !== TOKEN_REFUSED)
    return { ...activity, failed: sayError(event) };
  if (type === 'StateExited' && state === 'PlanExport') {
    const { accounts, windows = [] } = event.output as Partial<AccountsPlan & ExportPlan>;
    const doing = accounts ? `accounts: ${accounts.length}` : `windows: ${windows.length}`;
    return { ...activity, doing: `planned, ${doing}`, since };
  }
  if (type === 'MapIterationFailed')
    return { ...activity, outcome: 'failed', doing: `failed: ${error}`, since };
  if (type !== 'MapIterationSucceeded') return undefined;
  const result = event.output as WindowResult;
  const { outcome } = result;
  const more = outcome === 'failed' ? `: ${result.failure.error}` : `, ${prettyBytes(result.bytes)}`;
  return { ...activity, outcome, doing: `${outcome}${more}`, since };
}

const TOKEN_REFUSED: ErrorName = 'TokenRefused';

/** @returns undefined for an account of an export: it has an execution of its own */
function nameOf({ window: place, input }: HistoryEvent): Pick<Activity, 'name' | 'key'> | undefined {
  if (place === undefined) return { name: 'export' };
  const { request, window } = input as Partial<WindowState>;
  return request && window && { name: describeDays(window), key: objectKey(request, window) };
}

/** The name of a state that takes time. CheckReport is over at once, and belongs to the wait before it. */
function nameState({ state, stateType, input }: HistoryEvent): string | undefined {
  if ((stateType !== 'Task' && stateType !== 'Wait') || state === 'CheckReport') return undefined;
  const { throttled = 0, wait_seconds = 0 } = Object(input) as Partial<WindowState>;
  const isThrottled = stateType === 'Wait' && throttled > 0;
  return isThrottled ? `${state}, ${duration(wait_seconds * 1000)} after too many requests (429)` : state;
}

/** The error, and the code of a lost connection or the status of an answer. */
function sayError({ error = '', cause = '' }: HistoryEvent): string {
  const { code, host, status } = readCause(cause).facts;
  const about = [code ?? status, host].filter((fact) => fact !== undefined).join(' ');
  return about === '' ? error : `${error} (${about})`;
}

/** The output for the progress. */
export type Screen = Pick<NodeJS.WriteStream, 'write'> &
  Partial<Pick<NodeJS.WriteStream, 'isTTY' | 'columns' | 'rows'>>;

/** Real ms between two redraws of a terminal. */
const REDRAW_MS = 200;

/**
 * Shows the progress of an execution until it ends, with those of its accounts. A terminal that knows its width
 * has a line for each window that runs or failed, and a last line that counts. Any other screen gets a line for
 * each change.
 */
export async function showProgress(
  execution: Pick<Execution, 'name' | 'events'>,
  { clock, arrived, onStart }: Pick<LocalRun, 'clock' | 'arrived' | 'onStart'>,
  screen: Screen,
): Promise<void> {
  const activities = new Map<string, Activity>();
  let planned = 0;
  // Hiding the cursor would take a handler of signals, and the run has its own.
  const update = createLogUpdate(screen as NodeJS.WriteStream, { showCursor: true });
  const draw = () => {
    const all = [...activities.values()];
    const lines = all.flatMap((activity) => {
      const bytes = arrived.get(activity.key ?? '');
      return activity.outcome === 'delivered' ? [] : [describe(activity, { now: clock.now(), bytes })];
    });
    const done = all.filter(({ outcome }) => outcome !== undefined).length;
    update([...lines, ...(planned > 0 ? [`${done} of ${planned} windows done`] : [])].join('\n'));
  };
  const isTerminal = screen.isTTY && screen.columns;
  const follow = async ({ name, events }: typeof execution, account?: string) => {
    const keyOf = (place?: number) => `${name} ${place}`;
    for await (const event of events) {
      const { type, state, stateType, window: place } = event;
      const changed = next(activities.get(keyOf(place)), event);
      const shown = changed && { ...changed, ...(account !== undefined && { account }) };
      if (shown) activities.set(keyOf(place), shown);
      if (type === 'StateExited' && state === 'PlanExport')
        planned += (event.output as Partial<ExportPlan>).windows?.length ?? 0;
      // The export itself does nothing while its windows run, and when it has ended.
      if (type.startsWith('Execution') || stateType === 'Map') activities.delete(keyOf());
      if (shown && !isTerminal) screen.write(`${event.time} ${describe(shown)}\n`);
    }
  };
  const timer = isTerminal ? setInterval(draw, REDRAW_MS) : undefined;
  const ofAccounts: Promise<void>[] = [];
  onStart((started, { account }) => ofAccounts.push(follow(started, String(account))));
  try {
    await follow(execution);
    await Promise.all(ofAccounts);
  } finally {
    clearInterval(timer);
    if (isTerminal) draw();
  }
}

/**
 * @param live the time now, and the bytes that have arrived. A line that stays must not depend on when it was
 *   written
 */
function describe(
  { account, name, doing, since, failed, outcome }: Activity,
  live?: { readonly now: number; readonly bytes: number | undefined },
): string {
  const { now, bytes } = outcome === undefined && live ? live : {};
  const words = [
    `${account === undefined ? '' : `${account}  `}${name}  ${doing}`,
    ...(now === undefined ? [] : [duration(now - since)]),
    ...(bytes === undefined ? [] : [prettyBytes(bytes)]),
  ].join(', ');
  return failed === undefined ? words : `${words}: ${failed}`;
}

/** 75 s are `1m 15s`, 27 h are `1d 3h`, and less than a second is `1s`. */
export function duration(ms: number): string {
  return prettyMilliseconds(Math.max(1000, ms), { secondsDecimalDigits: 0, unitCount: 2 });
}

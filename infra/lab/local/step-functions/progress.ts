import { createLogUpdate } from 'log-update';
import prettyBytes from 'pretty-bytes';
import prettyMilliseconds from 'pretty-ms';
import { count } from '../../../../functions/workflow/count.ts';
import { type ErrorName, readCause } from '../../../../functions/workflow/errors.ts';
import { describeDays } from '../../../../functions/workflow/request/dates.ts';
import type { ExportPlan, WindowResult, WindowState } from '../../../../functions/workflow/states.ts';
import type { LocalRun } from '../local-run.ts';
import type { HistoryEvent } from './history.ts';
import type { Execution } from './step-functions.ts';

/** The present work of an export, or of one of its windows. */
interface Activity {
  /** `export`, or the days of the window; with several accounts, the account before it. */
  readonly name: string;
  readonly doing: string;
  /** When it began, in epoch ms by the run's clock. Absent once the window has ended. */
  readonly since?: number;
}

const TOKEN_REFUSED: ErrorName = 'TokenRefused';

/** The words for an event; undefined if it changes nothing. */
function nameChange({ type, state, stateType, error = '', cause = '', output }: HistoryEvent) {
  // A Fail state fails too, and a Map fails with its windows. A token that is renewed is no failure.
  if (type === 'StateFailed' && stateType === 'Task' && error !== TOKEN_REFUSED) {
    // The code of a lost connection or the status of an answer.
    const { code, host, status } = readCause(cause).facts;
    const about = [code ?? status, host].filter((fact) => fact !== undefined).join(' ');
    return `${state}: ${error}${about && ` (${about})`}`;
  }
  if (type === 'MapIterationFailed') return `failed: ${error}`;
  if (type === 'MapIterationSucceeded') {
    const result = output as WindowResult;
    if (result.outcome === 'failed') return `failed: ${result.failure.error}`;
    return `${result.outcome}, ${prettyBytes(result.bytes)}`;
  }
  // CheckReport is over at once, and belongs to the wait before it.
  const takesTime = (stateType === 'Task' || stateType === 'Wait') && state !== 'CheckReport';
  return type === 'StateEntered' && takesTime ? state : undefined;
}

/** @returns undefined for an account of an export: it has an execution of its own */
function nameWindow({ window: place, input }: HistoryEvent, account: string): string | undefined {
  if (place === undefined) return `${account}export`;
  const { request, window } = Object(input) as Partial<WindowState>;
  if (!request || !window) return undefined;
  return account + describeDays(window) + (window.content === 'total' ? ', total' : '');
}

/** The present steps of an execution's windows, and of those of its accounts. */
class Activities {
  readonly #byKey = new Map<string, Activity>();
  #planned = 0;
  #done = 0;

  /**
   * Takes an event in.
   *
   * @param id of the execution
   * @returns what has changed, if anything has
   */
  update(id: string, event: HistoryEvent, account: string): Activity | undefined {
    if (event.type === 'StateExited' && event.state === 'PlanExport')
      this.#planned += (event.output as Partial<ExportPlan>).windows?.length ?? 0;
    // The export itself does nothing while its windows run, and when it has ended.
    if (event.type.startsWith('Execution') || event.stateType === 'Map') this.#byKey.delete(keyOf(id));
    const key = keyOf(id, event.window);
    const before = this.#byKey.get(key);
    const name = before?.name ?? nameWindow(event, account);
    if (name === undefined) return undefined;
    const doing = nameChange(event);
    if (doing === undefined || doing === before?.doing) return undefined;
    const activity = { name, doing };
    if (!event.type.startsWith('MapIteration'))
      this.#byKey.set(key, { ...activity, since: Date.parse(event.time) });
    else this.#end(key, activity);
    return activity;
  }

  /** A window that failed stays in sight. */
  #end(key: string, activity: Activity): void {
    this.#done += 1;
    if (activity.doing.startsWith('delivered')) this.#byKey.delete(key);
    else this.#byKey.set(key, activity);
  }

  /** A line for each activity, and one that counts. */
  toLines(now: number, title: string | undefined): string[] {
    const lines = [...this.#byKey.values()].map(({ name, doing, since }) =>
      since === undefined ? `${name}  ${doing}` : `${name}  ${doing}, ${duration(now - since)}`,
    );
    const windows = `${this.#done} of ${count(this.#planned, 'window')} done`;
    const counted = [...(title === undefined ? [] : [title]), ...(this.#planned > 0 ? [windows] : [])];
    return counted.length > 0 ? [...lines, counted.join(': ')] : lines;
  }
}

/** @param window of the execution; undefined for the export itself */
function keyOf(id: string, window?: number): string {
  return window === undefined ? id : `${id} ${window}`;
}

/** The output for the progress. */
export type Screen = Pick<NodeJS.WriteStream, 'write'> &
  Partial<Pick<NodeJS.WriteStream, 'isTTY' | 'columns' | 'rows'>>;

/** Real ms between two redraws of a terminal. */
const REDRAW_MS = 200;

/**
 * Shows the progress of an execution and of its accounts until it ends. A terminal that knows its width has a
 * line for each window that runs or failed, and a last line that counts. Any other screen gets a line for
 * each change.
 *
 * @param title the place of this execution in several, such as `run 17 of 48`
 */
export async function showProgress(
  execution: Pick<Execution, 'name' | 'listen' | 'result'>,
  { clock, onStart }: Pick<LocalRun, 'clock' | 'onStart'>,
  screen: Screen,
  title?: string,
): Promise<void> {
  const activities = new Activities();
  // Hiding the cursor would take a handler of signals, and the run has its own.
  const update = createLogUpdate(screen as NodeJS.WriteStream, { showCursor: true });
  const draw = () => update(activities.toLines(clock.now(), title).join('\n'));
  const isTerminal = screen.isTTY && screen.columns;
  const listenTo = ({ name: id, listen }: Pick<Execution, 'name' | 'listen'>, account = '') =>
    listen((event) => {
      const changed = activities.update(id, event, account);
      if (changed && !isTerminal) screen.write(`${event.time} ${changed.name}  ${changed.doing}\n`);
    });
  const timer = isTerminal ? setInterval(draw, REDRAW_MS) : undefined;
  if (title !== undefined && !isTerminal) screen.write(`${title}\n`);
  onStart((started, { account }) => listenTo(started, `${account}  `));
  listenTo(execution);
  try {
    await execution.result;
  } finally {
    clearInterval(timer);
    if (isTerminal) draw();
  }
}

/** 75 s are `1m 15s`, 27 h are `1d 3h`, and less than a second is `1s`. */
export function duration(ms: number): string {
  return prettyMilliseconds(Math.max(1000, ms), { secondsDecimalDigits: 0, unitCount: 2 });
}

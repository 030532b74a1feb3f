import { count } from '../workflow/count.ts';
import { Caught, type Window } from '../workflow/state-parts.ts';
import {
  type DeliveredWindow,
  type ExportPlan,
  type FailedWindow,
  WindowResult,
} from '../workflow/states.ts';

/** A window whose execution ended without a result, for example because it was killed. */
interface LostWindow {
  readonly outcome: 'lost';
  readonly window: Window;
  readonly caught: Caught;
}

export type WindowOutcome = DeliveredWindow | FailedWindow | LostWindow;

const NO_RESULT: Caught = {
  Error: 'StepFunctions.TaskFailed',
  Cause:
    "The window's execution ended without a result. It is among the executions of the Map Run of ExportWindows.",
};

/**
 * Finds the outcome of each planned window. Step Functions does not document the result of a child execution
 * that failed, so anything that is not a window's result counts as lost.
 *
 * @param results in the order of `windows`; may be shorter
 */
export function collectOutcomes(
  windows: ExportPlan['windows'],
  results: readonly unknown[],
): WindowOutcome[] {
  const known = results.flatMap((result) => WindowResult.safeParse(result).data ?? []);
  return windows.map((window, index) => {
    const isOfWindow = (result: WindowResult) =>
      result.window.start_date === window.start_date && result.window.content === window.content;
    const result = known.find(isOfWindow);
    return result ?? { outcome: 'lost', window, caught: Caught.safeParse(results[index]).data ?? NO_RESULT };
  });
}

/** The problem of the first window whose rows are not in the export's table. */
export function problemOf(outcomes: readonly WindowOutcome[]): string | undefined {
  const problems = outcomes.map((window) =>
    window.outcome === 'delivered' ? window.table_problem : undefined,
  );
  return problems.find((problem) => problem !== undefined);
}

/** Such as `1 of 3 windows was not delivered`. */
export function countUndelivered(failed: number, windows: number): string {
  return `${failed} of ${count(windows, 'window')} ${failed === 1 ? 'was' : 'were'} not delivered`;
}

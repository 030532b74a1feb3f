import { Caught, type Restated, type Window } from '../workflow/state-parts.ts';
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

type WindowOutcome = DeliveredWindow | FailedWindow | LostWindow;

const NO_RESULT: Caught = {
  Error: 'StepFunctions.TaskFailed',
  Cause:
    "The window's execution ended without a result. It is among the executions of the Map Run of ExportWindows.",
};

/**
 * Finds the outcome of each planned window. Step Functions does not document the result of a child execution that failed,
 * so anything that is not a window's result counts as lost.
 *
 * @param results in the order of `windows`; may be shorter
 */
export function collectOutcomes(
  windows: ExportPlan['windows'],
  results: readonly unknown[],
): WindowOutcome[] {
  const found = results.flatMap((result) => WindowResult.safeParse(result).data ?? []);
  return windows.map((window, index) => {
    const result = found.find((candidate) => candidate.window.start_date === window.start_date);
    return result ?? { outcome: 'lost', window, caught: Caught.safeParse(results[index]).data ?? NO_RESULT };
  });
}

/** Adds up the restated days of windows. Returns nothing if no window has a table. */
export function sumRestated(windows: readonly DeliveredWindow[]): Partial<Restated> {
  const written = windows.filter(({ restated }) => restated !== undefined);
  if (written.length === 0) return {};
  const days = written
    .flatMap((each) => [each.first_restated ?? [], each.last_restated ?? []])
    .flat()
    .sort();
  const [first_restated, last_restated] = [days[0], days.at(-1)];
  return {
    restated: written.reduce((sum, { restated = 0 }) => sum + restated, 0),
    ...(first_restated !== undefined && { first_restated }),
    ...(last_restated !== undefined && { last_restated }),
  };
}

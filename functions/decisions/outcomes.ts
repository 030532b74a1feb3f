import {
  Caught,
  type DeliveredWindow,
  type ExportPlan,
  type FailedWindow,
  WindowResult,
} from '../workflow/states.ts';

/** A window whose execution ended without a result: it was killed, or could not even describe its failure. */
export interface LostWindow {
  readonly outcome: 'lost';
  readonly window: ExportPlan['windows'][number];
  readonly caught: Caught;
}

export type Outcome = DeliveredWindow | FailedWindow | LostWindow;

/** What is known of a window of which there is nothing. */
const NO_RESULT: Caught = {
  Error: 'States.TaskFailed',
  Cause:
    "The window's execution ended without a result. It is among the executions of the Map Run of ExportWindows.",
};

/**
 * How each of the planned windows ended. The plan is what counts: Step Functions does not say what the results hold for an
 * execution that failed, so whatever is no result of a window may stand there, or nothing.
 *
 * @param results in the order of `windows`, as far as there is one for each
 */
export function outcomesOf(windows: ExportPlan['windows'], results: readonly unknown[]): Outcome[] {
  const ended = results.flatMap((result) => WindowResult.safeParse(result).data ?? []);
  return windows.map((window, at) => {
    const result = ended.find((one) => one.window.start_date === window.start_date);
    return result ?? { outcome: 'lost', window, caught: Caught.safeParse(results[at]).data ?? NO_RESULT };
  });
}

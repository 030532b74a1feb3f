import { Caught, type Comparison, type TableChanges, type Window } from '../workflow/state-parts.ts';
import {
  type DeliveredWindow,
  type ExportPlan,
  type FailedWindow,
  WindowResult,
} from '../workflow/states.ts';
import { addByMetric } from './total.ts';

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
 * Finds the outcome of each planned window. Step Functions does not document the result of a child execution
 * that failed, so anything that is not a window's result counts as lost.
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

/** The problem of the first window whose rows are not in the export's table. */
export function problemOf(outcomes: readonly WindowOutcome[]): string | undefined {
  const problems = outcomes.map((each) => (each.outcome === 'delivered' ? each.table_problem : undefined));
  return problems.find((problem) => problem !== undefined);
}

/** Such as `1 of 3 windows was not delivered`. */
export function countUndelivered(failed: number, windows: number): string {
  return `${failed} of ${windows} windows ${failed === 1 ? 'was' : 'were'} not delivered`;
}

/** Adds up what windows changed in their table. Returns nothing if none was written. */
export function sumChanges(windows: readonly DeliveredWindow[]): Partial<TableChanges> {
  const written = windows.filter(({ restated }) => restated !== undefined);
  if (written.length === 0) return {};
  const sorted = (days: readonly (string | undefined)[]) =>
    days.filter((day) => day !== undefined).toSorted();
  const restated = sorted(written.flatMap((each) => [each.first_restated, each.last_restated]));
  const held = sorted(written.flatMap((each) => [each.first_held, each.last_held]));
  return {
    restated: written.reduce((sum, { restated = 0 }) => sum + restated, 0),
    first_restated: restated[0],
    last_restated: restated.at(-1),
    held: written.reduce((sum, { held = 0 }) => sum + held, 0),
    first_held: held[0],
    last_held: held.at(-1),
  };
}

/** Adds up what windows compared with the platform's totals. A window has the first metrics only. */
export function sumComparisons(windows: readonly DeliveredWindow[]): Comparison | undefined {
  const all = windows.flatMap(({ reconciled }) => reconciled ?? []);
  if (all.length === 0) return undefined;
  const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);
  const above = all.flatMap(({ above_tolerance }) => above_tolerance ?? []);
  const isInAll = (name: string) => all.every(({ metrics }) => metrics.some(({ metric }) => metric === name));
  return {
    days: sum(all.map(({ days }) => days)),
    above_tolerance: above.length > 0 ? sum(above) : undefined,
    metrics: addByMetric(all.flatMap(({ metrics }) => metrics).filter(({ metric }) => isInAll(metric))),
  };
}

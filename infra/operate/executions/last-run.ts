import type { ExportRecords } from '../../../functions/days/records.ts';
import { daysToRenew, runningExecution } from '../../../functions/days/runs.ts';
import { latest } from '../days/latest.ts';

/**
 * Finds the last run of an export that has ended, as its records tell it. `incomplete`: it was stopped,
 * killed or timed out. A local run may also still run. `at` is when it delivered its last window or failed,
 * or when it began, if it did neither. A run whose days have all been renewed is not incomplete: a second
 * start by EventBridge Scheduler leaves an object of it behind.
 *
 * @param running executions that have not ended
 */
export function findLastRun({ deliveries, failures, runs: all }: ExportRecords, running: readonly string[]) {
  const runs = all.filter((run) => daysToRenew(run, deliveries).length > 0);
  const unfinished = new Set(runs.map(({ execution }) => execution));
  const delivered = deliveries.map(({ manifest: { published_at: at, execution } }) => {
    const outcome = unfinished.has(execution) ? ('incomplete' as const) : ('delivered' as const);
    return { execution, outcome, at };
  });
  const failed = failures.map(({ execution, at, error }) => {
    return { execution, outcome: 'failed' as const, at, error };
  });
  const begun = runs
    .filter((run) => !runningExecution(run, running))
    .map(({ execution, began_at: at }) => {
      return { execution, outcome: 'incomplete' as const, at };
    });
  const ends = [...delivered, ...begun, ...failed];
  return latest(ends.filter(({ execution }) => !running.includes(execution)));
}

/** Such as `timed out` or `failed: ReportStuck`. */
export function describeEnd(run: { readonly outcome: string; readonly error?: string | undefined }): string {
  const outcome = run.outcome.replace('_', ' ');
  return run.error === undefined ? outcome : `${outcome}: ${run.error}`;
}

/** 2026-11-22T02:31:12.521Z is `2026-11-22 02:31`. */
export function toMinute(instant: string): string {
  return instant.slice(0, 'YYYY-MM-DDThh:mm'.length).replace('T', ' ');
}

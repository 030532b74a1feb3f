import type { ExportRecords } from '../../../functions/days/records.ts';
import { latest } from '../days/exports.ts';

/**
 * Finds the last run of an export that has ended, as its records tell it. `incomplete`: it was stopped,
 * killed or timed out. A local run may also still run. `at` is when it delivered its last window or failed,
 * or when it began, if it did neither.
 *
 * @param running executions that have not ended
 */
export function findLastRun({ deliveries, failures, runs }: ExportRecords, running: readonly string[]) {
  const unfinished = new Set(runs.map(({ execution }) => execution));
  const delivered = deliveries.map(({ manifest: { published_at: at, execution } }) => {
    const outcome = unfinished.has(execution) ? ('incomplete' as const) : ('delivered' as const);
    return { execution, outcome, at };
  });
  const failed = failures.map(({ execution, at, error }) => {
    return { execution, outcome: 'failed' as const, at, error };
  });
  const begun = runs.map(({ execution, began_at: at }) => {
    return { execution, outcome: 'incomplete' as const, at };
  });
  const all = [...delivered, ...begun, ...failed];
  return latest(all.filter(({ execution }) => !running.includes(execution)));
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

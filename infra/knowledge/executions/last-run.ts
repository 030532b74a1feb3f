import type { ExportRecords } from '../../../functions/deliveries/records.ts';
import { latest } from '../recent.ts';

/**
 * Finds the last run of an export that has ended, as its records tell it. `incomplete`: it was stopped,
 * killed or timed out. A local run may also still run. `at` is when it delivered its last window or failed,
 * or when it began, if it did neither.
 *
 * @param running executions that have not ended
 */
export function findLastRun({ deliveries, failures, plans }: ExportRecords, running: readonly string[]) {
  const open = plans.filter(({ execution }) => !running.includes(execution));
  const delivered = deliveries.map(({ published_at: at, execution, asked, ...window }) => {
    const { start_date, end_date } = asked ?? window;
    const isComplete = open.every((plan) => plan.start_date !== start_date || plan.end_date !== end_date);
    return { execution, outcome: isComplete ? ('delivered' as const) : ('incomplete' as const), at };
  });
  const failed = failures.map(({ execution, at, error }) => {
    return { execution, outcome: 'failed' as const, at, error };
  });
  const asked = open.map(({ execution, started_at: at }) => {
    return { execution, outcome: 'incomplete' as const, at };
  });
  return latest([...delivered, ...failed, ...asked].filter(({ execution }) => !running.includes(execution)));
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

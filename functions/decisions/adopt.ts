import { createHash } from 'node:crypto';
import { parseJson } from '../workflow/json.ts';
import { failureKey } from '../workflow/keys.ts';
import { dateIn } from '../workflow/request/dates.ts';
import type { ExportRequest } from '../workflow/request/request.ts';
import type { AdoptableReport, PlannedWindow, Window } from '../workflow/state-parts.ts';
import { FailureReport } from '../workflow/states.ts';
import { type DeliveredObjects, inBatches } from './missing.ts';

const PREFIX = 'resume-';

/** The length that Step Functions allows for an execution's name. */
const MAX_NAME_LENGTH = 80;

/**
 * The name of the one execution that may adopt the reports of an ended one. Step Functions accepts a name once in 90 days, so no two
 * executions adopt, and thus poll, the same report.
 */
export function resumeName(execution: string): string {
  const name = `${PREFIX}${execution}`;
  if (name.length <= MAX_NAME_LENGTH) return name;
  return `${PREFIX}${createHash('sha256').update(execution).digest('hex')}`;
}

/**
 * Adds to each window the report that it left when it failed, if this execution may adopt it: the execution is the one that resumes
 * the failed one, and the report was created after the window's last day had ended. A window that was stopped left no failure report,
 * so its report is not known.
 *
 * @param execution the name of this execution
 * @throws AccessRefused, ServiceUnavailable
 */
export async function findAdoptable(
  request: ExportRequest,
  windows: readonly Window[],
  { store, execution }: { readonly store: Pick<DeliveredObjects, 'getText'>; readonly execution: string },
): Promise<PlannedWindow[]> {
  if (request.kind !== 'report' || !execution.startsWith(PREFIX)) return [...windows];
  const { time_zone = 'UTC' } = request;
  return inBatches(windows, async (window) => {
    const failure = await store.getText(failureKey(request, window));
    const adoptable_report = readAdoptable(failure ?? '', window, execution);
    const isWhole =
      adoptable_report && dateIn(time_zone, new Date(adoptable_report.created_at)) >= window.end_date;
    return isWhole ? { ...window, adoptable_report } : window;
  });
}

function readAdoptable(
  failure: string,
  { start_date, end_date }: Window,
  execution: string,
): AdoptableReport | undefined {
  const report = FailureReport.safeParse(parseJson(failure)).data;
  // The only window shares its `_failure.json` with the export.
  const failures = [report, ...(report?.failed_windows ?? [])];
  const own = failures.find(
    (each) => each?.window?.start_date === start_date && each.window.end_date === end_date,
  );
  return own && resumeName(own.execution) === execution ? own.adoptable_report : undefined;
}

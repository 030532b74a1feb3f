import { createHandler } from './aws/handler.ts';
import { createObjectStore, type ObjectStore } from './aws/objects.ts';
import { createFailureReport, sectionLink, summarizeReport } from './decisions/failure-report.ts';
import { collectOutcomes, countUndelivered, problemOf } from './decisions/outcomes.ts';
import { failureKey } from './workflow/keys.ts';
import { READS } from './workflow/settings.ts';
import type { FailureReport } from './workflow/state-parts.ts';
import {
  DescribeFailureInput,
  type ExportFailed,
  ExportResult,
  type FailedWindow,
  PublishExportInput,
  type WindowFailure,
} from './workflow/states.ts';
import type { Common } from './workflow/step.ts';

/** Windows that the failure report of an export shows; the rest are counted. */
const MAX_WINDOWS_SHOWN = 10;

interface Dependencies extends Pick<Common, 'log' | 'now'> {
  readonly store: Pick<ObjectStore, 'putJson' | 'bucket'>;
  readonly runbookUrl: string | undefined;
  readonly program: string;
}

/**
 * Writes the failure report of a window or of the export, and stores it beside the place of the objects.
 * After a window's failure, the export continues. This step must not fail itself, so it only logs that a
 * report could not be written.
 */
export async function describeFailure(
  state: DescribeFailureInput,
  dependencies: Dependencies,
): Promise<FailedWindow | ExportFailed> {
  if (isWindowFailure(state)) return failWindow(state, dependencies);
  // PlanExport has checked the request. `results` comes when the windows end.
  const planned = PublishExportInput.safeParse(state).data;
  // Everything was delivered, and only the event could not be sent.
  const published = ExportResult.safeParse(state).data;
  // Undefined if the request was never checked. Then there is no key, which has checked parts only.
  const asked = planned?.request ?? published;
  const key = asked && failureKey(asked, asked);
  const failure = {
    ...createFailureReport(state.caught, { ...dependencies, execution: state.execution, request: asked }),
    ...(planned && (await sumUpWindows(planned, dependencies))),
    ...(published && { windows_delivered: published.windows.length }),
    ...(key !== undefined && { bucket: dependencies.store.bucket, key }),
  };
  if (key !== undefined) await storeReport(failure, key, dependencies);
  return { failure, cause: JSON.stringify(failure) };
}

function isWindowFailure(state: DescribeFailureInput): state is WindowFailure {
  return 'window' in state;
}

async function failWindow(
  state: Pick<WindowFailure, 'caught' | 'execution' | 'request' | 'window' | 'reports'>,
  dependencies: Dependencies,
): Promise<FailedWindow> {
  const { caught, request, window } = state;
  const report = createFailureReport(caught, { ...dependencies, ...state });
  await storeReport(report, failureKey(request, window), dependencies);
  return { outcome: 'failed', window, failure: summarizeReport(report) };
}

/** If the windows that failed have the same error, the export gets that error and what to do about it. */
async function sumUpWindows(
  { execution, request, windows, results }: PublishExportInput,
  dependencies: Dependencies,
): Promise<Partial<FailureReport>> {
  if (!results) return {};
  // A total of the platform that fails is a warning, and not a failure.
  const outcomes = collectOutcomes(windows, results).filter(({ window }) => window.content === undefined);
  const failed = await Promise.all(
    outcomes.map(async (outcome) => {
      if (outcome.outcome === 'delivered') return [];
      const { window } = outcome;
      // A lost window's execution died before it could describe its own failure.
      const lost = { execution, request, reports: [] };
      const { failure } =
        outcome.outcome === 'lost' ? await failWindow({ ...lost, ...outcome }, dependencies) : outcome;
      return [{ ...failure, window }];
    }),
  ).then((failures) => failures.flat());
  const table_problem = problemOf(outcomes);
  const counts = {
    windows_delivered: outcomes.length - failed.length,
    ...(table_problem !== undefined && { table_problem }),
  };
  const [first] = failed;
  if (!first) return counts;
  const { error, todo, faults, happened } = first;
  const isSameError = failed.every((failure) => failure.error === error);
  const failed_windows = failed.slice(0, MAX_WINDOWS_SHOWN);
  const runbook = sectionLink(error, dependencies.runbookUrl);
  return {
    ...counts,
    ...(isSameError && { error, todo, runbook, ...(faults && { faults }) }),
    happened:
      outcomes.length === 1 ? happened : `${countUndelivered(failed.length, outcomes.length)}. ${happened}`,
    report_ids: failed_windows.flatMap(({ report_ids }) => report_ids),
    request_ids: [...new Set(failed_windows.flatMap(({ request_ids }) => request_ids))],
    failed_windows,
    windows_failed: failed.length,
  };
}

/** The failure is announced even if its report cannot be stored. */
async function storeReport(report: FailureReport, key: string, { store, log }: Dependencies): Promise<void> {
  await store.putJson(key, report).catch((error: unknown) => {
    const name = error instanceof Error ? error.name : 'unknown';
    log.warn('the failure report could not be written', { key, error: name });
  });
}

export const handler = createHandler(
  READS.DescribeFailure,
  DescribeFailureInput,
  describeFailure,
  (settings) => ({
    store: createObjectStore(settings),
    runbookUrl: settings.RUNBOOK_URL,
    program: settings.PROGRAM,
  }),
);

import * as z from 'zod/mini';
import { createHandler } from './aws/handler.ts';
import { createObjectStore, type ObjectStore } from './aws/objects.ts';
import { createFailureReport, sectionLink, summarizeReport } from './decisions/failure-report.ts';
import { collectOutcomes, countUndelivered } from './decisions/outcomes.ts';
import { failureKey } from './workflow/keys.ts';
import { ExportRequest } from './workflow/request/request.ts';
import { READS } from './workflow/settings.ts';
import { Window } from './workflow/state-parts.ts';
import {
  DescribeFailureInput,
  type ExportFailed,
  type ExportFailure,
  type FailedWindow,
  type FailureReport,
  type WindowFailure,
} from './workflow/states.ts';
import type { Common } from './workflow/step.ts';

/** Windows that the failure report of an export shows; the rest are counted. */
const MAX_WINDOWS_SHOWN = 10;

interface Dependencies extends Pick<Common, 'log' | 'now'> {
  readonly store: Pick<ObjectStore, 'putJson' | 'bucket'>;
  readonly runbookUrl: string | undefined;
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
  if (isWindowFailure(state)) return describeWindow(state, dependencies);
  const checked = checkedRequest(state);
  const key = checked && failureKey(checked, checked);
  const place = key === undefined ? {} : { bucket: dependencies.store.bucket, key };
  const failure = { ...(await describeExport(state, dependencies)), ...place };
  if (key !== undefined) await storeReport(failure, key, dependencies);
  return { failure, cause: JSON.stringify(failure) };
}

function isWindowFailure(state: DescribeFailureInput): state is WindowFailure {
  return 'window' in state;
}

async function describeWindow(
  state: Pick<WindowFailure, 'caught' | 'execution' | 'request' | 'window' | 'reports'>,
  dependencies: Dependencies,
): Promise<FailedWindow> {
  const { caught, execution, request, window, reports } = state;
  const { now, runbookUrl } = dependencies;
  const report = createFailureReport(caught, {
    execution,
    account: request.account,
    export: request.name,
    window,
    report_ids: reports.map(({ id }) => id),
    now: now(),
    runbookUrl,
  });
  await storeReport(report, failureKey(request, window), dependencies);
  return { outcome: 'failed', window, failure: summarizeReport(report) };
}

/** The export's state after PlanExport has checked the request. `results` comes when the windows end. */
const PlannedExport = z.object({
  windows: z.array(Window),
  request: ExportRequest,
  results: z.optional(z.array(z.unknown())),
});

async function describeExport(state: ExportFailure, dependencies: Dependencies): Promise<FailureReport> {
  const { caught, execution } = state;
  const { now, runbookUrl } = dependencies;
  const { account, name } = checkedRequest(state) ?? {};
  const names = { execution, account, export: name };
  const failure = createFailureReport(caught, { ...names, now: now(), runbookUrl });
  const { windows, request, results } = PlannedExport.safeParse(state).data ?? {};
  if (!windows || !request || !results) {
    const delivered = ExportSummary.safeParse(state).data?.windows;
    return { ...failure, ...(delivered && { windows_delivered: delivered.length }) };
  }
  const outcomes = collectOutcomes(windows, results);
  const failed = await Promise.all(
    outcomes.map(async (each) => {
      if (each.outcome === 'delivered') return [];
      const { window } = each;
      if (each.outcome === 'failed') return [{ ...each.failure, window }];
      // Its execution died before it could describe its own failure.
      const lost = { caught: each.caught, execution, request, window, reports: [] };
      return [{ ...(await describeWindow(lost, dependencies)).failure, window }];
    }),
  );
  const delivered = outcomes.filter((each) => each.outcome === 'delivered');
  const table_problem = delivered.find((each) => each.table_problem !== undefined)?.table_problem;
  return {
    ...failure,
    ...describeFailed(failed.flat(), windows.length, runbookUrl),
    windows_delivered: delivered.length,
    ...(table_problem !== undefined && { table_problem }),
  };
}

/** If the windows that failed have the same error, the export gets that error and what to do about it. */
function describeFailed(
  failed: NonNullable<FailureReport['failed_windows']>,
  windows: number,
  runbookUrl: string | undefined,
): Partial<FailureReport> {
  const [first] = failed;
  if (!first) return {};
  const { error, todo, faults } = first;
  const isSameError = failed.every((each) => each.error === error);
  const failed_windows = failed.slice(0, MAX_WINDOWS_SHOWN);
  return {
    ...(isSameError && { error, todo, runbook: sectionLink(error, runbookUrl), ...(faults && { faults }) }),
    happened:
      windows === 1 ? first.happened : `${countUndelivered(failed.length, windows)}. ${first.happened}`,
    report_ids: failed_windows.flatMap(({ report_ids }) => report_ids),
    request_ids: [...new Set(failed_windows.flatMap(({ request_ids }) => request_ids))],
    failed_windows,
    windows_failed: failed.length,
  };
}

/** PublishExport's result, which could not be announced. It was made from a checked request. */
const ExportSummary = z.object({
  bucket: z.string(),
  account: z.string(),
  name: z.string(),
  start_date: z.string(),
  end_date: z.string(),
  windows: z.optional(z.array(z.unknown())),
});

/** The export's names and range. Undefined if its request was never checked: a key has only checked parts. */
function checkedRequest(state: ExportFailure) {
  return PlannedExport.safeParse(state).data?.request ?? ExportSummary.safeParse(state).data;
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
  }),
);

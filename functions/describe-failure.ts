import * as z from 'zod/mini';
import { createHandler } from './aws/handler.ts';
import { createObjectStore, type ObjectStore } from './aws/objects.ts';
import { type Abandon, createAbandon } from './copy/upload.ts';
import { createFailureReport, trimToCause, trimToState } from './decisions/failure-report.ts';
import { collectOutcomes, type LostWindow, sumRestated } from './decisions/outcomes.ts';
import { ServiceUnavailable } from './workflow/errors.ts';
import { failureKey, objectKey } from './workflow/keys.ts';
import { ExportRequest } from './workflow/request/request.ts';
import { READS } from './workflow/settings.ts';
import { AdoptableReport, Restated, Window, WindowObject } from './workflow/state-parts.ts';
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
  readonly abandon: Abandon;
  readonly runbookUrl: string | undefined;
}

/**
 * Writes the failure report of a window or of the export, and stores it beside the place of the objects. After a window's
 * failure, the export continues. This step must not fail itself, so it only logs that a report could not be written.
 */
export async function describeFailure(
  state: DescribeFailureInput,
  dependencies: Dependencies,
): Promise<FailedWindow | ExportFailed> {
  if (isWindowFailure(state)) return describeWindow(state, dependencies);
  const key = keyOfExport(state);
  const place = key === undefined ? {} : { bucket: dependencies.store.bucket, key };
  const failure = trimToCause({ ...(await describeExport(state, dependencies)), ...place });
  if (key !== undefined) await storeReport(failure, key, dependencies);
  return { failure, cause: JSON.stringify(failure) };
}

function isWindowFailure(state: DescribeFailureInput): state is WindowFailure {
  return 'window' in state;
}

async function describeWindow(state: WindowFailure, dependencies: Dependencies): Promise<FailedWindow> {
  const { caught, execution, request, reports, timeline, checkpoint, object, curated } = state;
  const { adoptable_report: planned, ...window } = state.window;
  const { now, runbookUrl, abandon } = dependencies;
  const failure = createFailureReport(caught, {
    ...{ execution, account: request.account, export: request.name, window, timeline, runbookUrl },
    ...{ report_ids: reports.map(({ id }) => id), now: now() },
    adoptable_report: reports.length > 0 ? newestUsable(state) : planned,
    ...{ key: object?.key, restated: curated?.table && Restated.parse(curated.table) },
  });
  // The window's next run may copy another report, so it cannot resume this upload.
  if (checkpoint) await abandon(objectKey(request, window), checkpoint.upload_id);
  await storeReport(failure, failureKey(request, window), dependencies);
  return { outcome: 'failed', window, failure: trimToState(failure) };
}

/** Leaves out a report that this window had adopted, because no report may make every `resume` fail. */
function newestUsable({ reports, begun_at = '' }: WindowFailure): AdoptableReport | undefined {
  const { id, created_at = '', given_up, useless_answers } = reports.at(-1) ?? {};
  const isAdopted = Date.parse(created_at) < Date.parse(begun_at);
  if (given_up || useless_answers || isAdopted) return undefined;
  return AdoptableReport.safeParse({ id, created_at }).data;
}

/** The export's state once PlanExport has checked the request; it has `results` once the windows have ended. */
const PlannedExport = z.object({
  windows: z.array(Window),
  request: ExportRequest,
  results: z.optional(z.array(z.unknown())),
});

async function describeExport(state: ExportFailure, dependencies: Dependencies): Promise<FailureReport> {
  const { caught, execution } = state;
  const { now, runbookUrl } = dependencies;
  const failure = createFailureReport(caught, { execution, ...namesIn(state), now: now(), runbookUrl });
  const { windows, request, results } = PlannedExport.safeParse(state).data ?? {};
  if (!windows || !request || !results) {
    const { windows: delivered_windows, ...restated } = ExportSummary.safeParse(state).data ?? {};
    return { ...failure, ...sumRestated([restated]), ...(delivered_windows && { delivered_windows }) };
  }
  const outcomes = collectOutcomes(windows, results);
  const delivered_windows = outcomes.flatMap((window) =>
    window.outcome === 'delivered' ? [{ window: window.window, key: window.key }] : [],
  );
  const reports = await Promise.all(
    outcomes.map((window) => {
      if (window.outcome === 'lost') return describeLostWindow(window, { execution, request }, dependencies);
      return window.outcome === 'failed' ? [window.failure] : [];
    }),
  );
  const written = outcomes.map((window) => {
    if (window.outcome === 'lost') return {};
    return window.outcome === 'failed' ? window.failure : window;
  });
  return {
    ...summarizeWindows(failure, reports.flat(), windows.length),
    ...sumRestated(written),
    delivered_windows,
  };
}

/** A lost window's execution died before it could describe its own failure. */
async function describeLostWindow(
  { window, caught }: LostWindow,
  { execution, request }: Pick<WindowFailure, 'execution' | 'request'>,
  dependencies: Dependencies,
): Promise<FailureReport> {
  const { now, runbookUrl } = dependencies;
  const names = { account: request.account, export: request.name };
  const failure = createFailureReport(caught, { execution, ...names, window, now: now(), runbookUrl });
  await storeReport(failure, failureKey(request, window), dependencies);
  return trimToState(failure);
}

/** If all windows failed with the same error, the export gets that error and what to do about it. */
function summarizeWindows(
  failure: FailureReport,
  reports: readonly FailureReport[],
  windows: number,
): FailureReport {
  const [first] = reports;
  if (!first) return failure;
  const { error, aws_error, todo, runbook, faults } = first;
  const isSameError = reports.every((report) => report.error === error);
  return {
    ...failure,
    ...(isSameError && { error, todo, runbook, ...(aws_error && { aws_error }), ...(faults && { faults }) }),
    happened:
      windows === 1
        ? first.happened
        : `${reports.length} of ${windows} windows were not delivered. ${first.happened}`,
    timeline: first.timeline,
    report_ids: reports.flatMap(({ report_ids }) => report_ids),
    request_ids: [...new Set(reports.flatMap(({ request_ids }) => request_ids))],
    failed_windows: reports.slice(0, MAX_WINDOWS_SHOWN),
    windows_failed: reports.length,
    windows_delivered: windows - reports.length,
  };
}

/** The request may not be checked yet, so a name may be any text. A valid one has at most 64 characters. */
function readName(value: unknown): string | undefined {
  return typeof value === 'string' ? value.slice(0, 64) : undefined;
}

/** Reads each name by itself, because the other one may be the fault. PublishExport's result has them without a request. */
function namesIn(state: ExportFailure): { account?: string | undefined; export?: string | undefined } {
  const { account, name } = Object(state.request ?? state) as { account?: unknown; name?: unknown };
  return { account: readName(account), export: readName(name) };
}

/** PublishExport's result, which could not be announced. It was made from a checked request. */
const ExportSummary = z.object({
  ...{ bucket: z.string(), account: z.string(), name: z.string() },
  ...{ start_date: z.string(), end_date: z.string() },
  windows: z.optional(z.array(WindowObject)),
  ...z.partial(Restated).shape,
});

/** Undefined if the request was never checked, because a key consists of validated parts only. */
function keyOfExport(state: ExportFailure): string | undefined {
  const checked = PlannedExport.safeParse(state).data?.request ?? ExportSummary.safeParse(state).data;
  return checked && failureKey(checked, checked);
}

/** Tries twice, because no state repeats this step: the failure is announced even if its report is not stored. */
async function storeReport(report: FailureReport, key: string, { store, log }: Dependencies): Promise<void> {
  const put = () => store.putJson(key, report);
  try {
    await put().catch((error: unknown) => {
      if (error instanceof ServiceUnavailable) return put();
      throw error;
    });
  } catch (error) {
    const name = error instanceof Error ? error.name : 'unknown';
    log.warn('the failure report could not be written', { key, error: name });
  }
}

export const handler = createHandler(
  READS.DescribeFailure,
  DescribeFailureInput,
  describeFailure,
  (settings) => ({
    store: createObjectStore(settings),
    abandon: createAbandon(settings),
    runbookUrl: settings.RUNBOOK_URL,
  }),
);

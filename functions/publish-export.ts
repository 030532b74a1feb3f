import { createHandler } from './aws/handler.ts';
import { createObjectStore, type ObjectStore } from './aws/objects.ts';
import { isForgotten, type Run, readRuns } from './days/runs.ts';
import { collectOutcomes, countUndelivered, problemOf, type WindowOutcome } from './decisions/outcomes.ts';
import { runCommand } from './decisions/run-command.ts';
import { aboveTolerance, addByMetric, type ComparedDay, sayNoTotal } from './decisions/total.ts';
import { NOT_READ, shortenTexts } from './decisions/warnings.ts';
import { type ReconciledWindow, readComparedDays } from './tables/reconcile.ts';
import { reasonOf } from './tables/report.ts';
import { ExportIncomplete, readCause } from './workflow/errors.ts';
import { runKey } from './workflow/keys.ts';
import { describeDays, earliest, latestDate } from './workflow/request/dates.ts';
import { READS } from './workflow/settings.ts';
import type { Comparison, TableChanges, Window } from './workflow/state-parts.ts';
import { type DeliveredWindow, type ExportResult, PublishExportInput } from './workflow/states.ts';
import type { Common } from './workflow/step.ts';

/** Bytes of the result's warnings. Its windows have at most 100 × 1,700 bytes, and an event has 256 KB. */
const MAX_WARNINGS = 50_000;

interface Dependencies extends Pick<Common, 'now'> {
  readonly store: Pick<ObjectStore, 'bucket' | 'list' | 'getText' | 'readEnd' | 'remove'>;
  readonly program: string;
}

/**
 * Sums up the windows. The result becomes the event's detail and the execution's output. If no window failed,
 * the run is finished: its object is removed, and the objects of earlier runs that it ends. A total of the
 * platform that failed is a warning.
 *
 * @throws ExportIncomplete if a window failed or has no result; delivered windows stay delivered
 * @throws AccessRefused, ServiceUnavailable
 */
export async function publishExport(
  plan: PublishExportInput,
  { store, now, program }: Dependencies,
): Promise<ExportResult> {
  const { execution, request, windows: planned, results = [], already_delivered, warnings } = plan;
  const all = collectOutcomes(planned, results);
  // The platform's totals are no part of what is delivered.
  const outcomes = all.filter(({ window }) => window.content === undefined);
  const delivered = outcomes.filter((outcome) => outcome.outcome === 'delivered');
  const failed = outcomes.length - delivered.length;
  if (failed > 0) throw new ExportIncomplete(`${countUndelivered(failed, outcomes.length)}.`);
  const { reconciled, warnings: ofTotals } = await reconcile(plan, all, store);
  await endRuns(plan, store, now());
  const { account, name, kind, start_date, end_date } = request;
  const windows = delivered.map(({ outcome, warnings: _, ...window }) => window);
  const allWarnings = [...warnings, ...delivered.flatMap((window) => window.warnings ?? []), ...ofTotals];
  return {
    version: '1',
    execution,
    account,
    name,
    kind,
    start_date,
    end_date,
    bucket: store.bucket,
    windows,
    already_delivered,
    bytes: windows.reduce((sum, { bytes }) => sum + bytes, 0),
    ...sumRows(delivered, already_delivered),
    table_problem: problemOf(outcomes),
    reconciled,
    ...sumChanges(delivered),
    ...describeNewcomers(plan, program),
    warnings: shortenTexts(allWarnings, MAX_WARNINGS),
  };
}

/**
 * Removes the object of this run, and those of runs that are too old to be finished. Removes also those of
 * earlier starts of the same run of the config: no later start reads their oldest days again.
 */
async function endRuns(
  { execution, request }: PublishExportInput,
  store: Dependencies['store'],
  now: Date,
): Promise<void> {
  const { records: runs } = await readRuns(store, request, now);
  const ended = runs.find((run) => run.execution === execution);
  const isEnded = (run: Run) =>
    run === ended ||
    isForgotten(run, now) ||
    (ended?.run !== undefined &&
      run.run === ended.run &&
      Date.parse(run.began_at) < Date.parse(ended.began_at));
  for (const run of runs.filter(isEnded)) await store.remove(runKey(request, run.execution));
}

function describeNewcomers({ newcomers, request }: PublishExportInput, program: string) {
  if (!newcomers) return {};
  const { history } = newcomers;
  return { newcomers: { ...newcomers, ...(history && { command: runCommand(program, request, history) }) } };
}

/**
 * Returns nothing unless the rows of every window are known. `empty` is left out if other windows were
 * delivered earlier, because those may have rows.
 */
function sumRows(delivered: readonly DeliveredWindow[], earlier = 0): { rows?: number; empty?: boolean } {
  const counts = delivered.map(({ rows }) => rows).filter((rows) => rows !== undefined);
  if (counts.length < delivered.length || delivered.length === 0) return {};
  const rows = counts.reduce((sum, windowRows) => sum + windowRows, 0);
  return rows === 0 && earlier > 0 ? { rows } : { rows, empty: rows === 0 };
}

/** Adds up what windows changed in their table. Returns nothing if none was written. */
function sumChanges(windows: readonly DeliveredWindow[]): Partial<TableChanges> {
  const written = windows.filter(({ restated }) => restated !== undefined);
  if (written.length === 0) return {};
  const known = (days: readonly (string | undefined)[]) => days.filter((day) => day !== undefined);
  const restated = known(written.flatMap((window) => [window.first_restated, window.last_restated]));
  const held = known(written.flatMap((window) => [window.first_held, window.last_held]));
  return {
    restated: written.reduce((sum, { restated = 0 }) => sum + restated, 0),
    first_restated: earliest(restated),
    last_restated: latestDate(restated),
    held: written.reduce((sum, { held = 0 }) => sum + held, 0),
    first_held: earliest(held),
    last_held: latestDate(held),
  };
}

/**
 * The platform's totals beside the rows of this execution, and warnings about what differs or was not
 * compared.
 */
async function reconcile(
  { request }: PublishExportInput,
  outcomes: readonly WindowOutcome[],
  store: Dependencies['store'],
): Promise<{ readonly reconciled?: Comparison; readonly warnings: readonly string[] }> {
  const totals = outcomes.filter(({ window }) => window.content === 'total');
  if (request.kind !== 'report' || totals.length === 0) return { warnings: [] };
  const reports = new Map(
    outcomes.flatMap((outcome) => {
      const isRows = outcome.outcome === 'delivered' && outcome.window.content === undefined;
      return isRows ? [[outcome.window.start_date, outcome.report_id]] : [];
    }),
  );
  const delivered = totals.flatMap((outcome): ReconciledWindow[] => {
    const rows = reports.get(outcome.window.start_date);
    if (outcome.outcome !== 'delivered' || outcome.report_id === undefined || rows === undefined) return [];
    return [{ window: outcome.window, rows, total: outcome.report_id }];
  });
  // The platform may answer two POSTs with the same report.
  const comparable = delivered.filter(({ rows, total }) => rows !== total);
  const compared = await readComparedDays(store, request, comparable).catch((error: Error) => {
    const reason = reasonOf(error);
    if (reason === undefined) throw error;
    return reason;
  });
  if (typeof compared === 'string') return { warnings: [sayNoTotal(compared)] };
  const without = totals.filter(({ window }) => !compared.some((day) => isInWindow(day, window)));
  const warnings = without.map((outcome) =>
    sayNoTotal(`${describeDays(outcome.window)}: ${whyNone(outcome, delivered)}`),
  );
  if (compared.length === 0) return { warnings };
  const { reconcile_tolerance: tolerance } = request;
  const above = aboveTolerance(compared, tolerance);
  const reconciled = {
    days: new Set(compared.map(({ date }) => date)).size,
    ...(tolerance && { above_tolerance: above.length }),
    metrics: addByMetric(compared),
  };
  return { reconciled, warnings: [...warnings, ...warnOfDifferences(above)] };
}

function isInWindow({ date }: ComparedDay, { start_date, end_date }: Window): boolean {
  return start_date <= date && date < end_date;
}

function whyNone(outcome: WindowOutcome, delivered: readonly ReconciledWindow[]): string {
  if (outcome.outcome === 'lost') return readCause(outcome.caught.Cause).happened;
  if (outcome.outcome === 'failed') return `${outcome.failure.error}: ${outcome.failure.happened}`;
  const same = delivered.find(({ window, rows, total }) => rows === total && window === outcome.window);
  if (same) return `the platform gave it the id of the rows, ${same.total}`;
  const notRead = outcome.warnings?.find((warning) => warning.startsWith(NOT_READ));
  return notRead ?? 'the ledger lacks the sums of its rows or of the total';
}

function warnOfDifferences(above: readonly ComparedDay[]): string[] {
  const [worst] = above;
  if (!worst) return [];
  const first = earliest(above.map(({ date }) => date));
  return [
    `sums of days that differ from the platform's total by more than reconcile_tolerance: ${above.length}, from ${first} on; most of all ${worst.metric} of ${worst.date}: ${worst.rows_sum} in the rows, ${worst.platform_total} in the total`,
  ];
}

export const handler = createHandler(READS.PublishExport, PublishExportInput, publishExport, (settings) => ({
  store: createObjectStore(settings),
  program: settings.PROGRAM,
}));

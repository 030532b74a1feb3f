import { readCause } from '../../functions/workflow/errors.ts';
import type { ExportResult, FailureReport } from '../../functions/workflow/states.ts';
import type { Timeline } from '../../functions/workflow/timeline.ts';
import { DELIVERED, FAILED, toPrintable } from './errors.ts';

/** The end of an export, deployed or local: the document that `--json` prints. */
export type Outcome =
  | ({ readonly outcome: 'delivered' } & ExportResult)
  | ({ readonly outcome: 'failed' } & (FailureReport | Stopped));

/** An execution that ended without a failure report: stopped, timed out, or unable to write one. */
interface Stopped {
  readonly version: '1';
  readonly error: string;
  readonly happened: string;
  readonly todo: string;
  readonly execution: string;
}

/** The end of an execution as Step Functions describes it. */
export interface ExecutionEnd {
  readonly name?: string | undefined;
  readonly status?: string | undefined;
  readonly output?: unknown;
  readonly error?: string | undefined;
  readonly cause?: string | undefined;
}

export function outcomeOf(end: ExecutionEnd): Outcome {
  if (end.status === 'SUCCEEDED') return { outcome: 'delivered', ...(end.output as ExportResult) };
  return { outcome: 'failed', ...(readFailureReport(end.cause) ?? describeStopped(end)) };
}

/** The Cause of an export that failed is its failure report. */
function readFailureReport(cause = ''): FailureReport | undefined {
  try {
    const report = Object(JSON.parse(cause)) as Partial<FailureReport>;
    return typeof report.happened === 'string' ? (report as FailureReport) : undefined;
  } catch {
    return undefined;
  }
}

function describeStopped({ name = '', status = '', error, cause }: ExecutionEnd): Stopped {
  return {
    version: '1',
    error: error ?? status,
    happened:
      cause === undefined ? `The execution ended with the status ${status}.` : readCause(cause).happened,
    todo: 'Resume the execution, or run its request again with --only-missing.',
    execution: name,
  };
}

/**
 * Prints an outcome and sets the exit status.
 *
 * @param root the place of the buckets, with a slash at the end: `s3://`, or a folder
 */
export function printOutcome(outcome: Outcome, { json, root }: { json?: true; root: string }): void {
  const isDelivered = outcome.outcome === 'delivered';
  if (json) process.stdout.write(`${JSON.stringify(outcome)}\n`);
  else (isDelivered ? process.stdout : process.stderr).write(`${describeOutcome(outcome, root)}\n`);
  process.exitCode = isDelivered ? DELIVERED : FAILED;
}

export function describeOutcome(outcome: Outcome, root: string): string {
  const lines = outcome.outcome === 'delivered' ? describeDelivered(outcome, root) : describeFailed(outcome);
  return lines.map(toPrintable).join('\n');
}

function describeDelivered(result: ExportResult, root: string): string[] {
  const lines = result.windows.map(({ window, rows, bytes, key }) => [
    `${window.start_date} to ${window.end_date}`,
    rows === undefined ? '' : `${rows}`,
    `${bytes}`,
    `${root}${result.bucket}/${key}`,
  ]);
  const table = alignColumns([['window', 'rows', 'bytes', 'object'], ...lines]);
  const { already_delivered: already = 0 } = result;
  return [
    ...(result.windows.length > 0 ? table : ['No window was missing.']),
    ...(already > 0 ? [`Already delivered, not exported again: ${already} windows.`] : []),
    ...result.warnings.map((warning) => `warning: ${warning}`),
    ...(result.empty ? ['The platform had no rows for this request.'] : []),
  ];
}

/** Pads each column to its widest cell. The two columns of numbers are aligned to the right. */
function alignColumns(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  const pad = (cell: string, column: number) => {
    const width = widths[column] ?? 0;
    return column === 1 || column === 2 ? cell.padStart(width) : cell.padEnd(width);
  };
  return rows.map((row) => row.map(pad).join('  ').trimEnd());
}

function describeFailed(failure: Extract<Outcome, { outcome: 'failed' }>): string[] {
  const report: Partial<FailureReport> = failure;
  const { faults = [], request_ids = [], timeline = [], runbook } = report;
  return [
    `The export failed: ${failure.error}`,
    failure.happened,
    ...faults.map((fault) => `  ${fault}`),
    ...describeWindows(report),
    ...(request_ids.length > 0 ? [`request_id: ${request_ids.join(', ')}`] : []),
    ...(timeline.length > 1 ? ['Timeline:', ...describeTimeline(timeline)] : []),
    `What to do: ${failure.todo}`,
    ...(runbook === undefined ? [] : [`More: ${runbook}`]),
  ];
}

/** Names the windows that failed, of an export with several. The failure report lists only the first ten. */
function describeWindows(report: Partial<FailureReport>): string[] {
  const { windows_failed = 0, windows_delivered = 0, failed_windows = [] } = report;
  const all = windows_failed + windows_delivered;
  if (all < 2) return [];
  const shown = failed_windows.map(
    ({ window, error }) => `  ${window?.start_date} to ${window?.end_date}  ${error}`,
  );
  const more = windows_failed - shown.length;
  return [
    `${windows_failed} of ${all} windows failed:`,
    ...shown,
    ...(more > 0 ? [`  and ${more} more`] : []),
  ];
}

function describeTimeline(timeline: Timeline): string[] {
  return timeline.map(({ step = '', outcome, from, to, times, tries, request_id }) => {
    const when = from === to ? from : `${from} to ${to}`;
    const what = [
      step,
      outcome,
      ...(times > 1 ? [`${times} times`] : []),
      ...(tries === undefined ? [] : [`in ${tries} tries`]),
      ...(request_id ? [request_id] : []),
    ];
    return `  ${when}  ${what.filter(Boolean).join(' ')}`;
  });
}

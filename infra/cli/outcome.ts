import { readCause } from '../../functions/workflow/errors.ts';
import type { ExportResult, FailureReport } from '../../functions/workflow/states.ts';
import type { Timeline } from '../../functions/workflow/timeline.ts';
import { printable } from './printable.ts';

/** How an export ended, wherever it ran: the document that `--json` prints. */
export type Outcome =
  | ({ readonly outcome: 'delivered' } & ExportResult)
  | ({ readonly outcome: 'failed' } & (FailureReport | Ended));

/** An execution that ended without a card: stopped, out of time, or killed again and again while it was about to end. */
interface Ended {
  readonly version: '1';
  readonly error: string;
  readonly happened: string;
  readonly todo: string;
  readonly execution: string;
}

/** What an execution ended with, in the words of Step Functions. */
export interface ExecutionEnd {
  readonly name: string;
  readonly status: string;
  readonly output?: unknown;
  readonly error?: string | undefined;
  readonly cause?: string | undefined;
}

export function outcomeOf(end: ExecutionEnd): Outcome {
  if (end.status === 'SUCCEEDED') return { outcome: 'delivered', ...(end.output as ExportResult) };
  return { outcome: 'failed', ...(cardIn(end.cause) ?? endedWithoutCard(end)) };
}

/** The Cause of a failed export is its card. */
function cardIn(cause = ''): FailureReport | undefined {
  try {
    const card = Object(JSON.parse(cause)) as Partial<FailureReport>;
    return typeof card.happened === 'string' ? (card as FailureReport) : undefined;
  } catch {
    return undefined;
  }
}

function endedWithoutCard({ name, status, error, cause }: ExecutionEnd): Ended {
  return {
    version: '1',
    error: error ?? status,
    happened: cause === undefined ? `The execution ended as ${status}.` : readCause(cause).happened,
    todo: 'Resume the execution, or run its request again with --only-missing.',
    execution: name,
  };
}

/**
 * For a person: what was delivered where, or what failed and what to do.
 *
 * @param root where the buckets are, with a slash at the end: `s3://`, or a directory
 */
export function describeOutcome(outcome: Outcome, root: string): string {
  const lines = outcome.outcome === 'delivered' ? describeDelivered(outcome, root) : describeFailed(outcome);
  return lines.map(printable).join('\n');
}

function describeDelivered(result: ExportResult, root: string): string[] {
  const lines = result.windows.map(({ window, rows, bytes, key }) => [
    `${window.start_date} to ${window.end_date}`,
    rows === undefined ? '' : `${rows}`,
    `${bytes}`,
    `${root}${result.bucket}/${key}`,
  ]);
  const table = align([['window', 'rows', 'bytes', 'object'], ...lines]);
  const { already_delivered: already = 0 } = result;
  return [
    ...(result.windows.length > 0 ? table : ['Nothing was missing.']),
    ...(already > 0 ? [`Delivered before, and left as they are: ${already} windows.`] : []),
    ...result.warnings.map((warning) => `warning: ${warning}`),
    ...(result.empty ? ['The platform had no rows for this request.'] : []),
  ];
}

/** Columns as wide as their widest cell; numbers to the right. */
function align(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  return rows.map((row) =>
    row
      .map((cell, column) =>
        column === 1 || column === 2 ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
      )
      .join('  ')
      .trimEnd(),
  );
}

function describeFailed(failure: Extract<Outcome, { outcome: 'failed' }>): string[] {
  const card = 'report_ids' in failure ? failure : undefined;
  const { faults = [], request_ids = [], timeline = [] } = card ?? {};
  return [
    `The export failed: ${failure.error}`,
    failure.happened,
    ...faults.map((fault) => `  ${fault}`),
    ...describeWindows(card ?? {}),
    ...(request_ids.length > 0 ? [`request_id: ${request_ids.join(', ')}`] : []),
    ...(timeline.length > 1 ? ['What went before:', ...describeTimeline(timeline)] : []),
    `What to do: ${failure.todo}`,
    ...(card ? [`More: ${card.runbook}`] : []),
  ];
}

/** Of the only window, the rest has said everything. The card shows the first ten. */
function describeWindows(card: Partial<FailureReport>): string[] {
  const { windows_failed = 0, windows_delivered = 0, failed_windows = [] } = card;
  const all = windows_failed + windows_delivered;
  if (all < 2) return [];
  const shown = failed_windows.map(
    ({ window, error }) => `  ${window?.start_date} to ${window?.end_date}  ${error}`,
  );
  const more = windows_failed - shown.length;
  return [
    `Not delivered, ${windows_failed} of ${all} windows:`,
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

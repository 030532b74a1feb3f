import { type ErrorName, readCause } from '../../functions/workflow/errors.ts';
import type { WindowObject } from '../../functions/workflow/state-parts.ts';
import type { ExportResult, FailureReport } from '../../functions/workflow/states.ts';
import type { Timeline } from '../../functions/workflow/timeline.ts';
import { DELIVERED, FAILED, INTERRUPTED, toPrintable } from './errors.ts';
import { fitsScreen, screenWidth, wrap, wrapList } from './layout.ts';

/** The end of an export, deployed or local: the document that `--json` prints. */
export type Outcome =
  | ({ readonly outcome: 'delivered' } & ExportResult)
  | ({ readonly outcome: 'failed' } & (FailureReport | Stopped))
  | Interrupted;

/** A signal ended the command. */
export interface Interrupted {
  readonly outcome: 'interrupted';
  readonly version: '1';
  readonly execution: string;
  /** A deployed execution continues without the command; a local one has stopped. */
  readonly continues: boolean;
  /** Of a local execution. */
  readonly delivered_windows?: readonly WindowObject[];
  /** The command that shows how the execution is doing, or that exports the rest of it. */
  readonly next: string;
}

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

/** The execution's request is at fault, so resuming it would fail again. */
export function isAtFault(outcome: Outcome): boolean {
  return outcome.outcome === 'failed' && outcome.error === ('InvalidInput' satisfies ErrorName);
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

/** Where the objects of an outcome are, and how to go on after a failure. */
export interface Place {
  /** The place of the buckets, with a slash at the end: `s3://`, or a folder. */
  readonly root: string;
  /** The command that exports what a failed execution did not deliver; undefined if its request is at fault. */
  readonly next: string | undefined;
}

const STATUS = { delivered: DELIVERED, failed: FAILED, interrupted: INTERRUPTED } as const;

/** Prints an outcome and sets the exit status. */
export function printOutcome(outcome: Outcome, { json, ...place }: { json?: true } & Place): void {
  const screen = outcome.outcome === 'delivered' ? process.stdout : process.stderr;
  if (json) process.stdout.write(`${JSON.stringify(outcome)}\n`);
  else screen.write(`${describeOutcome(outcome, place, screenWidth(screen))}\n`);
  process.exitCode = STATUS[outcome.outcome];
}

/** @param width of the screen; by default, lines are not wrapped */
export function describeOutcome(outcome: Outcome, place: Place, width = Number.POSITIVE_INFINITY): string {
  const lines = describe(outcome, place, width).map(toPrintable);
  return lines.flatMap((line) => wrap(line, `${/^ */.exec(line)?.[0]}  `, width)).join('\n');
}

function describe(outcome: Outcome, place: Place, width: number): string[] {
  if (outcome.outcome === 'delivered') return describeDelivered(outcome, place.root, width);
  return outcome.outcome === 'failed' ? describeFailed(outcome, place) : describeInterrupted(outcome);
}

function describeDelivered(result: ExportResult, root: string, width: number): string[] {
  const { already_delivered: already = 0, already_delivered_windows: earlier = [], bucket } = result;
  return [
    ...(result.windows.length > 0 ? describeResults(result, root, width) : ['No window was missing.']),
    ...describeRestated(result),
    ...(already > 0 ? [`Windows that were already delivered, and not exported again: ${already}`] : []),
    ...describeObjects(earlier, `${root}${bucket}/`),
    ...result.warnings.map((warning) => `warning: ${warning}`),
    ...(result.empty ? ['The platform had no rows for this request.'] : []),
  ];
}

/** Conversions come late, so a report may change days that were exported before. */
function describeRestated({
  restated = 0,
  first_restated,
  last_restated,
}: Pick<Partial<FailureReport>, 'restated' | 'first_restated' | 'last_restated'>): string[] {
  if (restated === 0) return [];
  const range = restated === 1 ? `on ${first_restated}` : `from ${first_restated} to ${last_restated}`;
  return [`Days of the table that show other values now: ${restated}, ${range}`];
}

/** A table or, on a screen that is too narrow for it, a line per window and the place of the objects. */
function describeResults({ windows, bucket }: ExportResult, root: string, width: number): string[] {
  const lines = windows.map(({ window, rows, bytes, key }) => [
    `${window.start_date} to ${window.end_date}`,
    rows === undefined ? '' : `${rows}`,
    `${bytes}`,
    `${root}${bucket}/${key}`,
  ]);
  const table = alignColumns([['window', 'rows', 'bytes', 'object'], ...lines]);
  if (fitsScreen(table, width)) return table;
  const places = lines.map(([, , , object = '']) => (lines.length === 1 ? object : withoutDates(object)));
  return [
    ...lines.flatMap(([window = '', rows, bytes]) =>
      wrapList([window, ...(rows ? [`${rows} rows`] : []), `${bytes} bytes`], '  ', width),
    ),
    ...[...new Set(places)].map((place) => `  ${place}`),
  ];
}

/** The windows of an export have the same place, but for their dates. */
function withoutDates(object: string): string {
  return object.replace(/(start_date|end_date)=[^/]+/g, '$1=…');
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

function describeObjects(objects: readonly WindowObject[], folder: string): string[] {
  return objects.map(({ window, key }) => `  ${window.start_date} to ${window.end_date}  ${folder}${key}`);
}

function describeFailed(failure: Extract<Outcome, { outcome: 'failed' }>, { root, next }: Place): string[] {
  const report: Partial<FailureReport> = failure;
  const { faults = [], report_ids = [], request_ids = [], timeline = [], runbook, bucket, key } = report;
  const folder = bucket === undefined ? '' : `${root}${bucket}/`;
  return [
    `The export failed: ${failure.error}`,
    failure.happened,
    ...faults.map((fault) => `  ${fault}`),
    ...describeWindows(report, folder),
    ...describeShown(report),
    ...describeRestated(report),
    ...(timeline.length > 1 ? ['Timeline:', ...describeTimeline(timeline)] : []),
    `execution: ${failure.execution}`,
    ...(report_ids.length > 0 ? [`report_id: ${report_ids.join(', ')}`] : []),
    ...(request_ids.length > 0 ? [`request_id: ${request_ids.join(', ')}`] : []),
    ...(key === undefined ? [] : [`Failure report: ${folder}${key}`]),
    ...(runbook === undefined ? [] : [`More: ${runbook}`]),
    `What to do: ${failure.todo}`,
    ...(next === undefined ? [] : [`Then: ${next}`]),
  ];
}

function describeInterrupted({ execution, continues, delivered_windows = [], next }: Interrupted): string[] {
  if (continues) return [`The export continues without this command: ${execution}`, `To follow it: ${next}`];
  const stays =
    delivered_windows.length === 0 ? 'No window was delivered.' : 'These windows were delivered, and stay:';
  return [
    `Stopped ${execution}. ${stays}`,
    ...describeObjects(delivered_windows, ''),
    `To export the rest: ${next}`,
  ];
}

/** Names the windows of an export with several. The failure report lists only the first ten that failed. */
function describeWindows(report: Partial<FailureReport>, folder: string): string[] {
  const { windows_failed = 0, failed_windows = [], delivered_windows = [] } = report;
  const { windows_delivered = delivered_windows.length } = report;
  const all = windows_failed + windows_delivered;
  if (all < 2) return [];
  const shown = failed_windows.map(
    ({ window, error }) => `  ${window?.start_date} to ${window?.end_date}  ${error}`,
  );
  const unnamed = (count: number) => (count > 0 ? [`  and ${count} more`] : []);
  return [
    ...(windows_failed > 0 ? [`${windows_failed} of ${all} windows failed:`] : []),
    ...shown,
    ...unnamed(windows_failed - shown.length),
    ...(windows_delivered > 0 ? ['These windows were delivered, and stay:'] : []),
    ...describeObjects(delivered_windows, folder),
    ...unnamed(windows_delivered - delivered_windows.length),
  ];
}

/** The next run finds the values of these windows unchanged. */
function describeShown({ failed_windows = [] }: Partial<FailureReport>): string[] {
  return failed_windows.flatMap(({ window, restated }) =>
    restated === undefined
      ? []
      : [`The table already shows this report's values, ${window?.start_date} to ${window?.end_date}`],
  );
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

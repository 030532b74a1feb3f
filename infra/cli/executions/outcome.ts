import { type ErrorName, errors, readCause } from '../../../functions/workflow/errors.ts';
import { describeDays } from '../../../functions/workflow/request/dates.ts';
import type { ExportResult, FailureReport } from '../../../functions/workflow/states.ts';
import type { Folder } from '../bucket.ts';
import { DELIVERED, FAILED, INTERRUPTED, NOT_IN_TABLE } from '../errors.ts';
import { alignColumns, printDocument, printLines } from '../layout.ts';
import { loginCommand, missingCommand, type NamedExport, resumeCommand } from '../next-command.ts';
import type { PlatformOptions } from '../options.ts';

/** The end of an export, deployed or local: the document that `--json` prints. */
export type Outcome =
  | ({ readonly outcome: 'delivered' } & ExportResult)
  | ({ readonly outcome: 'failed' } & (FailureReport | Unreported))
  | Interrupted;

/** A signal ended the command, or somebody stopped the execution. */
export interface Interrupted {
  readonly outcome: 'interrupted';
  readonly version: '1';
  readonly execution: string;
  /** A deployed execution continues without the command; a local one has stopped. */
  readonly continues: boolean;
  /** The command that shows how the execution is doing, or that exports the rest of it. */
  readonly next: string;
}

/** An execution that ended without a failure report: timed out, or unable to write one. */
type Unreported = Pick<FailureReport, 'version' | 'happened' | 'todo' | 'execution'> & {
  readonly error: string;
};

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
  if (end.status === 'ABORTED') return describeStop(end.name);
  return { outcome: 'failed', ...(readFailureReport(end.cause) ?? describeUnreported(end)) };
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

function describeStop(execution = ''): Interrupted {
  const next = resumeCommand(execution);
  return { outcome: 'interrupted', version: '1', execution, continues: false, next };
}

function describeUnreported({ name = '', status = '', error, cause }: ExecutionEnd): Unreported {
  return {
    version: '1',
    error: error ?? status,
    happened:
      cause === undefined ? `The execution ended with the status ${status}.` : readCause(cause).happened,
    todo: 'Resume the execution, or run its request again with --only-missing.',
    execution: name,
  };
}

/** Where the objects of an outcome are, and how to go on after a failure. `local` and `out` name the folder of a local run. */
export interface Place extends Partial<Folder> {
  /** The place of the buckets, with a slash at the end: `s3://`, or a folder. */
  readonly root: string;
  /** The command that exports what a failed execution did not deliver. */
  readonly next: string;
}

const STATUS = { delivered: DELIVERED, failed: FAILED, interrupted: INTERRUPTED } as const;

interface Printing extends Place {
  readonly json?: true;
  /** A table that did not take a file has an exit status of its own. */
  readonly strict?: true;
}

/** Prints an outcome and sets the exit status. */
export function printOutcome(outcome: Outcome, { json, strict, ...place }: Printing): void {
  const screen = outcome.outcome === 'delivered' ? process.stdout : process.stderr;
  if (json) printDocument(outcome);
  else printLines(describeOutcome(outcome, place), screen);
  const isLacking = outcome.outcome === 'delivered' && outcome.table_problem !== undefined;
  process.exitCode = strict && isLacking ? NOT_IN_TABLE : STATUS[outcome.outcome];
}

export function describeOutcome(outcome: Outcome, place: Place): string[] {
  if (outcome.outcome === 'delivered') return describeDelivered(outcome, place);
  return outcome.outcome === 'failed' ? describeFailed(outcome, place) : describeInterrupted(outcome);
}

function describeDelivered(result: ExportResult, { root, ...folder }: Place): string[] {
  const { already_delivered: already = 0, held = 0, table_problem } = result;
  return [
    ...(result.windows.length > 0 ? describeResults(result, root) : ['No window was missing.']),
    ...describeRestated(result),
    ...(held > 0 || table_problem !== undefined ? [adviseOnTable(result, folder)] : []),
    ...(already > 0 ? [`Windows that were already delivered, and not exported again: ${already}`] : []),
    ...result.warnings.map((warning) => `warning: ${warning}`),
    ...(result.empty ? ['The platform had no rows for this request.'] : []),
  ];
}

function adviseOnTable(named: NamedExport, folder: Partial<Folder>): string {
  return `To see the days that the table lacks or holds: ${missingCommand(named, folder)}`;
}

/** Conversions come late, so a report may change days that were exported before. */
function describeRestated({ restated = 0, first_restated, last_restated }: ExportResult): string[] {
  if (restated === 0) return [];
  const range =
    first_restated === last_restated ? `on ${first_restated}` : `from ${first_restated} to ${last_restated}`;
  return [`Days of the table that show other values now: ${restated}, ${range}`];
}

function describeResults({ windows, bucket }: ExportResult, root: string): string[] {
  const rows = windows.map(({ window, rows, bytes, key }) => [
    describeDays(window),
    rows === undefined ? '' : `${rows}`,
    `${bytes}`,
    `${root}${bucket}/${key}`,
  ]);
  return alignColumns([['days', 'rows', 'bytes', 'object'], ...rows], [1, 2]);
}

function describeFailed(
  failure: Extract<Outcome, { outcome: 'failed' }>,
  { root, next, ...place }: Place,
): string[] {
  const report: Partial<FailureReport> = failure;
  const { faults = [], report_ids = [], request_ids = [], runbook, bucket, key, table_problem } = report;
  const named = { name: report.export ?? '', account: report.account };
  const folder = bucket === undefined ? '' : `${root}${bucket}/`;
  // A request that is at fault would fail again.
  const isAtFault = failure.error === ('InvalidInput' satisfies ErrorName);
  return [
    `The export failed: ${failure.error}`,
    failure.happened,
    ...faults.map((fault) => `  ${fault}`),
    ...describeWindows(report),
    ...(table_problem === undefined ? [] : [`warning: ${table_problem}`, adviseOnTable(named, place)]),
    `execution: ${failure.execution}`,
    ...(report_ids.length > 0 ? [`report_id: ${report_ids.join(', ')}`] : []),
    ...(request_ids.length > 0 ? [`request_id: ${request_ids.join(', ')}`] : []),
    ...(key === undefined ? [] : [`Failure report: ${folder}${key}`]),
    ...(runbook === undefined ? [] : [`More: ${runbook}`]),
    `What to do: ${failure.todo}`,
    ...(isAtFault ? [] : [`Then: ${next}`]),
  ];
}

function describeInterrupted({ execution, continues, next }: Interrupted): string[] {
  return continues
    ? [`The export continues without this command: ${execution}`, `To follow it: ${next}`]
    : [`Stopped ${execution}. Windows that were delivered stay.`, `To export the rest: ${next}`];
}

/** Names the windows of an export with several. The failure report lists only the first ten that failed. */
function describeWindows(report: Partial<FailureReport>): string[] {
  const { windows_failed = 0, failed_windows = [], windows_delivered = 0 } = report;
  const all = windows_failed + windows_delivered;
  if (all < 2) return [];
  const shown = failed_windows.map(
    ({ window, error }) => `  ${window ? describeDays(window) : ''}  ${error}`,
  );
  const unnamed = windows_failed - shown.length;
  return [
    ...(windows_failed > 0 ? [`${windows_failed} of ${all} windows failed:`] : []),
    ...shown,
    ...(unnamed > 0 ? [`  and ${unnamed} more`] : []),
    ...(windows_delivered > 0 ? [`Windows that were delivered, and stay: ${windows_delivered}`] : []),
  ];
}

/** A run of this machine, for {@link adviseLocally}. */
export interface LocalRunFacts extends PlatformOptions {
  readonly account: string;
  readonly out: string;
  readonly speed?: number;
}

/** Of the folder that stands for the bucket. The local S3 answers with the code. */
const DISK_ERROR = /\((ENOSPC|EDQUOT|EACCES|EPERM|EROFS)\)/;

/** Says what to do next on this machine. A failure report speaks of secrets, functions and AWS. */
export function adviseLocally<
  Failed extends { readonly error: string; readonly happened: string; readonly todo: string },
>(failure: Failed, run: LocalRunFacts): Failed {
  const [, code] = DISK_ERROR.exec(failure.happened) ?? [];
  if (code === undefined) return { ...failure, todo: localStep(failure, run) ?? failure.todo };
  const isFull = code === 'ENOSPC' || code === 'EDQUOT';
  return {
    ...failure,
    happened: `The folder ${run.out} ${isFull ? 'has no room for it' : 'cannot be written'} (${code}).`,
    todo: `${isFull ? 'Make room in it' : 'Let this user write to it'}, then run the export again.`,
  };
}

/** @returns undefined if the step of the failure report fits */
function localStep(
  { error, happened }: { readonly error: string; readonly happened: string },
  run: LocalRunFacts,
): string | undefined {
  const { account, out, speed = 1, credential = 'the credential file' } = run;
  const checkFolder = `No AWS is involved: check that ${out} can be read and written, then run the export again.`;
  const steps: { readonly [name in ErrorName]?: string } = {
    ...(speed > 1 && {
      OutOfTime: `At --speed ${speed}, this machine may be too slow: run it with --speed ${Math.ceil(speed / 10)}.`,
    }),
    CredentialUnusable: `Correct ${credential}, or name another file with --credential.`,
    LoginRequired: `Log in again (${loginCommand(account, run)}), then run the export again.`,
    ...(run.baseUrl !== undefined && {
      TokenRefusedAgain: `Check ${credential}, its scope and --base-url, then run the export again.`,
      ...(happened.includes('(ENOTFOUND)') && {
        RequestRefused:
          'Correct the host in --base-url, or connect to the network, then run the export again.',
      }),
      PlatformUnavailable:
        'Check --base-url. If it is right, wait until the platform is back, then run the export again.',
      AnswerUnreadable:
        'Check that --base-url is the platform. If it is, give the platform the time, and the request_id if there is one.',
    }),
    AccessRefused: checkFolder,
    ServiceUnavailable: checkFolder,
    ExportIncomplete: 'Read the failures of the windows, then run the export again.',
  };
  if (Object.hasOwn(errors, error)) return steps[error as ErrorName];
  return `Run the export again. If it fails again, give ${out}/history.json to the maintainers.`;
}

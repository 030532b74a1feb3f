import { type ErrorName, errors, type Facts, readCause } from '../workflow/errors.ts';
import type { Caught, Restated } from '../workflow/state-parts.ts';
import type { FailureReport } from '../workflow/states.ts';
import { appendEntries, entriesOfCaught, shortenTimeline, type Timeline } from '../workflow/timeline.ts';
import { bytesOf, truncate } from './warnings.ts';

/** The next thing that a person does, by error. */
const NEXT_STEP: Readonly<Record<ErrorName, string>> = {
  InvalidInput: 'Correct the request and start it again.',
  CredentialUnusable: "Correct the account's credential secret and run the export again.",
  LoginRequired: 'Sign in to the platform again, then run the export again.',
  TokenRefusedAgain: 'Check the credential, its scope and base_url, then run the export again.',
  RequestRefused: 'Correct what the message names, then run the export again.',
  RateLimited: 'Lower max_parallel or run fewer exports at a time, then run the export again.',
  OutOfTime: 'Find out what the window was waiting for, then run the export again.',
  ReportStuck: 'Give the platform the report ids, then run the export again.',
  DownloadRefused:
    'Correct the setting or the address that the message names. If the file itself is wrong, run the export again, or give the platform the report ids.',
  AccessRefused: 'Give the function the named permission, then run the export again.',
  ExportIncomplete:
    'Read the failures of the windows, then resume the execution, or run the export again with only_missing.',
  TokenRefused: 'Run the export again.',
  UrlExpired: 'Run the export again.',
  PlatformUnavailable: 'Wait until the platform is back, then run the export again.',
  AnswerLost: 'Run the export again; a report that nobody fetches does no harm.',
  AnswerUnreadable: 'Check that base_url is the platform, then give the platform the request_id.',
  CopyFailed: 'Run the export again; no incomplete object is visible.',
  ServiceUnavailable: 'Run the export again when AWS has recovered.',
};

/** After any other error: a killed function, a timeout, a fault of ours. */
const NEXT_STEP_AFTER_UNEXPECTED =
  "Read the execution's history and the function's log, then run the export again.";

/** Errors that are never the report's fault: once their cause is corrected, the same report can be delivered. */
const REPORT_STAYS_GOOD: readonly string[] = [
  'CredentialUnusable',
  'LoginRequired',
  'TokenRefusedAgain',
  'RateLimited',
  'PlatformUnavailable',
  'AccessRefused',
  'ServiceUnavailable',
] satisfies ErrorName[];

/** Errors of AWS that the runbook has a section about. */
export const AWS_ERRORS = [
  'Lambda.TooManyRequestsException',
  'Lambda.ServiceException',
  'Lambda.AWSLambdaException',
  'Lambda.SdkClientException',
  'Lambda.ClientExecutionTimeoutException',
  'Lambda.Unknown',
  'Sandbox.Timedout',
  'Runtime.OutOfMemory',
  'Runtime.ExitError',
  'States.Timeout',
  'States.TaskFailed',
  'States.DataLimitExceeded',
  'States.Runtime',
  'EventBridge.FailedEntry',
] as const;

/**
 * The name under which a failure report and its execution report an error. Names that begin with `States.` are reserved for
 * Step Functions, so a Fail state must not use one.
 */
export function reportedName(error: string): string {
  return error.replace(/^States\./, 'StepFunctions.');
}

/** The runbook's section about any other error. */
export const OTHER_ERROR = 'OtherError';

/** The runbook's path in the repository. */
const RUNBOOK = 'infra/RUNBOOK.md';

/** Bytes of a window's failure report in the export's state. 100 of them, the request and the dates fit into 256 KB. */
const MAX_STATE_BYTES = 2_000;

/** Bytes of any failure report. It becomes an execution's Cause, which holds 32,768 characters. */
const MAX_CAUSE_BYTES = 32_768;

/** Characters of an execution's Error. */
const MAX_ERROR = 256;

/** A timeline keeps this many entries while anything less important can be left out. */
const MIN_ENTRIES = 5;

/** Characters that a text keeps while anything else can be left out. */
const LONG_TEXT = 200;

/** Characters that a text always keeps. At six bytes each, the six texts of a report have 900 bytes. */
const MIN_TEXT = 25;

export interface Subject {
  readonly execution: string;
  readonly account?: string | undefined;
  readonly export?: string | undefined;
  readonly window?: FailureReport['window'];
  readonly report_ids?: readonly string[];
  readonly adoptable_report?: FailureReport['adoptable_report'];
  /** Of a file that is stored. */
  readonly key?: string | undefined;
  /** If the table was written before the failure. */
  readonly restated?: Restated | undefined;
  /** Before the failure. */
  readonly timeline?: Timeline | undefined;
  /** The time of the failure, unless its own timeline has one. */
  readonly now: Date;
  readonly runbookUrl?: string | undefined;
}

/** The failure report for an error that the state machine caught, short enough for a Cause. */
export function createFailureReport(caught: Caught, subject: Subject): FailureReport {
  const { execution, account, window, now, runbookUrl, adoptable_report, restated } = subject;
  const { happened, facts } = readCause(caught.Cause ?? '');
  const faults = Array.isArray(facts.faults) ? facts.faults : [];
  const timeline = appendEntries(subject.timeline ?? [], entriesOfCaught(caught, now));
  const error = reportedName(caught.Error);
  return trimToCause({
    version: '1',
    error: truncate(error, MAX_ERROR),
    ...(error !== caught.Error && { aws_error: truncate(caught.Error, MAX_ERROR) }),
    happened: happened || 'Nothing more is known.',
    todo: nextStep(error, subject.key),
    runbook: runbookLink(hasSection(error) ? error : OTHER_ERROR, runbookUrl),
    execution,
    ...(account !== undefined && { account }),
    ...(subject.export !== undefined && { export: subject.export }),
    ...(window && { window }),
    report_ids: [...(subject.report_ids ?? [])],
    ...(adoptable_report && REPORT_STAYS_GOOD.includes(error) && { adoptable_report }),
    ...restated,
    request_ids: requestIds(facts, timeline),
    ...(faults.length > 0 && { faults: [...faults] }),
    timeline,
  });
}

/** A file that was stored before it was refused has the right address and size. */
function nextStep(error: string, key: string | undefined): string {
  if (error === ('DownloadRefused' satisfies ErrorName) && key !== undefined)
    return `Look at the file at ${key}, then run the export again, or give the platform the report ids.`;
  return isExportError(error) ? NEXT_STEP[error] : NEXT_STEP_AFTER_UNEXPECTED;
}

/** @param heading of a section: the name of an error or an alarm. A link keeps only its letters, digits, - and _. */
export function runbookLink(heading: string, url: string = RUNBOOK): string {
  return `${url}#${heading.toLowerCase().replaceAll(/[^a-z0-9_-]/g, '')}`;
}

function hasSection(error: string): boolean {
  return isExportError(error) || AWS_ERRORS.map(reportedName).includes(error);
}

function isExportError(name: string): name is ErrorName {
  return Object.hasOwn(errors, name);
}

/** The id of the failure comes first, then the ids of earlier answers. */
function requestIds({ request_id }: Facts, timeline: Timeline): string[] {
  const ids = [request_id, ...timeline.map((entry) => entry.request_id)];
  return [...new Set(ids.filter((id) => typeof id === 'string'))];
}

/** Shortens a window's report for the export's state, which holds the reports of all failed windows. */
export function trimToState(report: FailureReport): FailureReport {
  return trim(report, MAX_STATE_BYTES);
}

/** Shortens a report for the Cause of an execution. */
export function trimToCause(report: FailureReport): FailureReport {
  return trim(report, MAX_CAUSE_BYTES);
}

/** Leaves out the least important thing until the report fits: windows, the timeline's middle, faults, words, ids. */
function trim(report: FailureReport, maxBytes: number): FailureReport {
  if (bytesOf(report) <= maxBytes) return report;
  const change = (fields: Partial<FailureReport>) => trim({ ...report, ...fields }, maxBytes);
  const { delivered_windows, failed_windows, timeline, faults, report_ids, request_ids, happened } = report;
  if (delivered_windows?.length) return change({ delivered_windows: delivered_windows.slice(0, -1) });
  if (failed_windows?.length) return change({ failed_windows: failed_windows.slice(0, -1) });
  if (timeline.length > MIN_ENTRIES)
    return change({ timeline: shortenTimeline(timeline, timeline.length - 1) });
  if (faults && faults.length > 1) return change({ faults: faults.slice(0, -1) });
  if (faults?.[0] && faults[0].length > LONG_TEXT)
    return change({ faults: [truncate(faults[0], LONG_TEXT)] });
  if (happened.length > LONG_TEXT)
    return change({ happened: truncate(happened, Math.floor(happened.length / 2)) });
  if (report_ids.length > 0) return change({ report_ids: report_ids.slice(0, -1) });
  if (timeline.length > 1) return change({ timeline: timeline.slice(1) });
  return truncateTexts({ ...report, request_ids: request_ids.slice(0, 1) }, maxBytes, LONG_TEXT);
}

/** A character may take six bytes in JSON, so each text is cut to half as many characters until the report fits. */
function truncateTexts(whole: FailureReport, maxBytes: number, length: number): FailureReport {
  // `error` already shows AWS's name. Without the report, `resume` creates another one.
  const { aws_error: _, adoptable_report: __, ...report } = whole;
  const { error, happened, faults, timeline, request_ids } = report;
  const all = (texts: readonly string[]) => texts.map((text) => truncate(text, length));
  const shorter: FailureReport = {
    ...report,
    error: truncate(error, length),
    happened: truncate(happened, length),
    ...(faults && { faults: all(faults) }),
    timeline: timeline.map(({ outcome, request_id, ...entry }) => ({
      ...{ ...entry, outcome: truncate(outcome, length) },
      ...(request_id !== undefined && { request_id: truncate(request_id, length) }),
    })),
    request_ids: all(request_ids),
  };
  const isDone = bytesOf(shorter) <= maxBytes || length <= MIN_TEXT;
  return isDone ? shorter : truncateTexts(shorter, maxBytes, length / 2);
}

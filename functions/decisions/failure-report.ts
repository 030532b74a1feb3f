import { type ErrorName, errors, readCause } from '../workflow/errors.ts';
import type { ExportId } from '../workflow/keys.ts';
import { type Caught, Failure, type FailureReport, type Window } from '../workflow/state-parts.ts';
import { MAX_REPORTS } from './waits.ts';
import { shortenTexts, truncate } from './warnings.ts';

/** The next thing that a person does, by error. PROGRAM and ACCOUNT stand for the setting and the account. */
const NEXT_STEP: Readonly<Record<ErrorName, string>> = {
  InvalidInput: 'Correct the request and start it again.',
  CredentialUnusable:
    'Store a credential that works (PROGRAM secret set ACCOUNT < credential.json), then run the export again.',
  LoginRequired: 'Sign in again (PROGRAM login --account ACCOUNT), then run the export again.',
  TokenRefusedAgain: 'Check the credential, its scope and base_url, then run the export again.',
  RequestRefused: 'Correct what the message names, then run the export again.',
  RateLimited:
    'Run the export again when the platform is well. If it answered 429, first run fewer exports at a time, and lower max_parallel of a report with several windows. Export a long list in parts, with filters.',
  OutOfTime:
    'Run the export again when the platform is well. Ask for fewer days if its reports are always slow.',
  ReportStuck:
    'Run the export again. If it fails again, give the platform the report ids, and the request ids if there are any.',
  DownloadRefused:
    'If the message names a setting or an address, correct it. Then run the export again. If it fails again, give the platform the report ids.',
  AccessRefused: 'Correct what the message names, such as a permission, then run the export again.',
  DiskFull: 'Make room on the disk, then run the export again.',
  ExportIncomplete:
    'Read the failures of the windows, then resume the execution, or run the export again with only_missing.',
  TokenRefused: 'Run the export again.',
  UrlExpired: 'Run the export again.',
  PlatformUnavailable: 'Wait until the platform is back, then run the export again.',
  AnswerLost: 'Run the export again; a report that nobody fetches does no harm.',
  AnswerUnreadable:
    'Check that base_url is the platform. If it is, give the platform the time, and the request_id if there is one.',
  CopyFailed: 'Run the export again; no incomplete object is visible.',
  ServiceUnavailable: 'Run the export again when AWS, or the platform that gives no token, has recovered.',
};

/** After any other error: a killed function, a timeout, a fault of ours. */
const NEXT_STEP_AFTER_UNEXPECTED =
  "Read the execution's history and the function's log, then run the export again.";

/** Errors of AWS that the runbook has a section about. */
export const AWS_ERRORS = [
  'Lambda.TooManyRequestsException',
  'Lambda.CodeArtifactUserPendingException',
  'Lambda.ResourceConflictException',
  'Lambda.ResourceNotReadyException',
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
 * The name under which a failure report and its execution report an error. Names that begin with `States.`
 * are reserved for Step Functions, so a Fail state must not use one.
 */
export function reportedName(error: string): string {
  return error.replace(/^States\./, 'StepFunctions.');
}

/** The runbook's section about any other error. */
export const OTHER_ERROR = 'OtherError';

/** The runbook's path in the repository. */
const RUNBOOK = 'infra/RUNBOOK.md';

/**
 * A failure report becomes an execution's Cause, which holds 32,768 characters, and its error the execution's
 * Error, which holds 256. A report without windows has at most 16,000: 8,000 for faults and 8,000 for the
 * rest. With ten windows that failed, it has 10 × 2,200 + 5,000 = 27,000. These are bytes; `id` is of each of
 * three report ids and three request ids.
 */
const IN_CAUSE = { error: 256, happened: 2_000, faults: 8_000, id: 330 };

/**
 * The export's state has room for 2,200 bytes per window (see MAX_WINDOWS): 400 for `happened`, 400 for
 * `todo`, 800 for faults, 440 for ids, and 160 for all other fields.
 */
const IN_STATE: typeof IN_CAUSE = { error: 60, happened: 400, faults: 800, id: 70 };

interface Subject {
  readonly execution: string;
  /** Undefined if it was not checked. */
  readonly request?: ExportId | undefined;
  readonly window?: Window;
  readonly reports?: readonly { readonly id: string }[];
  readonly now: () => Date;
  readonly runbookUrl?: string | undefined;
  /** The setting PROGRAM. */
  readonly program: string;
}

/** The failure report for an error that the state machine caught. */
export function createFailureReport(caught: Caught, subject: Subject): FailureReport {
  const { execution, request, window, reports = [], now, runbookUrl, program } = subject;
  const { happened, facts } = readCause(caught.Cause);
  const error = reportedName(caught.Error);
  const failure = {
    error,
    happened: happened || 'Nothing more is known.',
    todo: nextStep(error, program, request?.account),
    report_ids: reports.map(({ id }) => id),
    request_ids: [facts.request_id, facts.request_ids].flat().filter((id) => typeof id === 'string'),
    ...(Array.isArray(facts.faults) && facts.faults.length > 0 && { faults: facts.faults }),
  };
  return {
    version: '1',
    ...limitFailure(failure, IN_CAUSE),
    runbook: sectionLink(error, runbookUrl),
    execution,
    ...(request && { account: request.account, export: request.name }),
    ...(window && { window }),
    failed_at: now().toISOString(),
  };
}

/** The part of a window's report that the state and the report of the export hold. */
export function summarizeReport(report: FailureReport): Failure {
  return limitFailure(Failure.parse(report), IN_STATE);
}

function limitFailure(failure: Failure, limits: typeof IN_CAUSE): Failure {
  const { error, happened, report_ids, request_ids, faults } = failure;
  return {
    ...failure,
    error: truncate(error, limits.error),
    happened: truncate(happened, limits.happened),
    report_ids: report_ids.slice(0, MAX_REPORTS).map((id) => truncate(id, limits.id)),
    request_ids: request_ids.slice(0, MAX_REPORTS).map((id) => truncate(id, limits.id)),
    ...(faults && { faults: shortenTexts(faults, limits.faults) }),
  };
}

function nextStep(error: string, program: string, account = 'ACCOUNT'): string {
  if (!isExportError(error)) return NEXT_STEP_AFTER_UNEXPECTED;
  // With functions, because a text may contain `$&`.
  return NEXT_STEP[error].replace('ACCOUNT', () => account).replace('PROGRAM', () => program);
}

/** A link to the runbook's section about an error. */
export function sectionLink(error: string, url?: string): string {
  const hasSection = isExportError(error) || AWS_ERRORS.map(reportedName).includes(error);
  return runbookLink(hasSection ? error : OTHER_ERROR, url);
}

/** @param heading the name of an error or an alarm. A link keeps only its letters, digits, - and _ */
export function runbookLink(heading: string, url: string = RUNBOOK): string {
  return `${url}#${heading.toLowerCase().replaceAll(/[^a-z0-9_-]/g, '')}`;
}

function isExportError(name: string): name is ErrorName {
  return Object.hasOwn(errors, name);
}

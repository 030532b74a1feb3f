import { type ErrorName, errors, type Facts, readCause } from '../workflow/errors.ts';
import type { Caught, Failure } from '../workflow/states.ts';
import { appendEntries, entriesOfCaught, shortenTimeline, type Timeline } from '../workflow/timeline.ts';

/** What a person does next, one sentence per error. */
const NEXT: Readonly<Record<ErrorName, string>> = {
  InvalidInput: 'Correct the request and start it again.',
  CredentialUnusable: "Correct the account's credential secret and run the export again.",
  LoginRequired: 'Sign in to the platform again, then run the export again.',
  TokenRefusedAgain: 'Check the credential, its scope and base_url, then run the export again.',
  RequestRefused: 'Correct what the platform names, then run the export again.',
  RateLimited: 'Lower max_parallel or run fewer exports at a time, then run the export again.',
  OutOfTime: 'Look at what the window was waiting for, then run the export again.',
  ReportStuck: 'Give the platform the report ids, then run the export again.',
  DownloadRefused: 'Check the address or the size of the download, and the settings that bound them.',
  AccessRefused: 'Give the function the permission that is named, then run the export again.',
  ExportIncomplete:
    'Look at the windows that failed, then resume the execution, or run the export again with only_missing.',
  TokenRefused: 'Run the export again.',
  UrlExpired: 'Run the export again.',
  PlatformUnavailable: 'Wait until the platform is back, then run the export again.',
  AnswerLost: 'Run the export again; a report that nobody fetches does no harm.',
  AnswerUnreadable: 'Check that base_url is the platform, and give it the request_id.',
  CopyFailed: 'Run the export again; nothing incomplete is visible.',
  ServiceUnavailable: 'Run the export again when AWS has recovered.',
};

/** For what is not one of our errors: a function that was killed, a time-out, a fault of ours. */
const NEXT_AFTER_UNEXPECTED =
  "Read the execution's history and the function's log, then run the export again.";

/** What an export can end with beside errors of ours, as far as the runbook has a section about it. */
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

/** The section about any other one. */
export const OTHER_ERROR = 'OtherError';

/** Where the runbook is in the repository. */
const RUNBOOK = 'infra/RUNBOOK.md';

/** Bytes of a window's card in the export's state: 100 of them, the request and the windows' dates stay below its 256 KB. */
const WINDOW_CARD = 2_000;

/** Bytes of any card: it is an execution's Cause, which holds 32,768 characters, none of which is less than a byte. */
const CARD = 32_768;

/** Characters of an execution's Error. */
const ERROR_NAME = 256;

/** Characters of a text that are kept in any case; at six bytes each, the six texts of a card have 900 bytes. */
const LEAST_CHARACTERS = 25;

/** Entries of a timeline that are kept as long as there is anything else to give up. */
const LEAST_ENTRIES = 5;

export interface About {
  readonly execution: string;
  readonly account?: string | undefined;
  readonly export?: string | undefined;
  readonly window?: Failure['window'];
  readonly report_ids?: readonly string[];
  /** What went before the failure. */
  readonly timeline?: Timeline | undefined;
  /** The moment of the failure, where it does not say so itself. */
  readonly now: Date;
  readonly runbookUrl?: string | undefined;
}

/** The card of a failure that the state machine caught, no larger than there is room for. */
export function describeFailure(caught: Caught, about: About): Failure {
  const { happened, facts } = readCause(caught.Cause ?? '');
  const faults = strings(facts.faults);
  const timeline = appendEntries(about.timeline ?? [], entriesOfCaught(caught, about.now));
  const card: Failure = {
    version: '1',
    error: cut(caught.Error, ERROR_NAME),
    happened: happened || 'Nothing more is known.',
    todo: isOurs(caught.Error) ? NEXT[caught.Error] : NEXT_AFTER_UNEXPECTED,
    runbook: runbookOf(hasSection(caught.Error) ? caught.Error : OTHER_ERROR, about.runbookUrl),
    execution: about.execution,
    ...(about.account !== undefined && { account: about.account }),
    ...(about.export !== undefined && { export: about.export }),
    ...(about.window && { window: about.window }),
    report_ids: [...(about.report_ids ?? [])],
    request_ids: requestIds(facts, timeline),
    ...(faults.length > 0 && { faults: [...faults] }),
    timeline,
  };
  return trimToCause(card);
}

/**
 * @param heading the name of an error or an alarm; a section's address has nothing of it but letters, digits, - and _
 */
export function runbookOf(heading: string, url: string = RUNBOOK): string {
  return `${url}#${heading.toLowerCase().replaceAll(/[^a-z0-9_-]/g, '')}`;
}

function hasSection(error: string): boolean {
  return isOurs(error) || (AWS_ERRORS as readonly string[]).includes(error);
}

/** The one of the failure first, then those of the answers that had led to it. */
function requestIds({ request_id }: Facts, timeline: Timeline): string[] {
  const ids = [request_id, ...timeline.map((entry) => entry.request_id)];
  return [...new Set(ids.filter((id) => typeof id === 'string'))];
}

/** For the state of an export, which holds the cards of all windows that failed. */
export function trimToState(card: Failure): Failure {
  return trim(card, WINDOW_CARD);
}

/** For the Cause of an execution, as which it ends. */
export function trimToCause(card: Failure): Failure {
  return trim(card, CARD);
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

/** Gives up what can be missed, in this order, until the card fits: windows shown, the timeline's middle, faults, words, ids, texts. */
function trim(card: Failure, bytes: number): Failure {
  const { failed_windows, timeline, faults, report_ids, request_ids, happened } = card;
  if (bytesOf(card) <= bytes) return card;
  if (failed_windows?.length) return trim({ ...card, failed_windows: failed_windows.slice(0, -1) }, bytes);
  if (timeline.length > LEAST_ENTRIES)
    return trim({ ...card, timeline: shortenTimeline(timeline, timeline.length - 1) }, bytes);
  if (faults && faults.length > 1) return trim({ ...card, faults: faults.slice(0, -1) }, bytes);
  if (faults?.[0] && faults[0].length > 200) return trim({ ...card, faults: [cut(faults[0], 200)] }, bytes);
  if (happened.length > 200)
    return trim({ ...card, happened: cut(happened, Math.floor(happened.length / 2)) }, bytes);
  if (report_ids.length > 0) return trim({ ...card, report_ids: report_ids.slice(0, -1) }, bytes);
  if (timeline.length > 1) return trim({ ...card, timeline: timeline.slice(1) }, bytes);
  return cutTexts({ ...card, request_ids: request_ids.slice(0, 1) }, bytes, 200);
}

/** What others have written may take six bytes a character in JSON: each text is cut to half as many until the card fits. */
function cutTexts(card: Failure, bytes: number, most: number): Failure {
  const { error, happened, faults, timeline, request_ids } = card;
  const all = (texts: readonly string[]) => texts.map((text) => cut(text, most));
  const shorter: Failure = {
    ...card,
    error: cut(error, most),
    happened: cut(happened, most),
    ...(faults && { faults: all(faults) }),
    timeline: timeline.map(({ outcome, request_id, ...entry }) => ({
      ...{ ...entry, outcome: cut(outcome, most) },
      ...(request_id !== undefined && { request_id: cut(request_id, most) }),
    })),
    request_ids: all(request_ids),
  };
  return bytesOf(shorter) <= bytes || most <= LEAST_CHARACTERS ? shorter : cutTexts(shorter, bytes, most / 2);
}

function isOurs(name: string): name is ErrorName {
  return Object.hasOwn(errors, name);
}

function strings(value: Facts[string]): readonly string[] {
  return Array.isArray(value) ? value : [];
}

function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1).toWellFormed()}…`;
}

import { type ErrorName, errors, type Facts, readMessage } from './errors.ts';
import type { Caught, Failure } from './states.ts';

/** What a person does next, one sentence per error. */
const NEXT: Readonly<Record<ErrorName, string>> = {
  InvalidInput: 'Correct the request and start it again.',
  CredentialUnusable: "Correct the account's credential secret and run the export again.",
  LoginRequired: 'Sign in to the platform again, then run the export again.',
  TokenRefusedAgain: 'Check the credential, its scope and base_url, then run the export again.',
  RequestRefused: 'Correct what the platform names, then run the export again.',
  RateLimited: 'Lower max_parallel or run fewer exports at a time, then run the export again.',
  ReportStuck: 'Give the platform the report ids, then run the export again.',
  DownloadRefused: 'Check the address or the size of the download, and the settings that bound them.',
  AccessRefused: 'Give the function the permission that is named, then run the export again.',
  ExportIncomplete:
    'Look at the windows that failed, then run the export again: what was delivered is replaced.',
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

/** Bytes of a window's card: 100 of them, the request and the windows' dates stay below the 256 KB of a state. */
const WINDOW_CARD = 2_000;

/** Bytes of an export's card: an execution's Cause holds 32,768 characters. */
const EXPORT_CARD = 30_000;

export interface About {
  readonly execution: string;
  readonly account?: string | undefined;
  readonly export?: string | undefined;
  readonly window?: Failure['window'];
  readonly report_ids?: readonly string[];
}

/** The card of a failure that the state machine caught, no larger than there is room for. */
export function describeFailure(caught: Caught, about: About): Failure {
  const { happened, facts } = readCause(caught.Cause ?? '');
  const faults = strings(facts.faults);
  const card: Failure = {
    version: '1',
    error: caught.Error,
    happened: happened || 'Nothing more is known.',
    todo: isOurs(caught.Error) ? NEXT[caught.Error] : NEXT_AFTER_UNEXPECTED,
    execution: about.execution,
    ...(about.account !== undefined && { account: about.account }),
    ...(about.export !== undefined && { export: about.export }),
    ...(about.window && { window: about.window }),
    report_ids: [...(about.report_ids ?? [])],
    request_ids: typeof facts.request_id === 'string' ? [facts.request_id] : [],
    ...(faults.length > 0 && { faults: [...faults] }),
  };
  return trim(card, about.window ? WINDOW_CARD : EXPORT_CARD);
}

/** Gives up what can be missed, in this order, until the card fits: windows shown, faults, words, ids. */
export function trim(card: Failure, bytes: number = EXPORT_CARD): Failure {
  const { failed_windows, faults, report_ids, request_ids, happened } = card;
  if (Buffer.byteLength(JSON.stringify(card)) <= bytes) return card;
  if (failed_windows?.length) return trim({ ...card, failed_windows: failed_windows.slice(0, -1) }, bytes);
  if (faults && faults.length > 1) return trim({ ...card, faults: faults.slice(0, -1) }, bytes);
  if (faults?.[0] && faults[0].length > 200) return trim({ ...card, faults: [cut(faults[0], 200)] }, bytes);
  if (happened.length > 200)
    return trim({ ...card, happened: cut(happened, Math.floor(happened.length / 2)) }, bytes);
  if (report_ids.length > 0) return trim({ ...card, report_ids: report_ids.slice(0, -1) }, bytes);
  return { ...card, request_ids: request_ids.map((id) => cut(id, 200)), error: cut(card.error, 200) };
}

/** Lambda gives Step Functions a JSON document about an error, Step Functions itself gives plain text. */
function readCause(cause: string): { happened: string; facts: Facts } {
  try {
    const { errorMessage } = JSON.parse(cause) as { errorMessage?: unknown };
    return readMessage(typeof errorMessage === 'string' ? errorMessage : cause);
  } catch {
    return readMessage(cause);
  }
}

function isOurs(name: string): name is ErrorName {
  return Object.hasOwn(errors, name);
}

function strings(value: Facts[string]): readonly string[] {
  return Array.isArray(value) ? value : [];
}

function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}

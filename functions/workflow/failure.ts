import { type ErrorName, errors, type Facts, readMessage } from './errors.ts';
import type { Caught, Failure } from './states.ts';

/** What a person does next, one sentence per error. */
const TODO: Readonly<Record<ErrorName, string>> = {
  InvalidInput: 'Correct the request and start it again.',
  CredentialUnusable: "Correct the account's credential secret and run the export again.",
  LoginRequired: 'Sign in to the platform again, then run the export again.',
  TokenRefusedAgain: 'Check the credential, its scope and base_url, then run the export again.',
  RequestRefused: 'Correct what the platform names, then run the export again.',
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
const TODO_UNEXPECTED = "Read the execution's history and the function's log, then run the export again.";

interface Limits {
  readonly happened: number;
  readonly faults: number;
  readonly fault: number;
}

/** Each of 100 windows leaves a card in a state of 256 KB: 1,000 + 8 × 100 + ids and names are under 2.5 KB. */
const WINDOW_LIMITS: Limits = { happened: 1_000, faults: 8, fault: 100 };

/** An execution's Cause holds 32,768 characters: 3,000 + 50 × 300 + ids and names are under 20 KB. */
const EXPORT_LIMITS: Limits = { happened: 3_000, faults: 50, fault: 300 };

export interface About {
  readonly execution: string;
  readonly account?: string | undefined;
  readonly export?: string | undefined;
  readonly window?: Failure['window'];
  readonly report_ids?: readonly string[];
}

/** The card of a failure that the state machine caught. */
export function describeFailure(caught: Caught, about: About): Failure {
  const { happened, facts } = readCause(caught.Cause ?? '');
  const limits = about.window ? WINDOW_LIMITS : EXPORT_LIMITS;
  const faults = strings(facts.faults);
  return {
    version: '1',
    error: caught.Error,
    happened: shorten(happened || 'Nothing more is known.', limits.happened),
    todo: isOurs(caught.Error) ? TODO[caught.Error] : TODO_UNEXPECTED,
    execution: about.execution,
    ...(about.account !== undefined && { account: about.account }),
    ...(about.export !== undefined && { export: about.export }),
    ...(about.window && { window: about.window }),
    report_ids: [...(about.report_ids ?? [])],
    request_ids: typeof facts.request_id === 'string' ? [facts.request_id] : [],
    ...(faults.length > 0 && {
      faults: faults.slice(0, limits.faults).map((fault) => shorten(fault, limits.fault)),
    }),
  };
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

function shorten(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}

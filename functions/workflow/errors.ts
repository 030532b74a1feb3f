import { isObject, parseJson } from './json.ts';

/**
 * The errors that a step can throw: one class per decision of the state machine (retry later, renew, replace,
 * give up), not one per HTTP status. infra/stack/constructs/retries.ts has the Retries, and
 * infra/stack/constructs/export-workflow.ts what a Catch leads to. A step that catches an error itself says
 * so: createReport repeats a call after an AnswerLost.
 *
 * Each class gives its `name` as a literal, because Step Functions matches it in a Retry or a Catch, and a
 * minifier shortens the names of classes.
 */

/** Ids and numbers about a failure. Never a URL's query, never a secret. */
export type Facts = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

/**
 * Step Functions keeps 32,768 characters of a Cause and cuts the rest, which makes its JSON unreadable.
 * Lambda escapes the message once more; 12,000 characters fit even if every second one is escaped.
 */
const MAX_MESSAGE = 12_000;

export abstract class ExportError extends Error {
  abstract override readonly name: string;
  /** One or two sentences: what happened, to which id, and what to do next. */
  readonly happened: string;
  readonly facts: Facts;

  /**
   * @param facts the most important first. They become the last line of the message, because Lambda passes
   *   only an error's name and message to Step Functions.
   * @param options with the error of AWS, whose message only the CLI shows
   */
  constructor(happened: string, facts: Facts = {}, options?: ErrorOptions) {
    // The cut may split a surrogate pair.
    const sentence = happened.slice(0, MAX_MESSAGE / 2).toWellFormed();
    super(`${sentence}\n${JSON.stringify(limitFacts(facts, MAX_MESSAGE / 2))}`, options);
    this.happened = sentence;
    this.facts = facts;
  }
}

function named<const Name extends string>(name: Name) {
  return class extends ExportError {
    override readonly name = name;
  };
}

/** Leaves out list entries and values that do not fit. */
function limitFacts(facts: Facts, characters: number): Facts {
  let left = characters;
  const fits = (value: unknown) => {
    left -= JSON.stringify(value)?.length ?? 0;
    return left >= 0;
  };
  const entries = Object.entries(facts).map(([name, value]) => [
    name,
    Array.isArray(value) ? value.filter(fits) : fits(value) ? value : undefined,
  ]);
  return Object.fromEntries(entries);
}

/** Splits an {@link ExportError}'s message into its sentence and its facts. Others have no facts. */
export function readMessage(message: string): { happened: string; facts: Facts } {
  const end = message.lastIndexOf('\n{');
  const facts = end < 0 ? undefined : parseJson(message.slice(end + 1));
  return isObject(facts)
    ? { happened: message.slice(0, end), facts: facts as Facts }
    : { happened: message, facts: {} };
}

/** Reads a Cause, if there is one: a JSON document from Lambda, plain text from Step Functions itself. */
export function readCause(cause = ''): { happened: string; facts: Facts } {
  const { errorMessage } = Object(parseJson(cause));
  return readMessage(typeof errorMessage === 'string' ? errorMessage : cause);
}

// Give up: a person has to act.

/** The execution's input is faulty. The facts list every fault. The platform was not called. */
export class InvalidInput extends named('InvalidInput') {}

/** The account's credential is missing or malformed, or the token endpoint refused it. */
export class CredentialUnusable extends named('CredentialUnusable') {}

/** The refresh token no longer works: a person has to sign in again. */
export class LoginRequired extends named('LoginRequired') {}

/** The platform refused a new token too, so another one would not help. */
export class TokenRefusedAgain extends named('TokenRefusedAgain') {}

/**
 * The platform refuses the request: 400, 403, 422 and others. Or base_url's host does not exist, or its
 * certificate is not trusted.
 */
export class RequestRefused extends named('RequestRefused') {}

/** The platform asked to wait too often: 429, or 5xx with Retry-After. GetToken's Retry waits after it. */
export class RateLimited extends named('RateLimited') {}

/** The window takes too long. */
export class OutOfTime extends named('OutOfTime') {}

/** Neither the report nor its replacements could be delivered. */
export class ReportStuck extends named('ReportStuck') {}

/** The download is not safe or not usable: an unsafe address, a redirect, too large, not decodable. */
export class DownloadRefused extends named('DownloadRefused') {}

/** S3, Secrets Manager or Glue refuses a call: a permission, key or bucket is missing, or it is faulty. */
export class AccessRefused extends named('AccessRefused') {}

/** The disk of a folder or a server that stands for S3 is full. S3 itself has no such answer. */
export class DiskFull extends named('DiskFull') {}

/** Some windows failed, for different reasons. With one reason, the export fails with that error. */
export class ExportIncomplete extends named('ExportIncomplete') {}

// Renew, replace.

/** The platform answered 401. GetToken renews the token, and the window continues with the same report. */
export class TokenRefused extends named('TokenRefused') {}

/** The storage host answered 401, 403 or 410. A new GET brings a fresh URL, or else a new report does. */
export class UrlExpired extends named('UrlExpired') {}

// Retry later.

/** The platform did not answer, or answered 408 or 5xx. Nothing was created. */
export class PlatformUnavailable extends named('PlatformUnavailable') {}

/**
 * The answer to the creation of a report was lost, so a report may exist. The call is repeated at most once.
 */
export class AnswerLost extends named('AnswerLost') {}

/** The answer is not what the contract promises: HTML, broken JSON, no id. */
export class AnswerUnreadable extends named('AnswerUnreadable') {}

/** The copy broke off: a failure, a body cut short, or a wrong checksum. Nothing is visible. */
export class CopyFailed extends named('CopyFailed') {}

/** S3, Secrets Manager or Glue throttles or is unavailable, or another call renews the account's token. */
export class ServiceUnavailable extends named('ServiceUnavailable') {}

/** The names for Retry and Catch. */
export const errors = {
  InvalidInput,
  CredentialUnusable,
  LoginRequired,
  TokenRefusedAgain,
  RequestRefused,
  RateLimited,
  OutOfTime,
  ReportStuck,
  DownloadRefused,
  AccessRefused,
  DiskFull,
  ExportIncomplete,
  TokenRefused,
  UrlExpired,
  PlatformUnavailable,
  AnswerLost,
  AnswerUnreadable,
  CopyFailed,
  ServiceUnavailable,
} as const;

export type ErrorName = keyof typeof errors;

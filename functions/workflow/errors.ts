/**
 * Every way in which a step can fail, one class per decision that the state machine takes (again soon, again
 * later, renew, replace, give up), not one per HTTP status.
 *
 * `name` is a literal on the class: it is what Step Functions matches in a Retry or a Catch, and a minifier would
 * shorten anything that is derived from the class's own name.
 */

/** What is known about a failure beyond its sentence. Ids and numbers only: never a URL's query, never a secret. */
export type Facts = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

/**
 * Step Functions keeps 32,768 characters of a Cause, in which Lambda writes the message once more escaped; what is cut
 * cannot be read. 12,000 characters stay below that even where every second one is escaped.
 */
const MAX_MESSAGE = 12_000;

export abstract class ExportError extends Error {
  abstract override readonly name: string;
  readonly facts: Facts;

  /**
   * @param happened what happened, to which id, and what to do next, in one or two sentences
   * @param facts the platform's request_id, status and the like, what identifies the failure first; they travel as the
   *   last line of the message, because Lambda hands Step Functions nothing of an error but its name and message
   */
  constructor(happened: string, facts: Facts = {}) {
    // A cut may fall into the middle of a character, whose half is no text.
    const said = happened.slice(0, MAX_MESSAGE / 2).toWellFormed();
    super(`${said}\n${JSON.stringify(shorten(facts, MAX_MESSAGE / 2))}`);
    this.facts = facts;
  }
}

/** Leaves out what no longer fits: entries from the end of a list, or whole values. */
function shorten(facts: Facts, characters: number): Facts {
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

/** Splits a message made by {@link ExportError} into its sentence and its facts; any other message has no facts. */
export function readMessage(message: string): { happened: string; facts: Facts } {
  const end = message.lastIndexOf('\n{');
  if (end < 0) return { happened: message, facts: {} };
  try {
    return { happened: message.slice(0, end), facts: JSON.parse(message.slice(end + 1)) as Facts };
  } catch {
    return { happened: message, facts: {} };
  }
}

/** The same for a Cause: Lambda gives Step Functions a JSON document about an error, Step Functions itself gives plain text. */
export function readCause(cause: string): { happened: string; facts: Facts } {
  try {
    const { errorMessage } = JSON.parse(cause) as { errorMessage?: unknown };
    return readMessage(typeof errorMessage === 'string' ? errorMessage : cause);
  } catch {
    return readMessage(cause);
  }
}

/**
 * Gives an error one more fact, in its message, where {@link readMessage} finds it.
 *
 * @param value as JSON; a few hundred characters
 */
export function addFact(error: Error, name: string, value: unknown): void {
  const { happened, facts } = readMessage(error.message);
  error.message = `${happened}\n${JSON.stringify({ ...facts, [name]: value })}`;
}

// Give up: nothing changes until a person does something.

/** The execution's input cannot be exported; the message names every fault. No request was made. */
export class InvalidInput extends ExportError {
  override readonly name = 'InvalidInput';
}

/** The account's credential is missing, malformed, or not accepted by the token endpoint. */
export class CredentialUnusable extends ExportError {
  override readonly name = 'CredentialUnusable';
}

/** The refresh token is dead: a person has to sign in again. */
export class LoginRequired extends ExportError {
  override readonly name = 'LoginRequired';
}

/** A token that had just been issued was refused as well: another one would be too. */
export class TokenRefusedAgain extends ExportError {
  override readonly name = 'TokenRefusedAgain';
}

/** The platform understood the request and will not serve it: 400, 403, 422 and other 4xx answers. */
export class RequestRefused extends ExportError {
  override readonly name = 'RequestRefused';
}

/** The platform went on asking to wait for longer than a window may take. */
export class RateLimited extends ExportError {
  override readonly name = 'RateLimited';
}

/** The window has been under way for longer than it may take, whatever it was waiting for. */
export class OutOfTime extends ExportError {
  override readonly name = 'OutOfTime';
}

/** No report became READY, the replacements included. */
export class ReportStuck extends ExportError {
  override readonly name = 'ReportStuck';
}

/** The download must not or cannot be stored: an unsafe address, a redirect, too large, not decodable. */
export class DownloadRefused extends ExportError {
  override readonly name = 'DownloadRefused';
}

/** S3, Secrets Manager or Step Functions says no: a permission, a key or the bucket is missing. */
export class AccessRefused extends ExportError {
  override readonly name = 'AccessRefused';
}

/** Some windows of the export were not delivered; each has its own failure. */
export class ExportIncomplete extends ExportError {
  override readonly name = 'ExportIncomplete';
}

// Renew, replace.

/** The platform answered 401: GetToken renews the token, and the same report goes on. */
export class TokenRefused extends ExportError {
  override readonly name = 'TokenRefused';
}

/** The storage host no longer serves the URL (403): a new GET gives a fresh one; after that, a replacement. */
export class UrlExpired extends ExportError {
  override readonly name = 'UrlExpired';
}

// Again later.

/** The platform did not answer, or answered 5xx; nothing was created. */
export class PlatformUnavailable extends ExportError {
  override readonly name = 'PlatformUnavailable';
}

/** POST was sent and its answer was lost: a report may exist. Repeated once at most. */
export class AnswerLost extends ExportError {
  override readonly name = 'AnswerLost';
}

/** The answer is not what the contract promises: HTML, broken JSON, no id. */
export class AnswerUnreadable extends ExportError {
  override readonly name = 'AnswerUnreadable';
}

/** The copy broke off: storage host or S3 failed, the body was cut short, or a checksum differed. Nothing is visible. */
export class CopyFailed extends ExportError {
  override readonly name = 'CopyFailed';
}

/** S3, Secrets Manager, Step Functions or EventBridge throttles or is unavailable. */
export class ServiceUnavailable extends ExportError {
  override readonly name = 'ServiceUnavailable';
}

/** The names, for Retry and Catch. The compiler holds each to its class. */
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

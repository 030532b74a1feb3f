import { type ErrorFacts, type Fields, REQUEST_ID_HEADER, readError } from '../contract.ts';
import type { Facts } from '../workflow/errors.ts';
import { fieldsOf, isObject, type JsonObject } from '../workflow/json.ts';
import { removeSignatures } from '../workflow/signatures.ts';

export interface Call {
  readonly method: 'GET' | 'POST';
  /** Another base URL than the platform's. */
  readonly base?: string;
  /** Begins with a slash, relative to the base URL. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** The revision that the headers name. */
  readonly revision?: string;
  /** Secret values that the request carries. No error repeats them, even if the platform echoes them. */
  readonly secrets: readonly string[];
  /** Completes "when …", such as "creating a report for 2026-10-01 to 2026-10-31". */
  readonly doing: string;
  /** Repeating the call would create another report. */
  readonly creates?: boolean;
  /** The scope that the call needs, if it is known. */
  readonly scope?: string | undefined;
  /** For errors, and for log lines. */
  readonly facts?: Facts;
}

export interface Head {
  readonly call: Call;
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

export interface ReceivedAnswer extends Head {
  /** Without the gzip of a gateway. */
  readonly bytes: Buffer;
  /** The bytes as UTF-8, without a byte order mark. */
  readonly text: string;
  /** True if the body is longer than the cap; these are its beginning. */
  readonly truncated: boolean;
}

// Errors travel in a workflow's state (256 KB in total) and in lines on a screen. Characters.
const SENTENCE_CAP = 500;
const DETAIL_CAP = 2_000;

// A person reads the failures of a validation to correct the request; the rest is only counted.
const FAILURES_SHOWN = 50;
const FAILURE_CAP = 300;

export function headerOf({ headers }: Pick<Head, 'headers'>, name: string): string | undefined {
  return [headers[name.toLowerCase()]].flat()[0];
}

/** Cleans the platform's text for a message: no secret, URL query (a signature) or control character. */
function clean(text: string, secrets: readonly string[]): string {
  const redacted = secrets.reduce(
    (rest, secret) => (secret === '' ? rest : rest.replaceAll(secret, '[redacted]')),
    text,
  );
  // Cut after the replacement, which must see whole secrets, and before the search, which takes long.
  return removeSignatures(redacted.slice(0, DETAIL_CAP)).replace(/\p{Cc}+/gu, ' ');
}

/** Cleans text, and cuts it to the length of a sentence. */
export function cleanSentence(text: string, secrets: readonly string[]): string {
  return clean(text, secrets).slice(0, SENTENCE_CAP);
}

/** Cleans the strings and field names of a JSON value, as a function for JSON.parse and JSON.stringify. */
export function cleanIn(secrets: readonly string[]): (name: string, value: unknown) => unknown {
  return (_name, value) => {
    if (typeof value === 'string') return clean(value, secrets);
    if (!isObject(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [clean(name, secrets), inner]));
  };
}

/** The platform's words about a refusal. */
export interface Refusal {
  readonly type: string;
  readonly reason?: string | undefined;
  readonly detail?: string | undefined;
  /** One sentence per failure of the validation. */
  readonly validation?: readonly string[];
}

/** The type of an error whose answer has neither a type nor an OAuth error code. */
export const UNNAMED = 'unnamed error';

/**
 * Reads any answer that is not a success, HTML and empty bodies included: as the platform's error, or
 * OAuth's.
 */
export function readRefusal(answer: ReceivedAnswer): Refusal {
  const { type, message, detail, validation } = errorFacts(answer);
  const { error, error_description } = errorBody(answer);
  return {
    type: toSentence(type ?? error) ?? UNNAMED,
    reason: toSentence(message ?? error_description),
    detail: typeof detail === 'string' ? detail : toJson(detail),
    validation: listValidation(validation ?? (Array.isArray(detail) ? detail : undefined)),
  };
}

/** The words of an error, cleaned. */
export function errorFacts(answer: Head & { readonly text?: string }): ErrorFacts {
  return readError({ status: answer.status, body: errorBody(answer) as Fields });
}

/** Parses the body of an error and cleans its strings and field names; empty if it is not a JSON object. */
export function errorBody({ text = '', call: { secrets } }: Head & { readonly text?: string }): JsonObject {
  try {
    return fieldsOf(JSON.parse(text, cleanIn(secrets)));
  } catch {
    // Not JSON, or nested too deep for the stack.
    return {};
  }
}

/**
 * The id in an error, or else in its header. A success has only the header. An id is one word; other text
 * could be an echo.
 */
export function requestIdOf(answer: Head & { readonly text?: string }): string | undefined {
  const inBody = isSuccess(answer) ? undefined : errorFacts(answer).request_id;
  const header = cleanSentence(headerOf(answer, REQUEST_ID_HEADER) ?? '', answer.call.secrets);
  const ids = [toSentence(inBody), header];
  return ids.find((id) => id !== undefined && /^\S+$/.test(id));
}

export function isSuccess({ status }: Head): boolean {
  return status >= 200 && status < 300;
}

/** A string or number of an error body as a sentence; anything else is undefined. */
function toSentence(value: unknown): string | undefined {
  if (typeof value !== 'string' && typeof value !== 'number') return undefined;
  return String(value).slice(0, SENTENCE_CAP) || undefined;
}

function toJson(detail: unknown): string | undefined {
  return detail === undefined || detail === null ? undefined : JSON.stringify(detail).slice(0, DETAIL_CAP);
}

/**
 * The failures of a validation, whose shape the contract does not show: a sentence, a list of sentences or
 * objects, or an object with sentences or lists by field.
 */
function listValidation(validation: unknown): string[] {
  const failures = isObject(validation)
    ? Object.entries(validation).flatMap(([field, value]) =>
        textsOf(value).map((text) => `${field}: ${text}`),
      )
    : textsOf(validation);
  const shown = failures.slice(0, FAILURES_SHOWN).map((failure) => failure.slice(0, FAILURE_CAP));
  const hidden = failures.length - shown.length;
  return hidden === 0 ? shown : [...shown, `and ${hidden} more`];
}

/** The texts of one value, or of a list. */
function textsOf(value: unknown): string[] {
  return [value ?? []].flat().map((item) => (typeof item === 'string' ? item : JSON.stringify(item)));
}

/** Retry-After in whole seconds: seconds or a date (RFC 9110, 10.2.3). Undefined if it is neither. */
export function retryAfterOf(answer: Pick<Head, 'headers'>, now = Date.now): number | undefined {
  const header = headerOf(answer, 'retry-after') ?? '';
  const seconds = /^[\d.]+$/.test(header) ? Number(header) : (Date.parse(header) - now()) / 1000;
  return Number.isNaN(seconds) ? undefined : Math.max(0, Math.ceil(seconds));
}

import {
  type Answer,
  DETAIL_CAP,
  errorBody,
  type Head,
  headerOf,
  objectOf,
  requestIdOf,
  toSentence,
} from './answer.ts';
import { ABSENT, PlatformError } from './errors.ts';

/** Reads any answer that is not a success, HTML and empty bodies included, as the error of contract 7.1. */
export function platformError(answer: Answer, now: number): PlatformError {
  const body = errorBody(answer);
  const envelope = objectOf(body.error);
  const { detail } = envelope;
  return new PlatformError(answer.call, {
    status: answer.status,
    type: toSentence(envelope.type ?? body.error) ?? ABSENT,
    requestId: requestIdOf(answer),
    reason: toSentence(envelope.message ?? body.error_description) ?? redirectReason(answer),
    detail: typeof detail === 'string' ? detail : describe(detail),
    validation: listValidation(Array.isArray(detail) ? detail : objectOf(detail).validation),
    retryAfterSeconds: retryAfterOf(answer, now),
  });
}

export function redirectReason({ status }: Head): string | undefined {
  return status >= 300 && status < 400 ? 'redirects are not followed' : undefined;
}

function describe(detail: unknown): string | undefined {
  return detail === undefined || detail === null ? undefined : JSON.stringify(detail).slice(0, DETAIL_CAP);
}

// A person reads the failures to correct the request; the rest is only counted.
const FAILURES_SHOWN = 50;
const FAILURE_CAP = 300;
// A field of an object in a list is four levels deep. Deeper nesting is not a list of failures and could exhaust the stack.
const DEPTH_CAP = 20;

/**
 * The failures under detail.validation (contract 7.1), whose shape the contract does not show: a sentence, a list of
 * sentences or objects, or an object with sentences or lists by field.
 */
export function listValidation(validation: unknown): string[] {
  const failures = flatten(validation, '').map((failure) => failure.slice(0, FAILURE_CAP));
  if (failures.length <= FAILURES_SHOWN) return failures;
  return [...failures.slice(0, FAILURES_SHOWN), `and ${failures.length - FAILURES_SHOWN} more`];
}

function flatten(value: unknown, field: string, depth = 0): string[] {
  if (value === undefined || value === null || value === '' || depth > DEPTH_CAP) return [];
  if (Array.isArray(value)) return value.flatMap((item) => flatten(item, field, depth + 1));
  if (typeof value !== 'object') return [field ? `${field}: ${value}` : String(value)];
  const { field: named, message } = value as Record<string, unknown>;
  if (typeof named === 'string' && typeof message === 'string') return [`${join(field, named)}: ${message}`];
  return Object.entries(value).flatMap(([key, inner]) => flatten(inner, join(field, key), depth + 1));
}

function join(outer: string, inner: string): string {
  return outer ? `${outer}.${inner}` : inner;
}

/**
 * Retry-After in whole seconds from `now`, whether the header holds seconds or a date (RFC 9110, 10.2.3). Undefined if it
 * is absent or neither. Has no cap.
 *
 * @param now milliseconds since the epoch
 */
export function retryAfterOf(answer: Pick<Head, 'headers'>, now: number): number | undefined {
  const header = headerOf(answer, 'retry-after');
  if (header === undefined) return undefined;
  const seconds = /^\d+(\.\d+)?$/.test(header) ? Number(header) : secondsUntil(header, now);
  // Infinity would become null in JSON.
  return seconds === undefined
    ? undefined
    : Math.min(Math.max(0, Math.ceil(seconds)), Number.MAX_SAFE_INTEGER);
}

/** Date.parse accepts much that is not an HTTP date, such as "-5". Every HTTP date begins with the day's name. */
function secondsUntil(date: string, now: number): number | undefined {
  const time = /^(mon|tue|wed|thu|fri|sat|sun)/i.test(date) ? Date.parse(date) : Number.NaN;
  return Number.isNaN(time) ? undefined : (time - now) / 1000;
}

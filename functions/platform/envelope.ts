import type { Answered } from './connection.ts';
import { ABSENT, OAuthError, PlatformError, UnreadableAnswer } from './errors.ts';
import type { Answer, Head } from './request.ts';
import { readRetryAfter } from './retry-after.ts';
import { listValidation } from './validation.ts';
import { withoutSecrets } from './without-secrets.ts';

// An error travels in a workflow's state (256 KB in all) and in a line on a screen.
const SENTENCE_CAP = 500;
const DETAIL_CAP = 2_000;

type Json = Readonly<Record<string, unknown>>;

/** Any answer that is no success, down to HTML and an empty body, as the error of contract 7.1. */
export function platformError(answer: Answer, now: number): PlatformError {
  const body = errorBody(answer);
  const envelope = asObject(body.error);
  const detail = envelope.detail;
  return new PlatformError(answer.call, {
    status: answer.status,
    type: sentence(envelope.type ?? body.error) ?? ABSENT,
    requestId: requestIdOf(answer),
    reason: sentence(envelope.message ?? body.error_description) ?? redirection(answer.status),
    detail: typeof detail === 'string' ? detail : describe(detail),
    validation: listValidation(Array.isArray(detail) ? detail : asObject(detail).validation),
    docUrl: sentence(envelope.doc_url),
    retryAfterSeconds: readRetryAfter(headerOf(answer, 'retry-after'), now),
  });
}

/** A 4xx of the token endpoint: the OAuth body of contract 7.3, or the envelope should it come instead. */
export function oauthError(answer: Answer): OAuthError {
  const body = errorBody(answer);
  const envelope = asObject(body.error);
  return new OAuthError(answer.call, {
    status: answer.status,
    error: sentence(body.error) ?? sentence(envelope.type) ?? ABSENT,
    errorDescription: sentence(body.error_description) ?? sentence(envelope.message),
    requestId: requestIdOf(answer),
  });
}

/** @param reason what is wrong with it; it may name fields and headers, and quotes no value of the body */
export function unreadable(answer: Head, reason: string): UnreadableAnswer {
  return new UnreadableAnswer(answer.call, {
    status: answer.status,
    requestId: requestIdOf(answer),
    reason: wordsOf(answer, reason),
  });
}

/**
 * The envelope's (contract 7.1); else the id that a gateway or a proxy may have put into the headers, which is all that a
 * success can have; else "absent".
 */
export function requestIdOf(answer: Answered): string {
  const isSuccess = answer.status >= 200 && answer.status < 300;
  const named = isSuccess ? undefined : sentence(asObject(errorBody(answer).error).request_id);
  const header = wordsOf(answer, headerOf(answer, 'x-request-id') ?? '');
  return named ?? (header || ABSENT);
}

/** What an answer says somewhere, as it may be shown: free of secrets, and no longer than a sentence. */
export function wordsOf({ secrets }: Pick<Answered, 'secrets'>, text: string): string {
  return redact(text, secrets).slice(0, SENTENCE_CAP);
}

/** The body as an object, every string and every name in it freed of secrets; empty if it is no JSON object. */
function errorBody({ text = '', secrets }: Answered): Json {
  const clean = ([name, value]: [string, unknown]) => [redact(name, secrets), value];
  const reviver = (_key: string, value: unknown) => {
    if (typeof value === 'string') return redact(value, secrets);
    return isObject(value) ? Object.fromEntries(Object.entries(value).map(clean)) : value;
  };
  try {
    return asObject(JSON.parse(text, reviver));
  } catch {
    return {};
  }
}

/** A server may quote what it got. Also takes the query off URLs (it may be a signature) and control characters. */
function redact(text: string, secrets: readonly string[]): string {
  // Cut only then, so that no secret is cut in two; and before the next pattern, whose time grows with the square.
  return withoutSecrets(text, secrets)
    .slice(0, DETAIL_CAP)
    .replace(/(https?:\/\/[^\s"'<>?]*)\?[^\s"'<>]*/gi, '$1')
    .replace(/\p{Cc}+/gu, ' ');
}

function redirection(status: number): string | undefined {
  return status >= 300 && status < 400 ? 'redirects are not followed' : undefined;
}

function headerOf(answer: Answered, name: string): string | undefined {
  const value = answer.headers[name];
  return Array.isArray(value) ? value[0] : value;
}

function sentence(value: unknown): string | undefined {
  if (typeof value !== 'string' && typeof value !== 'number') return undefined;
  return String(value).slice(0, SENTENCE_CAP) || undefined;
}

function describe(detail: unknown): string | undefined {
  return detail === undefined || detail === null ? undefined : JSON.stringify(detail).slice(0, DETAIL_CAP);
}

function asObject(value: unknown): Json {
  return isObject(value) ? value : {};
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

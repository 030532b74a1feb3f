import { randomUUID } from 'node:crypto';
import * as z from 'zod/mini';
import { isObject, type JsonObject, parseJson } from '../../functions/workflow/json.ts';
import { type Answer, type Call, json } from './exchange.ts';

/** One entry of detail.validation (contract 7.1). */
export type Violation = { field: string; message: string };

/** Thrown in place of an answer. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly answer: Answer;

  constructor(answer: Answer) {
    super(`The sandbox answers ${answer.status}`);
    this.answer = answer;
  }
}

/** A refusal with the envelope of contract 7.1. */
export function refusal(
  status: number,
  type: string,
  message: string,
  { headers, detail }: { headers?: Record<string, string>; detail?: unknown } = {},
): Refusal {
  const request_id = `req_${randomUUID()}`;
  const doc_url = `https://docs.example.com/errors#${type}`;
  return new Refusal(
    json(status, { error: { type, message, status, request_id, detail, doc_url } }, headers),
  );
}

/** A refusal of the OAuth endpoints, which have their own error body (RFC 6749 5.2, contract 7.3). */
export function oauthRefusal(error: string, error_description: string, status = 400): Refusal {
  const challenge = status === 401 && { 'www-authenticate': 'Basic realm="platform"' };
  return new Refusal(
    json(status, { error, error_description }, { 'cache-control': 'no-store', ...challenge }),
  );
}

/**
 * Reads a value by its schema.
 *
 * @param more violations that the schema cannot find
 * @throws Refusal 422 that lists every violation, if there are any (contract 7.2)
 */
export function readAs<S extends z.ZodMiniType>(
  schema: S,
  value: unknown,
  more: readonly Violation[] = [],
): z.infer<S> {
  const { data, error } = schema.safeParse(value);
  const violations = [
    ...more,
    ...(error?.issues ?? []).map(({ path, message }) => ({ field: z.core.toDotPath(path), message })),
  ];
  if (violations.length === 0) return data as z.infer<S>;
  const fields = violations.map(({ field }) => field).join(', ');
  throw refusal(422, 'validation', `Validation failed: ${fields}.`, {
    detail: { validation: violations },
  });
}

/** Reads the body of a POST. @throws Refusal 400 if it is not a JSON object (contract 7.2) */
export function readJsonBody({ headers, body }: Call): JsonObject {
  if (!/^application\/json\s*(;|$)/i.test(headers['content-type'] ?? ''))
    throw refusal(400, 'validation', 'Content-Type must be application/json.');
  const value = parseJson(body);
  if (!isObject(value)) throw refusal(400, 'validation', 'The body is not a JSON object.');
  return value;
}

const TYPES: Readonly<Record<number, string>> = {
  400: 'validation',
  401: 'token_invalid',
  403: 'insufficient_scope',
  404: 'not_found',
  422: 'validation',
  429: 'rate_limited',
};

/** The answer with a status that a fault asks for, and the type that the contract gives it. */
export function answerAsTold(status: number, { endpoint }: Pick<Call, 'endpoint'>): Answer {
  const message = `The sandbox was told to answer ${status}.`;
  if (endpoint !== 'token') return refusal(status, TYPES[status] ?? 'internal_error', message).answer;
  return oauthRefusal(status === 401 ? 'invalid_client' : 'server_error', message, status).answer;
}

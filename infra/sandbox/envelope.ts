import { randomUUID } from 'node:crypto';
import * as z from 'zod/mini';
import { isObject, type JsonObject, parseJson } from '../../functions/workflow/json.ts';
import { type Answer, type Incoming, json } from './exchange.ts';

/** One entry of detail.validation (contract 7.1). */
export type Violation = { field: string; message: string };

/** An error that the platform answers with the envelope of contract 7.1. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly status: number;
  readonly type: string;
  readonly headers: Record<string, string>;
  readonly detail: unknown;

  constructor(
    status: number,
    type: string,
    message: string,
    more: { headers?: Record<string, string>; detail?: unknown } = {},
  ) {
    super(message);
    this.status = status;
    this.type = type;
    this.headers = more.headers ?? {};
    this.detail = more.detail;
  }
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
  throw new Refusal(422, 'validation', `Validation failed: ${fields}.`, {
    detail: { validation: violations },
  });
}

/** Reads the body of a POST. @throws Refusal 400 if it is not a JSON object (contract 7.2) */
export function readJsonBody({ headers, body }: Incoming): JsonObject {
  if (!/^application\/json\s*(;|$)/i.test(headers['content-type'] ?? '')) {
    throw new Refusal(400, 'validation', 'Content-Type must be application/json.');
  }
  const value = parseJson(body);
  if (!isObject(value)) throw new Refusal(400, 'validation', 'The body is not a JSON object.');
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

/** The error for a status that a fault asks for, with the type that the contract gives this status. */
export function refusalFor(status: number): Refusal {
  return new Refusal(status, TYPES[status] ?? 'internal_error', `The sandbox was told to answer ${status}.`);
}

export function envelope({ type, message, status, detail, headers }: Refusal): Answer {
  const request_id = `req_${randomUUID()}`;
  const doc_url = `https://docs.example.com/errors#${type}`;
  return json(status, { error: { type, message, status, request_id, detail, doc_url } }, headers);
}

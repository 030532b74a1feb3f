import { randomUUID } from 'node:crypto';
import * as z from 'zod/mini';
import { isObject, type JsonObject, parseJson } from '../../../functions/workflow/json.ts';

/** A request as one of the two servers received it, and what became of it: an entry of the journal. */
export type Call = {
  /** Epoch ms by the sandbox's clock. */
  at: number;
  endpoint: Endpoint;
  method: string;
  /** Without the query. */
  path: string;
  query: string;
  /** Names in lower case. */
  headers: Readonly<Record<string, string>>;
  body: string;
  /** null until a response was sent. */
  status: number | null;
  /** The report that was created, polled or downloaded. */
  reportId?: string | undefined;
  /** The request_id of the response. The storage host has none. */
  requestId?: string;
  /** Bytes of the response body written to the socket. */
  bytes: number;
};

export const ENDPOINTS = ['token', 'authorize', 'create', 'report', 'purchases', 'list', 'storage'] as const;
export type Endpoint = (typeof ENDPOINTS)[number] | 'unknown';

/** The body is `json`, serialized, `text` as it is, or `pieces`. It is empty if none is set. */
export type Answer = {
  status: number;
  headers: Record<string, string>;
  json?: unknown;
  text?: string;
  pieces?: AsyncIterable<Buffer> | Iterable<Buffer>;
};

export function jsonAnswer(status: number, body: unknown, headers: Record<string, string> = {}): Answer {
  return { status, headers: { 'content-type': 'application/json', ...headers }, json: body };
}

/** Thrown in place of an answer. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly answer: Answer;

  constructor(status: number, body: unknown, headers?: Record<string, string>) {
    super(`The sandbox answers ${status}`);
    this.answer = jsonAnswer(status, body, headers);
  }
}

/** The types of errors that the contract names (7.2), and some more. */
const ERROR_TYPES: Readonly<Record<number, string>> = {
  400: 'validation',
  401: 'token_invalid',
  403: 'insufficient_scope',
  404: 'not_found',
  413: 'too_large',
  422: 'validation',
  429: 'rate_limited',
};

/** A refusal with the envelope of contract 7.1. */
export function refusal(
  status: number,
  message: string,
  { headers, detail }: { headers?: Record<string, string>; detail?: unknown } = {},
): Refusal {
  const request_id = `req_${randomUUID()}`;
  const type = ERROR_TYPES[status] ?? 'internal_error';
  const doc_url = `https://docs.example.com/errors#${type}`;
  return new Refusal(status, { error: { type, message, status, request_id, detail, doc_url } }, headers);
}

/** A refusal of the OAuth endpoints, which have their own error body (RFC 6749 5.2, contract 7.3). */
export function oauthRefusal(error: string, error_description: string, status = 400): Refusal {
  const challenge = status === 401 && { 'www-authenticate': 'Basic realm="platform"' };
  return new Refusal(status, { error, error_description }, { 'cache-control': 'no-store', ...challenge });
}

/**
 * Reads a value by its schema.
 *
 * @param more violations that the schema cannot find (contract 7.1)
 * @throws Refusal 422 that lists every violation, if there are any (contract 7.2)
 */
export function readAs<S extends z.ZodMiniType>(
  schema: S,
  value: unknown,
  more: readonly { readonly field: string; readonly message: string }[] = [],
): z.infer<S> {
  const { data, error } = schema.safeParse(value);
  const violations = (error?.issues ?? []).map(({ path, message }) => ({
    field: z.core.toDotPath(path),
    message,
  }));
  const validation = [...more, ...violations];
  if (validation.length === 0) return data as z.infer<S>;
  const fields = validation.map(({ field }) => field).join(', ');
  throw refusal(422, `Validation failed: ${fields}.`, { detail: { validation } });
}

/** Reads the body of a POST. @throws Refusal 400 if it is not a JSON object (contract 7.2) */
export function readJsonBody({ headers, body }: Call): JsonObject {
  if (!/^application\/json\s*(;|$)/i.test(headers['content-type'] ?? ''))
    throw refusal(400, 'Content-Type must be application/json.');
  const value = parseJson(body);
  if (!isObject(value)) throw refusal(400, 'The body is not a JSON object.');
  return value;
}

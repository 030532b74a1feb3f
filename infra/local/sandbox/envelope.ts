import { randomUUID } from 'node:crypto';
import { type Answer, json } from './exchange.ts';

/** One entry of detail.validation (contract 7.1). */
export type Violation = { field: string; message: string };

/** A refusal in the platform's words; turned into the envelope of contract 7.1 where the answer is made. */
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

/** 422 with every violation at once (contract 7.2). Does nothing when there is none. */
export function refuseViolations(violations: readonly Violation[]): void {
  if (violations.length === 0) return;
  const fields = violations.map(({ field }) => field).join(', ');
  throw new Refusal(422, 'validation', `Validation failed: ${fields}.`, {
    detail: { validation: violations },
  });
}

const TYPES: Readonly<Record<number, string>> = {
  400: 'validation',
  401: 'token_invalid',
  403: 'insufficient_scope',
  404: 'not_found',
  405: 'method_not_allowed',
  422: 'validation',
  429: 'rate_limited',
};

/** The envelope for a status that was asked for by a fault, with the type the contract has for it. */
export function refusalOf(status: number): Refusal {
  return new Refusal(status, TYPES[status] ?? 'internal_error', `The sandbox was told to answer ${status}.`);
}

/** @param bare leaves out the two optional fields, detail and doc_url (contract 7.1) */
export function envelope(refusal: Refusal, bare: boolean): Answer {
  const required = {
    type: refusal.type,
    message: refusal.message,
    status: refusal.status,
    request_id: `req_${randomUUID()}`,
  };
  const optional = {
    ...(refusal.detail === undefined ? {} : { detail: refusal.detail }),
    doc_url: `https://docs.example.com/errors#${refusal.type}`,
  };
  return json(refusal.status, { error: bare ? required : { ...required, ...optional } }, refusal.headers);
}

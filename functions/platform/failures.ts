import * as z from 'zod/mini';
import { REVISION_HEADER } from '../contract.ts';
import { count } from '../workflow/count.ts';
import {
  AnswerLost,
  AnswerUnreadable,
  DownloadRefused,
  type ErrorName,
  type ExportError,
  type Facts,
  PlatformUnavailable,
  RequestRefused,
  TokenRefused,
} from '../workflow/errors.ts';
import { wordIssue } from '../workflow/request/issues.ts';
import {
  type Call,
  cleanSentence,
  type Head,
  headerOf,
  type ReceivedAnswer,
  type Refusal,
  readRefusal,
  requestIdOf,
  retryAfterOf,
} from './answer.ts';

// The errors of a call, as the state machine acts on them.

/** A gateway may answer with these after it passed the request on, so a POST may have taken effect. */
const GATEWAY_STATUSES = [502, 504];

/** The error of an answer with another status than 2xx. */
export function refusalError(answer: ReceivedAnswer, refusal: Refusal = readRefusal(answer)): ExportError {
  const { call, status } = answer;
  const { type, validation: faults = [] } = refusal;
  const facts: Facts = { request_id: requestIdOf(answer), status, type, ...call.facts, faults };
  const happened = `The platform answered ${status} (${type}) when ${call.doing}`;
  if (status === 401) return new TokenRefused(`${happened}: it does not accept the token.`, facts);
  const told = { ...facts, retry_after: retryAfterOf(answer) };
  if (call.creates && GATEWAY_STATUSES.includes(status))
    return new AnswerLost(`${happened}. A report may exist.`, told);
  // A window waits for a 429, and for a 5xx with Retry-After, in a Wait state.
  if (status >= 500 || [408, 429].includes(status)) return new PlatformUnavailable(`${happened}.`, told);
  return new RequestRefused(`${happened}${explainRefusal(refusal, answer)}`, facts);
}

function explainRefusal(
  { reason, detail, validation = [] }: Refusal,
  { call, status }: ReceivedAnswer,
): string {
  const { length } = validation;
  const words = quote(reason ?? (status < 400 ? 'redirects are not followed' : undefined));
  if (length > 0) return `${words}. It named ${count(length, 'fault')}.`;
  if (status === 403)
    return `${words}. The credential lacks ${call.scope ? `the scope ${call.scope}` : 'the scope'} or the advertiser.`;
  if (status === 400 && REVISION_HEADER !== undefined)
    return `${words}. The header ${REVISION_HEADER} was ${call.revision}; check that this revision is published.`;
  return `${words}${quote(detail)}.`;
}

/** The platform's words, without a full stop, as a part of our sentence. */
function quote(words = ''): string {
  return words && `: ${words.replace(/\.$/, '')}`;
}

/**
 * The error of a call without an answer.
 *
 * @param sent false only if no byte of the request was written. Otherwise the platform may have received it
 * @param facts the host, the code of the system or of undici, and the id of an answer that broke off
 */
export function noAnswerError(
  { doing, creates, facts: factsOfCall }: Call,
  sent: boolean,
  facts: { readonly request_id?: string | undefined; readonly code: string; readonly host: string },
): ExportError {
  const { code } = facts;
  const all = { ...facts, ...factsOfCall };
  // The code of a failed connection: safe-agent.ts refused the address.
  if (code === ('DownloadRefused' satisfies ErrorName))
    return new DownloadRefused("The platform's address was refused. base_url must name a public host.", all);
  if (isCertificateFault(code)) return new RequestRefused(sayUntrusted(facts), all);
  if (creates && sent)
    return new AnswerLost(`The platform's answer was lost (${code}) when ${doing}. A report may exist.`, all);
  return new PlatformUnavailable(`The platform did not answer (${code}) when ${doing}.`, all);
}

/** Codes of Node for a certificate that cannot be verified. */
const CERTIFICATE_FAULTS =
  /^(ERR_TLS_CERT_|ERR_SSL_(EE|CA)_|CERT_|CRL_|UNABLE_TO_(GET|VERIFY|DECRYPT|DECODE)_|ERROR_IN_(CERT|CRL)_|(DEPTH_ZERO_)?SELF_SIGNED_CERT|(INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_EXCEEDED|HOSTNAME_MISMATCH)$)/;

/** True for a certificate that is not trusted. It does not mend itself, so it is no outage. */
export function isCertificateFault(code: string): boolean {
  return CERTIFICATE_FAULTS.test(code);
}

export function sayUntrusted({ host, code }: { readonly host: string; readonly code: string }): string {
  return (
    `The certificate of ${host} is not trusted (${code}). Check the address. ` +
    'A local run takes the CA of a company from NODE_EXTRA_CA_CERTS.'
  );
}

/**
 * The error of a 2xx answer that breaks the contract. The request may have had its effect.
 *
 * @param reason what is wrong; may name fields and headers, but quotes no value of the body
 */
export function unreadableAnswer(answer: Head, reason: string): AnswerUnreadable {
  const { call, status } = answer;
  const fault = cleanSentence(reason, call.secrets);
  return new AnswerUnreadable(
    `The platform's answer is not what the contract promises when ${call.doing}: ${fault}.`,
    { ...call.facts, request_id: requestIdOf(answer), status },
  );
}

/** Parses a success by its schema. Throws AnswerUnreadable, which names wrong fields without values. */
export function parseAnswer<S extends z.core.$ZodType>(answer: ReceivedAnswer, schema: S): z.output<S> {
  return readFacts(answer, parseBody(answer), schema);
}

/** Checks what was read from a success. Throws AnswerUnreadable, which names wrong facts without values. */
export function readFacts<S extends z.core.$ZodType>(
  answer: ReceivedAnswer,
  facts: unknown,
  schema: S,
): z.output<S> {
  const parsed = z.safeParse(schema, facts, { error: wordIssue });
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.map(
    ({ path, message }) => `${path.join('.') || 'the body'}: ${message}`,
  );
  throw unreadableAnswer(answer, `a body that breaks the contract (${faults.join('; ')})`);
}

/** Throws AnswerUnreadable if the body is empty or not JSON. */
export function parseBody(answer: ReceivedAnswer, parse: (text: string) => unknown = JSON.parse): unknown {
  if (answer.text.trim() === '') throw unreadableAnswer(answer, 'an empty body');
  try {
    return parse(answer.text);
  } catch {
    const type = /^[\w.+-]+\/[\w.+-]+/.exec(headerOf(answer, 'content-type') ?? '')?.[0] ?? 'unknown';
    const coding = /^[\w.+-]+/.exec(headerOf(answer, 'content-encoding') ?? '')?.[0];
    const encoded = coding === undefined ? '' : `, content encoding ${coding}`;
    throw unreadableAnswer(answer, `a body that is not JSON (content type ${type}${encoded})`);
  }
}

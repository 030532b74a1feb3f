import { NoAnswer, OAuthError, PlatformError, UnreadableAnswer } from '../platform/errors.ts';
import {
  AnswerLost,
  AnswerUnreadable,
  CredentialUnusable,
  DownloadRefused,
  type ErrorName,
  type ExportError,
  type Facts,
  LoginRequired,
  PlatformUnavailable,
  RequestRefused,
  TokenRefused,
} from '../workflow/errors.ts';

/** A gateway may answer with these after it passed the request on, so a POST may have taken effect. */
const GATEWAY_STATUSES = [502, 504];

/** safe-agent.ts refuses an address while connecting. The client sees the code of a failed connection. */
const DOWNLOAD_REFUSED: ErrorName = 'DownloadRefused';

export interface PlatformCall {
  /** Completes "when …", such as "creating a report for 2026-10-01 to 2026-10-31". */
  readonly doing: string;
  /** Repeating the call would create another report, because POST has no idempotency key. */
  readonly creates: boolean;
  readonly revision: string;
  /** The scope that the token was requested with, if any. */
  readonly scope?: string | undefined;
  readonly facts: Facts;
}

/**
 * Turns an error of a platform call into the error that the state machine acts on (contract 7.2). Returns any
 * other error unchanged, because it is a fault of ours and must look like one.
 */
export function toExportError(error: unknown, call: PlatformCall): unknown {
  if (error instanceof PlatformError) return fromAnswer(error, call);
  if (error instanceof NoAnswer) return fromSilence(error, call);
  if (!(error instanceof UnreadableAnswer)) return error;
  return new AnswerUnreadable(
    `The platform's answer is not what the contract promises when ${call.doing}: ${error.reason}.`,
    { ...call.facts, request_id: error.requestId, status: error.status },
  );
}

function fromAnswer(error: PlatformError, call: PlatformCall): ExportError {
  const { status, type, requestId } = error;
  const facts: Facts = { request_id: requestId, status, type, ...call.facts, faults: error.validation };
  const happened = `The platform answered ${status} (${type}) when ${call.doing}`;
  if (status === 401) return new TokenRefused(`${happened}: it does not accept the token.`, facts);
  if (call.creates && GATEWAY_STATUSES.includes(status))
    return new AnswerLost(`${happened}. A report may exist.`, facts);
  if (status >= 500 || status === 429 || status === 408)
    return new PlatformUnavailable(`${happened}.`, facts);
  return new RequestRefused(`${happened}${explainRefusal(error, call)}`, facts);
}

function explainRefusal(error: PlatformError, { scope, revision }: PlatformCall): string {
  const reason = quote(error.reason);
  const { length } = error.validation;
  if (length > 0) return `${reason}. It named ${length === 1 ? '1 fault' : `${length} faults`}.`;
  if (error.status === 403)
    return `${reason}. The credential lacks ${scope ? `the scope ${scope}` : 'the scope'} or the advertiser.`;
  if (error.status === 400)
    return `${reason}. The header X-Service-Revision was ${revision}; check that this revision is published.`;
  return `${reason}${quote(error.detail)}.`;
}

/** The platform's words, without a full stop, as a part of our sentence. */
function quote(words = ''): string {
  return words && `: ${words.replace(/\.$/, '')}`;
}

function fromSilence(
  { code, host, sent, requestId }: NoAnswer,
  { doing, creates, facts }: PlatformCall,
): ExportError {
  const known: Facts = { request_id: requestId, code, host, ...facts };
  if (code === DOWNLOAD_REFUSED)
    return new DownloadRefused(
      "The platform's address was refused. base_url must name a public host.",
      known,
    );
  if (creates && sent)
    return new AnswerLost(
      `The platform's answer was lost (${code}) when ${doing}. A report may exist.`,
      known,
    );
  return new PlatformUnavailable(`The platform did not answer (${code}) when ${doing}.`, known);
}

/**
 * The same for the token endpoint (contract 7.3).
 *
 * @param isNewHost the host of base_url never gave this account a token: without an address it is a mistyped
 *   name, and not an outage
 */
export function toGrantError(error: unknown, account: string, isNewHost: boolean): unknown {
  const doing = `requesting a token for account ${account}`;
  if (isNewHost && error instanceof NoAnswer && error.code === 'ENOTFOUND') {
    const { code, host } = error;
    return new RequestRefused(`There is no host ${host} (${code}). Correct base_url.`, {
      account,
      code,
      host,
    });
  }
  if (!(error instanceof OAuthError))
    return toExportError(error, { doing, creates: false, revision: '', facts: { account } });
  const facts: Facts = { account, status: error.status, type: error.error, request_id: error.requestId };
  if (error.error === 'invalid_grant') {
    return new LoginRequired(`The platform no longer accepts the login of account ${account}.`, facts);
  }
  return new CredentialUnusable(
    `The token endpoint answered ${error.status} (${error.error}) when ${doing}.`,
    facts,
  );
}

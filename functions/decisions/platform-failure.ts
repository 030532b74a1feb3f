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

/** Answers of a gateway that had passed the request on: nobody knows what became of it. */
const PASSED_ON = [502, 504];

/** What safe-hosts.ts refuses while connecting reaches the client as the code of a connection that failed. */
const DOWNLOAD_REFUSED: ErrorName = 'DownloadRefused';

/** What the deciding needs to know of the call. */
export interface Call {
  /** As in "create a report for 2026-10-01 to 2026-11-01". */
  readonly doing: string;
  /** Whether a repeat would make a second report (POST has no idempotency key). */
  readonly creates: boolean;
  readonly revision: string;
  /** That the token was requested with; undefined: with all that the client has. */
  readonly scope?: string | undefined;
  readonly facts: Facts;
}

/**
 * Turns what an API call threw into the decision that the state machine takes (contract 7.2). What the platform
 * client does not throw is passed through unchanged: it is a fault of ours and must look like one.
 */
export function decide(error: unknown, call: Call): unknown {
  if (error instanceof PlatformError) return decideAnswer(error, call);
  if (error instanceof UnreadableAnswer) {
    const happened = `The platform's answer to the attempt to ${call.doing} is not what the contract promises: ${error.reason}.`;
    return new AnswerUnreadable(happened, {
      ...call.facts,
      request_id: error.requestId,
      status: error.status,
    });
  }
  if (error instanceof NoAnswer) return decideSilence(error, call);
  return error;
}

function decideAnswer(error: PlatformError, call: Call): ExportError {
  const { status, type, requestId } = error;
  const facts: Facts = { request_id: requestId, status, type, ...call.facts, faults: error.validation };
  const answer = `The platform answered ${status} (${type}) to the attempt to ${call.doing}`;
  if (status === 401) return new TokenRefused(`${answer}: the token is not accepted.`, facts);
  if (call.creates && PASSED_ON.includes(status))
    return new AnswerLost(`${answer}; a report may exist.`, facts);
  if (status >= 500 || status === 429 || status === 408) return new PlatformUnavailable(`${answer}.`, facts);
  return new RequestRefused(`${answer}${explain(error, call)}`, facts);
}

function explain(error: PlatformError, call: Call): string {
  const reason = quote(error.reason);
  const { length } = error.validation;
  if (length > 0) return `${reason}, and named ${length === 1 ? 'a fault' : `${length} faults`}.`;
  if (error.status === 403)
    return `${reason}. The credential lacks ${call.scope ? `the scope ${call.scope}` : 'the scope'}, or the advertiser.`;
  if (error.status === 400)
    return `${reason}. The header X-Service-Revision was ${call.revision}; is it published?`;
  return `${reason}${quote(error.detail)}.`;
}

/** The platform's own words, within a sentence of ours. */
function quote(words = ''): string {
  return words && `: ${words.replace(/\.$/, '')}`;
}

function decideSilence(error: NoAnswer, call: Call): ExportError {
  const facts: Facts = { request_id: 'absent', code: error.code, ...call.facts };
  if (error.code === DOWNLOAD_REFUSED) {
    return new DownloadRefused(
      `The platform's address was refused: base_url must lead to a public host.`,
      facts,
    );
  }
  if (call.creates && error.sent) {
    return new AnswerLost(
      `The answer to the attempt to ${call.doing} was lost (${error.code}); a report may exist.`,
      facts,
    );
  }
  return new PlatformUnavailable(
    `The platform did not answer the attempt to ${call.doing} (${error.code}).`,
    facts,
  );
}

/** The same for the token endpoint (contract 7.3). */
export function decideGrant(error: unknown, account: string): unknown {
  const doing = `get a token for account ${account}`;
  if (!(error instanceof OAuthError)) {
    return decide(error, { doing, creates: false, revision: '', facts: { account } });
  }
  const facts: Facts = { account, status: error.status, type: error.error, request_id: error.requestId };
  const description = quote(error.errorDescription);
  if (error.error === 'invalid_grant') {
    const todo = `Sign in again: npm run export -- login --account ${account}`;
    return new LoginRequired(
      `The platform no longer accepts the sign-in of account ${account}${description}. ${todo}`,
      facts,
    );
  }
  return new CredentialUnusable(
    `The token endpoint answered ${error.status} (${error.error}) to the attempt to ${doing}${description}.`,
    facts,
  );
}

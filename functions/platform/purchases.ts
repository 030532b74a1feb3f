import { type Answer, platformError, requestIdOf, unreadable } from './answer.ts';
import type { Authorization, Platform } from './connection.ts';
import { apiCall, type Call, logAnswer, type OpenAnswer, openAnswer, readAnswer } from './request.ts';

/** The contract names no status (contract 4.5). 202 would mean not finished, and 206 a part. */
const SUCCESS = [200, 201];

/** The body of POST /reports/purchases (contract 2.4). */
export interface PurchaseQuery {
  readonly advertiser_id: string;
  /** YYYY-MM-DD. */
  readonly start_date: string;
  /** YYYY-MM-DD. */
  readonly end_date: string;
}

/** An answer without the secrets of the call. */
export interface PurchasesAnswer extends Pick<OpenAnswer, 'status' | 'headers' | 'body'> {
  readonly requestId: string | undefined;
}

/**
 * POST /reports/purchases (contract 4.5). The body is unread and may have any size and shape, because the
 * contract shows none. The caller must read it to its end or destroy it. Throws PlatformError (not 2xx),
 * UnreadableAnswer (a 2xx that is not a whole answer) or NoAnswer.
 *
 * @param total ends the request and its body
 */
export async function queryPurchases(
  platform: Platform,
  authorization: Authorization,
  body: PurchaseQuery,
  total: AbortSignal,
): Promise<PurchasesAnswer> {
  const call = apiCall(platform, authorization, { method: 'POST', path: '/reports/purchases', body });
  const answer = await logAnswer(platform, call, openRows(platform, call, total));
  if (answer.text === undefined) {
    const { status, headers, body } = answer;
    return { status, headers, body, requestId: requestIdOf(answer) };
  }
  if (answer.status < 200 || answer.status > 299) throw platformError(answer, platform);
  throw unreadable(answer, `the status ${answer.status} instead of ${SUCCESS.join(' or ')}`);
}

/** Reads the body of a failure, which is short. */
async function openRows(platform: Platform, call: Call, total: AbortSignal): Promise<OpenAnswer | Answer> {
  const open = await openAnswer(platform, call, total);
  return SUCCESS.includes(open.status) ? open : readAnswer(open, total);
}

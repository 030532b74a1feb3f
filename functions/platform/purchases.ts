import type { JsonObject } from '../workflow/json.ts';
import { describeDays } from '../workflow/request/dates.ts';
import type { PurchasesRequest } from '../workflow/request/request.ts';
import { type Answer, type Call, isSuccess, requestIdOf } from './answer.ts';
import type { Authorization, Platform } from './connection.ts';
import { refused, unreadable } from './failures.ts';
import { apiCall, logAnswer, type OpenAnswer, openAnswer, readAnswer } from './request.ts';

/** The contract names no status (contract 4.5). 202 would mean not finished, and 206 a part. */
const SUCCESS = [200, 201];

/** The body of POST /reports/purchases (contract 2.4). */
export function purchaseQuery({
  options,
  advertiser_id,
  start_date,
  end_date,
}: PurchasesRequest): JsonObject {
  return { ...options, advertiser_id, start_date, end_date };
}

/** An answer without the secrets of the call. */
export interface PurchasesAnswer extends Pick<OpenAnswer, 'headers' | 'body'> {
  readonly requestId: string | undefined;
}

/**
 * POST /reports/purchases (contract 4.5). The body is unread and may have any size and shape, because the
 * contract shows none. The caller must read it to its end or destroy it.
 *
 * @param total ends the request and its body
 */
export async function queryPurchases(
  platform: Platform,
  authorization: Authorization,
  request: PurchasesRequest,
  total: AbortSignal,
): Promise<PurchasesAnswer> {
  const doing = `querying the purchases of ${describeDays(request)}`;
  const post = { method: 'POST', path: '/reports/purchases', body: purchaseQuery(request), doing } as const;
  const call = apiCall(platform, authorization, post);
  const answer = await logAnswer(platform, call, openRows(platform, call, total));
  if (answer.text === undefined) {
    const { headers, body } = answer;
    return { headers, body, requestId: requestIdOf(answer) };
  }
  if (!isSuccess(answer)) throw refused(answer);
  throw unreadable(answer, `the status ${answer.status} instead of ${SUCCESS.join(' or ')}`);
}

/** Reads the body of a failure, which is short. */
async function openRows(platform: Platform, call: Call, total: AbortSignal): Promise<OpenAnswer | Answer> {
  const open = await openAnswer(platform, call, total);
  return SUCCESS.includes(open.status) ? open : readAnswer(open, total);
}

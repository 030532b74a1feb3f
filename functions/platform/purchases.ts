import { apiCall } from './api.ts';
import type { Authorization, Platform } from './connection.ts';
import { platformError, unreadable } from './envelope.ts';
import { type Answer, type Call, type OpenAnswer, openAnswer, readAnswer, tell } from './request.ts';

/** The contract names none (contract 4.5). Others say that it is not done yet (202), or that this is a part of it (206). */
const SUCCESS = [200, 201];

/** The body of POST /reports/purchases (contract 2.4). */
export interface PurchaseQuery {
  readonly advertiser_id: string;
  /** YYYY-MM-DD. */
  readonly start_date: string;
  /** YYYY-MM-DD. */
  readonly end_date: string;
}

/** Without what the client keeps beside it: the call's secrets. */
export type PurchasesAnswer = Pick<OpenAnswer, 'status' | 'headers' | 'body'>;

/**
 * POST /reports/purchases (contract 4.5): the answer as it comes, of any size and shape, since the contract shows none.
 * The body is to be read to the end or destroyed; an error of it is the transport's own.
 * Throws PlatformError (anything but 2xx), UnreadableAnswer (a 2xx that is no whole answer) or NoAnswer.
 *
 * @param total ends request and body; the caller knows how long a copy may take
 */
export async function queryPurchases(
  platform: Platform,
  authorization: Authorization,
  body: PurchaseQuery,
  total: AbortSignal,
): Promise<PurchasesAnswer> {
  const call = apiCall(platform, authorization, { method: 'POST', path: '/reports/purchases', body });
  const answer = await tell(platform, call, openRows(platform, call, total));
  if (answer.text !== undefined) throw failureOf(answer, platform);
  const { status, headers, body: rows } = answer;
  return { status, headers, body: rows };
}

function failureOf(answer: Answer, { now = Date.now }: Platform): Error {
  const isRefused = answer.status < 200 || answer.status > 299;
  return isRefused
    ? platformError(answer, now())
    : unreadable(answer, `a status other than ${SUCCESS.join(' and ')}`);
}

/** What is no success is short, and read. */
async function openRows(platform: Platform, call: Call, total: AbortSignal): Promise<OpenAnswer | Answer> {
  const open = await openAnswer(platform, call, total);
  return SUCCESS.includes(open.status) ? open : readAnswer(open, total);
}

import { apiCall } from './api.ts';
import type { Authorization, Platform } from './connection.ts';
import { platformError } from './envelope.ts';
import { type OpenAnswer, openAnswer, readAnswer } from './request.ts';

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
 * Throws PlatformError (anything but 2xx) or NoAnswer.
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
  const open = await openAnswer(platform, call, total);
  const { status, headers, body: rows } = open;
  if (status >= 200 && status < 300) return { status, headers, body: rows };
  throw platformError(await readAnswer(open, total), (platform.now ?? Date.now)());
}

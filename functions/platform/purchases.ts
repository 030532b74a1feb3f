import { PURCHASES, type Request } from '../contract.ts';
import { DownloadRefused } from '../workflow/errors.ts';
import { type JsonObject, parseJson } from '../workflow/json.ts';
import { describeDays } from '../workflow/request/dates.ts';
import type { PurchasesRequest } from '../workflow/request/request.ts';
import { headerOf, isSuccess, type ReceivedAnswer } from './answer.ts';
import type { Authorization, Platform } from './connection.ts';
import { isGzip, isLabeledPage, isPage, START_BYTES, unreadableCoding } from './content.ts';
import { unreadableAnswer } from './failures.ts';
import { apiCall, requireSuccess, send } from './send.ts';

/** Milliseconds: the function's 15 minutes, less one to store the answer. */
const ANSWER_TIMEOUT = 14 * 60 * 1000;

/** Bytes. The function holds the answer in its memory, twice as bytes and once as text. */
const ANSWER_CAP = 64 * 1024 ** 2;

/** A larger answer is not parsed, so its rows are not known: it would take ten times its size in memory. */
const MAX_PARSED = 16 * 1024 ** 2;

/** The body of a query. */
export function purchaseQuery(request: PurchasesRequest): JsonObject {
  return createPurchasesRequest(request).body ?? {};
}

function createPurchasesRequest({ options, advertiser_id, start_date, end_date }: PurchasesRequest): Request {
  if (!PURCHASES) throw new TypeError('The contract has no purchases');
  return PURCHASES.request({ options, advertiser_id, start_date, end_date });
}

/**
 * Sends a query of purchases. The contract shows neither the success status nor the shape of the
 * answer, so this checks that it is complete, not empty and not HTML. 202 would mean not finished, and 206 a
 * part.
 *
 * @returns the answer, without the gzip of a gateway and otherwise unchanged
 * @throws DownloadRefused if the answer is too large or encoded; the errors of any other call
 */
export async function postQuery(platform: Platform, authorization: Authorization, request: PurchasesRequest) {
  const about = { doing: `querying the purchases of ${describeDays(request)}` };
  const timeouts = { headers: ANSWER_TIMEOUT, total: ANSWER_TIMEOUT, ...platform.timeouts };
  const answer = await send(
    { ...platform, timeouts },
    apiCall(platform, authorization, createPurchasesRequest(request), about),
    ANSWER_CAP,
  );
  if (isSuccess(answer) && answer.truncated)
    throw new DownloadRefused('The answer is larger than 64 MiB. Query the purchases of shorter ranges.');
  const { bytes } = requireSuccess(answer, 200, 201);
  // Without a length or chunks, a connection that broke would look like the end of the answer.
  if (['content-length', 'transfer-encoding'].every((name) => headerOf(answer, name) === undefined))
    throw unreadableAnswer(answer, 'a body with neither Content-Length nor chunks');
  const start = bytes.subarray(0, START_BYTES);
  const coding = isGzip(start) ? 'gzip' : unreadableCoding(headerOf(answer, 'content-encoding'), start);
  // No later step reads the purchases, so nobody would notice that they cannot be decoded.
  if (coding !== undefined)
    throw new DownloadRefused(`The answer is encoded as ${coding}, although the query asked for none.`);
  if (bytes.length === 0) throw unreadableAnswer(answer, 'an empty body');
  if (isPage(start)) throw unreadableAnswer(answer, 'an HTML page');
  const type = headerOf(answer, 'content-type');
  const content_type = type === undefined || isLabeledPage(type) ? 'application/json' : type;
  return { bytes, content_type, rows: countRows(answer, content_type) };
}

/**
 * A server that fails in the middle may end its answer properly, so JSON has to be complete: one document, or
 * one per line.
 *
 * @returns undefined unless it is an array
 */
function countRows(answer: ReceivedAnswer, contentType: string): number | undefined {
  if (answer.bytes.length > MAX_PARSED || !/^application\/json\b/i.test(contentType)) return undefined;
  const { text: body } = answer;
  const parsed = parseJson(body);
  const isComplete = (line: string) => line.trim() === '' || parseJson(line) !== undefined;
  if (parsed === undefined && !body.split('\n').every(isComplete))
    throw unreadableAnswer(answer, 'JSON that ends in its middle');
  return Array.isArray(parsed) ? parsed.length : undefined;
}

import { createHandler } from './aws/handler.ts';
import { type CreateObject, createNewObjects, type NewObject } from './copy/object-writer.ts';
import { afterSuccess, afterThrottle } from './decisions/report-answer.ts';
import { headerOf } from './platform/answer.ts';
import { type PurchasesAnswer, queryPurchases as postQuery } from './platform/purchases.ts';
import { codeOf } from './platform/request.ts';
import {
  callPlatform,
  createPlatformAccess,
  type PlatformAccess,
  RetryAfter,
} from './token/call-platform.ts';
import { AnswerUnreadable, CopyFailed, DownloadRefused, ExportError } from './workflow/errors.ts';
import { parseJson } from './workflow/json.ts';
import { objectKey } from './workflow/keys.ts';
import { READS } from './workflow/settings.ts';
import { type AuthorizedWindow, PurchasesWindow, type SavedWindow } from './workflow/states.ts';

/** The function's 15 minutes, less one to end the upload. Milliseconds. */
const ANSWER_TIMEOUT = 14 * 60 * 1000;

/** A larger answer is not parsed, so its rows are not known: it would take ten times its size in memory. */
const MAX_PARSED = 16 * 1024 ** 2;

interface Dependencies extends PlatformAccess {
  readonly createObject: CreateObject;
}

/**
 * Streams the answer of the synchronous purchase query to S3 (contract 4.5). The contract does not show the
 * answer's shape, so the step checks that it is complete, not empty and not HTML, and counts the rows.
 *
 * @throws CopyFailed, DownloadRefused, AccessRefused, and the errors of a platform call
 */
export async function queryPurchases(
  { caught, ...state }: PurchasesWindow,
  dependencies: Dependencies,
): Promise<AuthorizedWindow | SavedWindow> {
  const { request, window } = state;
  const total = AbortSignal.timeout(ANSWER_TIMEOUT);
  const answer = await callPlatform(state, dependencies, (...platform) =>
    postQuery(...platform, request, total),
  );
  if (answer instanceof RetryAfter) return afterThrottle(state, answer);
  const stored = await deliver(answer, objectKey(request, window), dependencies.createObject, total);
  const object = { ...stored, copied_at: dependencies.now().toISOString() };
  return { ...afterSuccess(state), status: 'curated', object };
}

async function deliver(answer: PurchasesAnswer, key: string, createObject: CreateObject, total: AbortSignal) {
  const contentType = headerOf(answer, 'content-type') ?? 'application/json';
  const object = createObject(key, { content_type: contentType });
  try {
    if (/^text\/html\b/i.test(contentType)) throw unreadable('an HTML page', answer);
    const rows = await copyBody(answer, contentType, object);
    return { ...(await object.end()), ...(rows !== undefined && { rows }) };
  } catch (error) {
    answer.body.destroy();
    await object.abort();
    if (error instanceof ExportError) throw error;
    throw new CopyFailed('The answer to the purchase query broke off. Nothing is visible; try again.', {
      request_id: answer.requestId,
      code: codeOf(error, total),
    });
  }
}

/** @returns the number of rows, if it is known */
async function copyBody(
  answer: PurchasesAnswer,
  contentType: string,
  object: NewObject,
): Promise<number | undefined> {
  checkFraming(answer);
  const encoding = headerOf(answer, 'content-encoding') ?? 'identity';
  // No later step reads the purchases, so none would notice that they cannot be decoded.
  if (encoding !== 'identity')
    throw new DownloadRefused(`The answer is encoded as ${encoding}, although the query asked for none.`);
  const text: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of answer.body as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= MAX_PARSED) text.push(Buffer.from(chunk));
    await object.write(chunk);
  }
  if (bytes === 0) throw unreadable('an empty body', answer);
  if (bytes > MAX_PARSED) return undefined;
  return /^application\/json\b/i.test(contentType) ? countRows(Buffer.concat(text), answer) : undefined;
}

/**
 * A server that fails in the middle may end its answer properly, so JSON has to be complete: one document, or
 * one per line.
 *
 * @returns the rows of an array
 */
function countRows(text: Buffer, answer: PurchasesAnswer): number | undefined {
  const body = text.toString().replace(/^\ufeff/, '');
  const parsed = parseJson(body);
  const isComplete = (line: string) => line.trim() === '' || parseJson(line) !== undefined;
  if (parsed === undefined && !body.split('\n').every(isComplete))
    throw unreadable('JSON that ends in its middle', answer);
  return Array.isArray(parsed) ? parsed.length : undefined;
}

/** Without a length or chunks, a connection that broke would look like the end of the answer. */
function checkFraming(answer: PurchasesAnswer): void {
  if (headerOf(answer, 'content-length') !== undefined || headerOf(answer, 'transfer-encoding') !== undefined)
    return;
  throw new CopyFailed(
    'The platform marks the end of its answer to the purchase query neither by Content-Length nor by chunks.',
  );
}

function unreadable(what: string, { requestId }: PurchasesAnswer): AnswerUnreadable {
  return new AnswerUnreadable(`The platform answered the purchase query with ${what}.`, {
    request_id: requestId,
  });
}

export const handler = createHandler(READS.QueryPurchases, PurchasesWindow, queryPurchases, (settings) => ({
  ...createPlatformAccess(settings),
  createObject: createNewObjects(settings),
}));

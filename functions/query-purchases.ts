import { createHandler } from './aws/handler.ts';
import { createContentCheck, isHtml } from './copy/content.ts';
import { type CreateObject, createNewObjects, type NewObject } from './copy/new-object.ts';
import type { Kind } from './copy/upload.ts';
import { purchaseQuery } from './decisions/platform-request.ts';
import { afterSuccess, afterThrottle } from './decisions/report-answer.ts';
import { headerOf } from './platform/answer.ts';
import { type PurchasesAnswer, queryPurchases as postQuery } from './platform/purchases.ts';
import { codeOf } from './platform/request.ts';
import { callPlatform, type PlatformAccess, RetryAfter } from './token/call-platform.ts';
import { createPlatformAccess } from './token/platform-access.ts';
import { AnswerUnreadable, CopyFailed, ExportError } from './workflow/errors.ts';
import { isObject, parseJson } from './workflow/json.ts';
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
 * Streams the answer of the synchronous purchase query to S3 (contract 4.5). The contract does not show the answer's shape,
 * so the step only checks that it is complete, not empty and not HTML, and counts its rows if it has any.
 *
 * @throws CopyFailed, DownloadRefused, AccessRefused, and the errors of a platform call
 */
export async function queryPurchases(
  { caught, ...state }: PurchasesWindow,
  dependencies: Dependencies,
): Promise<AuthorizedWindow | SavedWindow> {
  const { request, window } = state;
  const total = AbortSignal.timeout(ANSWER_TIMEOUT);
  const doing = `querying the purchases of ${window.start_date} to ${window.end_date}`;
  const answer = await callPlatform(
    state,
    dependencies,
    { doing, creates: false, facts: {} },
    (platform, authorization) => postQuery(platform, authorization, purchaseQuery(request), total),
  );
  if (answer instanceof RetryAfter) return afterThrottle(state, answer);
  const stored = await deliver(answer, objectKey(request, window), dependencies.createObject, total);
  const object = { ...stored, copied_at: dependencies.now().toISOString() };
  return { ...afterSuccess(state), status: 'curated', object };
}

async function deliver(answer: PurchasesAnswer, key: string, createObject: CreateObject, total: AbortSignal) {
  const contentType = headerOf(answer, 'content-type') ?? 'application/json';
  const contentEncoding = headerOf(answer, 'content-encoding');
  const kind = { contentType, contentEncoding };
  const object = createObject(key, kind);
  try {
    if (isHtml(contentType)) throw unreadable('an HTML page');
    const rows = await copyBody(answer, kind, object);
    return { ...(await object.end()), ...(rows !== undefined && { rows }) };
  } catch (error) {
    answer.body.destroy();
    await object.abort();
    if (error instanceof ExportError) throw error;
    throw new CopyFailed('The answer to the purchase query broke off. Nothing is visible; try again.', {
      code: codeOf(error, total),
    });
  }
}

/** @returns the number of rows, if it is known */
async function copyBody(answer: PurchasesAnswer, kind: Kind, object: NewObject): Promise<number | undefined> {
  checkFraming(answer);
  const check = createContentCheck({ ...kind, format: 'any' });
  const isJson = kind.contentEncoding === undefined && /json/i.test(kind.contentType);
  const text: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of answer.body as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (isJson && bytes <= MAX_PARSED) text.push(Buffer.from(chunk));
    await check.write(chunk);
    await object.write(chunk);
  }
  if (bytes === 0) throw unreadable('an empty body');
  await check.end();
  return isJson && bytes <= MAX_PARSED ? countRows(Buffer.concat(text)) : undefined;
}

/**
 * A server that fails in the middle may end its answer properly.
 *
 * @returns the rows of an array, of an object's only array, or of a line each; undefined for anything else
 */
function countRows(bytes: Buffer): number | undefined {
  const text = bytes.toString().replace(/^\ufeff/, '');
  const parsed = parseJson(text);
  if (parsed !== undefined) return rowsOf(parsed);
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  if (lines.length < 2 || lines.some((line) => parseJson(line) === undefined))
    throw unreadable('JSON that ends in its middle');
  return lines.length;
}

function rowsOf(value: unknown): number | undefined {
  if (Array.isArray(value)) return value.length;
  const [array, ...others] = isObject(value) ? Object.values(value).filter(Array.isArray) : [];
  return others.length === 0 ? array?.length : undefined;
}

/** Without a length or chunks, a connection that broke would look like the end of the answer. */
function checkFraming(answer: PurchasesAnswer): void {
  if (headerOf(answer, 'content-length') !== undefined || headerOf(answer, 'transfer-encoding') !== undefined)
    return;
  throw new CopyFailed(
    'The platform marks the end of its answer to the purchase query neither by Content-Length nor by chunks.',
  );
}

function unreadable(what: string): AnswerUnreadable {
  return new AnswerUnreadable(`The platform answered the purchase query with ${what}.`, {
    request_id: 'absent',
  });
}

export const handler = createHandler(READS.QueryPurchases, PurchasesWindow, queryPurchases, (settings) => ({
  ...createPlatformAccess(settings),
  createObject: createNewObjects(settings),
}));

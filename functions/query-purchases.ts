import { createHandler } from './aws/handler.ts';
import { inspect } from './copy/inspect.ts';
import { openJsonShape } from './copy/json-shape.ts';
import { type NewObject, type OpenObject, openNewObjects } from './copy/new-object.ts';
import { purchaseQuery } from './decisions/platform-request.ts';
import { afterSuccess, afterThrottle } from './decisions/report-answer.ts';
import { headerOf } from './platform/answer.ts';
import { type PurchasesAnswer, queryPurchases as postQuery } from './platform/purchases.ts';
import { codeOf } from './platform/request.ts';
import { callPlatform, type PlatformAccess, RetryAfter } from './token/call-platform.ts';
import { createPlatformAccess } from './token/platform-access.ts';
import { AnswerUnreadable, CopyFailed, ExportError } from './workflow/errors.ts';
import { objectKey } from './workflow/keys.ts';
import { type AuthorizedWindow, PurchasesWindow, type SavedWindow } from './workflow/states.ts';

/** The function's 15 minutes, less one to end the upload. Milliseconds. */
const ANSWER_TIMEOUT = 14 * 60 * 1000;

interface Dependencies extends PlatformAccess {
  readonly openObject: OpenObject;
}

/**
 * Streams the answer of the synchronous purchase query to S3 (contract 4.5). The contract does not show the answer's shape,
 * so the step only checks that it is complete, not empty and not HTML.
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
  const stored = await deliver(answer, objectKey(request, window), dependencies.openObject, total);
  const object = { ...stored, copied_at: dependencies.now().toISOString() };
  return { ...afterSuccess(state), status: 'saved', object };
}

async function deliver(answer: PurchasesAnswer, key: string, openObject: OpenObject, total: AbortSignal) {
  const contentType = headerOf(answer, 'content-type') ?? 'application/json';
  const contentEncoding = headerOf(answer, 'content-encoding');
  const kind = { contentType, ...(contentEncoding !== undefined && { contentEncoding }) };
  const object = openObject(key, kind);
  try {
    if (/^text\/html\b/i.test(contentType)) throw unreadable('an HTML page');
    await copyBody(answer, kind, object);
    return await object.end();
  } catch (error) {
    answer.body.destroy();
    await object.abort();
    if (error instanceof ExportError) throw error;
    throw new CopyFailed('The answer to the purchase query broke off. Nothing is visible; try again.', {
      code: codeOf(error, total),
    });
  }
}

async function copyBody(
  answer: PurchasesAnswer,
  { contentType, contentEncoding }: { contentType: string; contentEncoding?: string },
  object: NewObject,
): Promise<void> {
  // Without a length, the end of the connection may be the end of the answer or not: then its JSON has to close.
  const isDelimited = ['content-length', 'transfer-encoding'].some((name) => headerOf(answer, name));
  const inspection = inspect(isDelimited ? 'any' : 'JSON', contentType, contentEncoding);
  const ending = watchEnding(contentType, contentEncoding);
  let bytes = 0;
  for await (const chunk of answer.body as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    ending.write(chunk);
    await inspection.write(chunk);
    await object.write(chunk);
  }
  if (bytes === 0) throw unreadable('an empty body');
  if (isDelimited && ending.isMissing()) throw unreadable('JSON that ends in its middle');
  if (!isDelimited && !(await inspection.closed()))
    throw new CopyFailed(
      'The answer to the purchase query has no length, and ends in the middle of its JSON.',
    );
  await inspection.end();
}

/**
 * A server that fails in the middle may end its answer as if that were all. What is said to be JSON and opens a bracket
 * has to close it; of a value without brackets, nobody can tell.
 */
function watchEnding(contentType: string, contentEncoding: string | undefined) {
  const shape = openJsonShape();
  let intact = contentEncoding === undefined && /json/i.test(contentType);
  return {
    write(chunk: Buffer): void {
      intact &&= shape.write(chunk);
    },
    isMissing: () => intact && !shape.closed(),
  };
}

function unreadable(what: string): AnswerUnreadable {
  return new AnswerUnreadable(`The platform answered the purchase query with ${what}.`, {
    request_id: 'absent',
  });
}

export const handler = createHandler(PurchasesWindow, queryPurchases, (settings) => ({
  ...createPlatformAccess(settings),
  openObject: openNewObjects(settings),
}));

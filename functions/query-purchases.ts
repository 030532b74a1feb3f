import { createHandler } from './aws/handler.ts';
import { createObjectWriting, type WriteObject } from './copy/object-writer.ts';
import { PART_BYTES } from './copy/parts.ts';
import { postQuery } from './platform/purchases.ts';
import { callPlatform, createPlatformAccess, type PlatformAccess } from './token/call-platform.ts';
import { objectKey } from './workflow/keys.ts';
import { READS } from './workflow/settings.ts';
import { type AuthorizedWindow, PurchasesWindow, type SavedWindow } from './workflow/states.ts';

interface Dependencies extends PlatformAccess {
  readonly writeObject: WriteObject;
}

/**
 * Writes the answer of the synchronous purchase query to S3.
 *
 * @throws CopyFailed, DownloadRefused, AccessRefused, and the errors of a platform call
 */
export async function queryPurchases(
  { caught, ...state }: PurchasesWindow,
  { writeObject, ...access }: Dependencies,
): Promise<AuthorizedWindow | SavedWindow> {
  const { request, window } = state;
  const { window: after, answer } = await callPlatform(state, access, (...platform) =>
    postQuery(...platform, request),
  );
  if (!answer) return after;
  const { bytes, content_type, rows } = answer;
  const stored = await writeObject(objectKey(request, window), { content_type }, async (write) => {
    for (let at = 0; at < bytes.length; at += PART_BYTES) await write(bytes.subarray(at, at + PART_BYTES));
    return rows;
  });
  const object = { ...stored, copied_at: access.now().toISOString() };
  return { ...after, status: 'curated', object };
}

export const handler = createHandler(READS.QueryPurchases, PurchasesWindow, queryPurchases, (settings) => ({
  ...createPlatformAccess(settings),
  writeObject: createObjectWriting(settings),
}));

import { createHandler } from './aws/handler.ts';
import { type NewObject, type OpenObject, openNewObjects } from './copy/new-object.ts';
import { listQuery } from './decisions/platform-request.ts';
import { afterSuccess, afterThrottle } from './decisions/report-answer.ts';
import { listPages } from './platform/lists.ts';
import { callPlatform, type PlatformAccess, RetryAfter } from './token/call-platform.ts';
import { createPlatformAccess } from './token/platform-access.ts';
import { DownloadRefused } from './workflow/errors.ts';
import { objectKey } from './workflow/keys.ts';
import { type AuthorizedWindow, ListWindow, type SavedWindow } from './workflow/states.ts';
import type { Common } from './workflow/step.ts';

/** Items that are made into text at once: of 12 kB each they are 6 MB. */
const BATCH = 500;

/** A page may take a minute, and another one is to end the object in. */
const STOP_BEFORE_MS = 120_000;

interface Dependencies extends PlatformAccess, Pick<Common, 'millisecondsLeft'> {
  readonly openObject: OpenObject;
}

interface Counted {
  readonly rows: number;
  readonly repeated_items: number;
}

interface Written extends Counted {
  /** Items of the first page: a server may give fewer at a time than it is asked for. */
  readonly page: number;
}

/**
 * Every page of a list (contract 4.6, 8), streamed to one object, an item a line. Order is not guaranteed across
 * requests, so an item may come twice: it is written once, by its `id`. Whatever goes wrong, the list begins again.
 *
 * @throws CopyFailed, DownloadRefused, AccessRefused beside what a call to the platform throws
 */
export async function exportList(
  { caught, ...state }: ListWindow,
  dependencies: Dependencies,
): Promise<AuthorizedWindow | SavedWindow> {
  const { request, window } = state;
  const about = { doing: `listing ${request.resource}`, creates: false, facts: {} };
  const object = dependencies.openObject(objectKey(request, window), { contentType: 'application/x-ndjson' });
  try {
    const written = await callPlatform(state, dependencies, about, (platform, authorization) =>
      writeItems(listPages(platform, authorization, listQuery(request)), object, dependencies),
    );
    if (written instanceof RetryAfter) {
      await object.abort();
      return afterThrottle(state, written);
    }
    const { page: _, ...counted } = written;
    const stored = { ...(await object.end()), ...counted };
    const copied_at = dependencies.now().toISOString();
    const warnings = [...state.warnings, ...describePages(written, request)];
    return { ...afterSuccess(state), warnings, status: 'saved', object: { ...stored, copied_at } };
  } catch (error) {
    await object.abort();
    throw error;
  }
}

/** Holds one page and the ids of all: 200 bytes an item at most (1,000,000 items peak at 370 MB), and nothing else that grows. */
async function writeItems(
  pages: AsyncIterable<readonly unknown[]>,
  object: NewObject,
  { millisecondsLeft }: Dependencies,
): Promise<Written> {
  const seen = new Set<string>();
  let rows = 0;
  let repeated_items = 0;
  let first = 0;
  for await (const page of pages) {
    first ||= page.length;
    const fresh = page.filter((item) => isFirst(item, seen));
    rows += fresh.length;
    repeated_items += page.length - fresh.length;
    for (let at = 0; at < fresh.length; at += BATCH) {
      const lines = fresh.slice(at, at + BATCH).map((item) => `${JSON.stringify(item)}\n`);
      await object.write(Buffer.from(lines.join('')));
    }
    if (millisecondsLeft() < STOP_BEFORE_MS) throw tooLong(rows);
  }
  return { rows, repeated_items, page: first };
}

/** What is deleted meanwhile moves others to a page that has been read (contract 8); a page that is full has a next one. */
function describePages(
  { rows, repeated_items, page }: Written,
  { limit, filters }: ListWindow['request'],
): string[] {
  const isBounded = Object.keys(filters).some((name) => name.includes('created_at'));
  const isOnePage = rows + repeated_items === page && page < limit;
  if (isOnePage || isBounded) return [];
  return [
    `the list came in pages of ${page} without a bound on created_at: items may be missing if others were deleted meanwhile`,
  ];
}

function tooLong(items: number): DownloadRefused {
  return new DownloadRefused(
    'The list did not come to its end in the time of one call. Filter it, and export it in pieces.',
    { items },
  );
}

/** What has no id cannot be known again, and is written each time. */
function isFirst(item: unknown, seen: Set<string>): boolean {
  const id = typeof item === 'object' && item !== null ? (item as { id?: unknown }).id : undefined;
  if (id === undefined || id === null) return true;
  // As text: a number that JavaScript cannot hold is an object here.
  const text = JSON.stringify(id);
  const isNew = !seen.has(text);
  seen.add(text);
  return isNew;
}

export const handler = createHandler(ListWindow, exportList, (settings) => ({
  ...createPlatformAccess(settings),
  openObject: openNewObjects(settings),
}));

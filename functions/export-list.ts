import { createHandler } from './aws/handler.ts';
import { createObjectWriting, type ObjectWriter, type WriteObject } from './copy/object-writer.ts';
import { listPages } from './platform/lists.ts';
import { callPlatform, createPlatformAccess, type PlatformAccess } from './token/call-platform.ts';
import { count } from './workflow/count.ts';
import { DownloadRefused } from './workflow/errors.ts';
import { objectKey } from './workflow/keys.ts';
import { READS } from './workflow/settings.ts';
import { type AuthorizedWindow, ListWindow, type SavedWindow } from './workflow/states.ts';
import type { Common } from './workflow/step.ts';

/** Takes up to 200 bytes per item for its id: 600 MB of the function's 1,024 MB. */
const MAX_ITEMS = 3_000_000;

/** The next page may take a minute, and ending the object another one. */
const STOP_BEFORE_MS = 120_000;

interface Dependencies extends PlatformAccess, Pick<Common, 'millisecondsLeft'> {
  readonly writeObject: WriteObject;
}

/**
 * Streams every page of a list to one object, one item per line (contract 4.6, 8). The order may change
 * between requests, so an item may come twice; it is written once, by its `id`. A retry starts the list
 * again.
 *
 * @throws CopyFailed, DownloadRefused, AccessRefused, and the errors of a platform call
 */
export async function exportList(
  { caught, ...state }: ListWindow,
  dependencies: Dependencies,
  maxItems = MAX_ITEMS,
): Promise<AuthorizedWindow | SavedWindow> {
  const { request, window } = state;
  const { writeObject, now, millisecondsLeft } = dependencies;
  const warnings = new Set<string>();
  const warn = (warning: string) => void warnings.add(warning);
  const kind = { content_type: 'application/x-ndjson' };
  const { window: after, answer: stored } = await callPlatform(state, dependencies, (...platform) =>
    writeObject(objectKey(request, window), kind, async (write) => {
      const pages = listPages(...platform, request, warn);
      const { rows, count } = await writeItems(pages, write, millisecondsLeft, maxItems);
      for (const warning of warnOfPages(count, request)) warn(warning);
      return rows;
    }),
  );
  if (!stored) return after;
  return {
    ...after,
    warnings: [...state.warnings, ...warnings],
    status: 'saved',
    object: { ...stored, copied_at: now().toISOString() },
  };
}

async function writeItems(
  pages: AsyncIterable<readonly unknown[]>,
  write: ObjectWriter['write'],
  millisecondsLeft: () => number,
  maxItems: number,
): Promise<{ readonly rows: number; readonly count: number }> {
  const seen = new Set<string>();
  let rows = 0;
  let pagesRead = 0;
  for await (const page of pages) {
    pagesRead += 1;
    const newItems = page.filter((item) => addIfNew(item, seen));
    rows += newItems.length;
    for (const item of newItems) await write(Buffer.from(`${JSON.stringify(item)}\n`));
    const isLate = millisecondsLeft() < STOP_BEFORE_MS;
    if (isLate || rows > maxItems) {
      const happened = isLate
        ? `The list takes longer than one call, which read ${count(rows, 'item')}.`
        : `The list has more than ${count(maxItems, 'item')}, or does not end.`;
      throw new DownloadRefused(`${happened} Filter it and export it in parts.`, { items: rows });
    }
  }
  return { rows, count: pagesRead };
}

/** A deletion moves later items to a page that was already read (contract 8). */
function warnOfPages(pages: number, { filters }: ListWindow['request']): string[] {
  const hasBound = Object.keys(filters).some((name) => name.includes('created_at'));
  if (pages < 2 || hasBound) return [];
  return [
    `the list came in ${pages} pages without a bound on created_at: items may be missing if others were deleted meanwhile`,
  ];
}

/** An item without an id cannot be recognised, so it always counts as new. */
function addIfNew(item: unknown, seen: Set<string>): boolean {
  const { id } = Object(item) as { id?: unknown };
  if (id === undefined || id === null) return true;
  // As JSON, because a number that JavaScript cannot hold is an object here.
  const text = JSON.stringify(id);
  const isNew = !seen.has(text);
  seen.add(text);
  return isNew;
}

export const handler = createHandler(READS.ExportList, ListWindow, exportList, (settings) => ({
  ...createPlatformAccess(settings),
  writeObject: createObjectWriting(settings),
}));

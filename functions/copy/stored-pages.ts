import type { ObjectStore } from '../aws/objects.ts';
import type { ReadPage } from '../platform/lists.ts';
import { count } from '../workflow/count.ts';
import {
  AnswerUnreadable,
  DownloadRefused,
  type ExportError,
  PlatformUnavailable,
  TokenRefused,
} from '../workflow/errors.ts';
import { pagesKey } from '../workflow/keys.ts';
import type { StoredPages } from '../workflow/state-parts.ts';

/** Characters of the lines that are kept in memory before they become an object. */
const OBJECT_LENGTH = 8 * 1024 * 1024;

/**
 * Milliseconds that are left of a call when it asks for its last page: three requests may take a minute each,
 * because the end of a list has to be proven.
 */
export const LAST_PAGE_MS = 200_000;

/** Limits an endless list, and the memory for the ids of its items: 200 bytes each, 600 MB. */
export const MAX_ITEMS = 3_000_000;

interface Reading {
  readonly execution: string;
  readonly store: Pick<ObjectStore, 'putText' | 'getText'>;
  readonly millisecondsLeft: () => number;
}

interface PagesReading extends Reading {
  /** The pages that earlier calls stored. */
  readonly stored: StoredPages | undefined;
  /** @returns the line of an item */
  readonly lineOf: (item: unknown) => string;
  readonly maxItems?: number;
}

/** The lines that one call read. */
export interface ReadLines {
  /** Absent if the list is complete and all of its lines are in `lines`. */
  readonly stored?: StoredPages;
  /** The lines behind the stored ones. */
  readonly lines: readonly string[];
  readonly pages: number;
  /** The number of items of the whole list, if the platform named it. */
  readonly total?: number | undefined;
  readonly isComplete: boolean;
  /** The error that ended this call after it had read some pages. */
  readonly interruption?: ExportError;
}

/**
 * Reads the pages of a list to its end, or as far as one call gets. The call stores what it has read
 * before it ends, so the next call goes on behind it. If it is killed, the next call begins where it began.
 *
 * @throws the error of the first page that this call asks for: the Retry, or a Catch, is for it
 * @throws DownloadRefused if the list does not end
 * @throws AccessRefused, ServiceUnavailable
 */
export async function readLines(pages: AsyncIterable<ReadPage>, reading: PagesReading): Promise<ReadLines> {
  const { stored, execution, store, lineOf, millisecondsLeft, maxItems = MAX_ITEMS } = reading;
  let { objects = 0, progress } = stored ?? {};
  let lines: string[] = [];
  let length = 0;
  const storeLines = async () => {
    if (lines.length === 0) return;
    await store.putText(pagesKey(execution, objects), lines.join(''));
    objects += 1;
    lines = [];
    length = 0;
  };
  /** @param isComplete the next call only writes the lines where they belong */
  const stop = async (isComplete: boolean, interruption?: ExportError): Promise<ReadLines> => {
    await storeLines();
    const next = progress && { objects, progress, is_complete: isComplete };
    const facts = { lines, pages: progress?.pages ?? 0, total: progress?.total, isComplete: false };
    return { ...facts, ...(next && { stored: next }), ...(interruption && { interruption }) };
  };

  try {
    for await (const page of pages) {
      for (const item of page.items) {
        const line = lineOf(item);
        lines.push(line);
        length += line.length;
        if (length >= OBJECT_LENGTH) await storeLines();
      }
      progress = page.progress;
      if (progress.offset > maxItems) throw endless(maxItems);
      if (millisecondsLeft() < LAST_PAGE_MS) return await stop(false);
    }
  } catch (error) {
    if (progress === stored?.progress || !isPassing(error)) throw error;
    return await stop(false, error);
  }
  if (objects > 0 && millisecondsLeft() < LAST_PAGE_MS) return await stop(true);
  const all = progress && objects > 0 ? { stored: { objects, progress, is_complete: true } } : {};
  return { ...all, lines, pages: progress?.pages ?? 0, total: progress?.total, isComplete: true };
}

/** True for an error that may be over when the next call asks again. */
function isPassing(error: unknown): error is ExportError {
  return [PlatformUnavailable, TokenRefused, AnswerUnreadable].some((type) => error instanceof type);
}

function endless(maxItems: number): DownloadRefused {
  const happened = `The list has more than ${count(maxItems, 'item')}, or does not end.`;
  return new DownloadRefused(`${happened} Filter it and export it in parts.`, { items: maxItems });
}

/** The lines of stored pages, in order, without their line feeds. @throws DownloadRefused if they are gone */
export async function* storedLines(
  stored: StoredPages | undefined,
  { execution, store }: Pick<Reading, 'execution' | 'store'>,
): AsyncGenerator<string, void, undefined> {
  for (let number = 0; number < (stored?.objects ?? 0); number += 1) {
    const key = pagesKey(execution, number);
    const text = await store.getText(key);
    if (text === undefined)
      throw new DownloadRefused(`${key}, which has pages of the list, is gone. Run the export again.`, {
        key,
      });
    yield* text.split('\n').slice(0, -1);
  }
}

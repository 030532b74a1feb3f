import { createHandler } from './aws/handler.ts';
import { createObjectStore, type ObjectStore } from './aws/objects.ts';
import { LISTS } from './contract.ts';
import { createObjectWriting, type ObjectWriter, type WriteObject } from './copy/object-writer.ts';
import { MAX_ITEMS, type ReadLines, readLines, storedLines } from './copy/stored-pages.ts';
import { MIN_WAIT } from './decisions/waits.ts';
import { parseExactJson } from './platform/list-answer.ts';
import { listPages } from './platform/lists.ts';
import {
  callPlatform,
  countInterruption,
  createPlatformAccess,
  type PlatformAccess,
} from './token/call-platform.ts';
import { objectKey } from './workflow/keys.ts';
import { READS } from './workflow/settings.ts';
import { type AuthorizedWindow, ListWindow, type SavedWindow } from './workflow/states.ts';
import type { Common } from './workflow/step.ts';

interface Dependencies extends PlatformAccess, Pick<Common, 'millisecondsLeft'> {
  readonly store: Pick<ObjectStore, 'putText' | 'getText'>;
  readonly writeObject: WriteObject;
}

/**
 * Reads every page of a list, and writes one object with one item per line. The order may
 * change between requests, so an item may come twice; it is written once, by its `id`. If the platform
 * interrupts the list, or one call is not enough, the pages that were read are stored, and the next call goes
 * on behind them.
 *
 * @throws CopyFailed, DownloadRefused, AccessRefused, ServiceUnavailable, and the errors of a platform call
 */
export async function exportList(
  { caught, ...state }: ListWindow,
  dependencies: Dependencies,
  maxItems = MAX_ITEMS,
): Promise<AuthorizedWindow | SavedWindow> {
  const { request, execution } = state;
  const { store, millisecondsLeft } = dependencies;
  const stored = state.list;
  if (stored?.is_complete)
    return saveList(state, { lines: [], stored, pages: stored.progress.pages }, dependencies);
  const warnings = new Set(state.warnings);
  const warn = (warning: string) => void warnings.add(warning);
  const { window: after, answer: read } = await callPlatform(state, dependencies, (...platform) => {
    const pages = listPages(...platform, request, warn, stored?.progress);
    return readLines(pages, { execution, store, stored, lineOf, millisecondsLeft, maxItems });
  });
  if (!read) return after;
  const window = { ...after, warnings: [...warnings] };
  if (read.isComplete) return saveList(window, read, dependencies);
  const next = { ...window, list: read.stored, wait_seconds: MIN_WAIT };
  return read.interruption ? countInterruption(next, read.interruption) : next;
}

function lineOf(item: unknown): string {
  return `${JSON.stringify(item)}\n`;
}

/** Writes the stored pages and the lines that this call has read. */
async function saveList(
  { list: _, ...state }: ListWindow,
  { stored, lines, pages }: Pick<ReadLines, 'stored' | 'lines' | 'pages'>,
  { store, writeObject, now }: Dependencies,
): Promise<SavedWindow> {
  const { request, window, execution } = state;
  const kind = { content_type: 'application/x-ndjson' };
  const object = await writeObject(objectKey(request, window), kind, async (write) => {
    const seen = new Set<string>();
    const before = await writeNew(storedLines(stored, { execution, store }), write, seen);
    return before + (await writeNew(lines, write, seen));
  });
  return {
    ...state,
    warnings: [...new Set([...state.warnings, ...warnWithoutBound(pages, request)])],
    status: 'saved',
    object: { ...object, copied_at: now().toISOString() },
  };
}

/** @returns the number of lines that were written */
async function writeNew(
  lines: Iterable<string> | AsyncIterable<string>,
  write: ObjectWriter['write'],
  seen: Set<string>,
): Promise<number> {
  let rows = 0;
  for await (const line of lines) {
    if (!addIfNew(parseExactJson(line), seen)) continue;
    rows += 1;
    await write(Buffer.from(`${line.trimEnd()}\n`));
  }
  return rows;
}

/** A deletion moves later items to a page that was already read. */
function warnWithoutBound(pages: number, { filters }: ListWindow['request']): string[] {
  const { created = '' } = LISTS ?? {};
  const hasBound = Object.keys(filters).some((name) => name.includes(created));
  if (pages < 2 || hasBound) return [];
  return [
    `the list came in ${pages} pages without a bound on ${created}: items may be missing if others were deleted meanwhile`,
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
  store: createObjectStore(settings),
  writeObject: createObjectWriting(settings),
}));

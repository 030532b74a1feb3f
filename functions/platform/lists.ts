import { createHash } from 'node:crypto';
import { LISTS } from '../contract.ts';
import { count } from '../workflow/count.ts';
import type { ListRequest } from '../workflow/request/request.ts';
import type { ListProgress } from '../workflow/state-parts.ts';
import { type ReceivedAnswer, readRefusal } from './answer.ts';
import type { Authorization, Platform } from './connection.ts';
import { unreadableAnswer } from './failures.ts';
import { type ListPage, readListPage } from './list-answer.ts';
import { apiCall, requireSuccess, send } from './send.ts';

/** Bytes: 5,000 items of 12 kB. A page is read into memory, and a Lambda has room for a few of them. */
const PAGE_CAP = 64 * 1024 * 1024;

/** Statuses by which a server may refuse an offset behind the end. The contract does not show them. */
const OFFSET_REFUSALS = [400, 404, 416, 422];

/** Without `items`, the array of a list's items must be recognized. */
type List = Pick<ListRequest, 'resource' | 'limit' | 'filters' | 'items'>;

/** A page that has items, and what was read with it. */
export interface ReadPage {
  readonly items: readonly unknown[];
  readonly progress: ListProgress;
}

/** An answer that may be the end of the list, or a fault of the server. */
type Doubtful =
  | { readonly is: 'refused'; readonly answer: ReceivedAnswer }
  | { readonly is: 'repeated'; readonly answer: ReceivedAnswer; readonly digest: string };

type Reply = ({ readonly is: 'page' } & ListPage) | Doubtful;

/**
 * Requests the pages of a list in order, one at a time. The list ends where the answers prove it: by an
 * empty page, or by a page that is refused or comes again, if a page that begins at the last item has
 * nothing behind it. None of these ends counts if the answer names more items than were read. An item may
 * come twice, because the order may change between requests. Numbers that JavaScript cannot hold stay as
 * they were sent.
 *
 * @param warn gets the reason if items may be missing
 * @param begun what was read before. Default: nothing
 * @throws what {@link send} and {@link requireSuccess} throw; AnswerUnreadable if the items cannot be found,
 *   or if the answers do not show whether the list has ended
 */
export async function* listPages(
  platform: Platform,
  authorization: Authorization,
  list: List,
  warn: (warning: string) => void,
  begun?: ListProgress,
): AsyncGenerator<ReadPage, void, undefined> {
  const { limit } = list;
  const isFiltered = Object.keys(list.filters).length > 0;
  const ask: Ask = (offset, path) => requestPage(platform, authorization, list, offset, path);
  const repeats = watchRepeats();
  let progress = begun;
  for (;;) {
    // A gateway may have refused one request, or items may have moved while the list was read.
    const reply = await requestTwice(() => requestNext(ask, progress, repeats));
    if (reply.is === 'page' && reply.items.length === 0)
      return requireWholeList(reply, progress, isFiltered ? warn : undefined);
    if (reply.is === 'page') {
      if (progress) warnOfPage(reply, progress, warn);
      progress = addPage(reply, progress);
      repeats.add(reply, progress.last.digest);
      yield { items: reply.items, progress };
    } else if (progress) {
      return requireEnd(reply, { progress, limit, isFiltered, warn, ask });
    }
  }
}

/** @param path of the items on the pages before */
async function requestPage(
  platform: Platform,
  authorization: Authorization,
  { resource, limit, filters, items }: List,
  offset: number,
  path: readonly string[] | undefined,
): Promise<Reply> {
  if (!LISTS) throw new TypeError('The contract has no lists');
  const page = LISTS.request({ resource, filters, limit, offset });
  const call = apiCall(platform, authorization, page, { doing: `listing ${resource}` });
  const answer = await send(platform, call, PAGE_CAP);
  if (offset > 0 && OFFSET_REFUSALS.includes(answer.status)) return { is: 'refused', answer };
  return { is: 'page', ...readListPage(requireSuccess(answer, 200, 204), items ?? LISTS.items, path) };
}

type Ask = (offset: number, path?: readonly string[]) => Promise<Reply>;

/** Requests the next page. One that comes again is doubtful. */
async function requestNext(ask: Ask, progress: ListProgress | undefined, repeats: Repeats): Promise<Reply> {
  if (!progress) return ask(0);
  const reply = await ask(progress.offset, progress.path);
  if (reply.is !== 'page') return reply;
  const digest = digestOf(reply.items);
  const isRepeated = [progress.first.digest, progress.last.digest].includes(digest) || repeats.has(digest);
  return isRepeated ? { is: 'repeated', answer: reply.answer, digest } : reply;
}

/** Requests a page again if the first answer is doubtful. */
async function requestTwice(request: () => Promise<Reply>): Promise<Reply> {
  const reply = await request();
  return reply.is === 'page' ? reply : request();
}

/** @throws AnswerUnreadable if the platform counts more items than it sent. With filters, it only warns */
function requireWholeList(
  { answer, counted: named }: ListPage,
  progress: ListProgress | undefined,
  warn: ((warning: string) => void) | undefined,
): void {
  const { offset = 0, total = 0 } = progress ?? {};
  // The last page may count 0 items: its own.
  const counted = named === undefined || named === 0 ? total : named;
  if (counted <= offset) return;
  const happened = `it counts ${count(counted, 'item')}, and its pages have ${offset}`;
  if (!warn) throw unreadableAnswer(answer, `${happened}. ${IN_PARTS}`);
  warn(`the platform says that ${happened}: items are missing, or the count ignores the filters`);
}

const IN_PARTS = 'If this stays so, export the list in parts, with filters';

interface Ending {
  readonly progress: ListProgress;
  readonly limit: number;
  readonly isFiltered: boolean;
  readonly warn: (warning: string) => void;
  readonly ask: Ask;
}

/**
 * Finds a proof that a list has ended where an answer is doubtful. There are three: the platform counts as
 * many items as were read; a page that begins at the last item has this item alone; or the server answers
 * each larger offset with its last page.
 *
 * @throws AnswerUnreadable if the list goes on, or if nobody can tell
 */
async function requireEnd(reply: Doubtful, ending: Ending): Promise<void> {
  const { progress, limit, isFiltered, warn, ask } = ending;
  const { offset, total, last, last_item } = progress;
  const happened = wordDoubt(reply, offset);
  const fail = (why: string) => unreadableAnswer(reply.answer, `${happened}, and ${why}. ${IN_PARTS}`);

  if (total !== undefined && total > offset) throw fail(`it counts ${count(total, 'item')}`);
  // With filters, the count may be that of all items.
  if (total === offset && !isFiltered) return;

  const atLastItem = await ask(offset - 1, progress.path);
  const items = atLastItem.is === 'page' ? atLastItem.items : [];
  const isLastItem = items.length === 1 && digestOfItem(items[0]) === last_item;
  if (isLastItem && hasLargerPages(progress, limit)) return;

  const isLastPage =
    reply.is === 'repeated' && reply.digest === last.digest && digestOf(items) === last.digest;
  if (!isLastPage) throw fail(isLastItem ? whyOneProvesNothing(limit) : whyListGoesOn(items));
  const fault = faultOfSamePage(progress, limit);
  if (fault !== undefined) throw fail(fault);
  // A server that ignores the offset, and perhaps the limit, has sent the whole list.
  if (progress.pages === 1)
    warn('the platform sent the same page again, so it ignores the offset: check that the list is no longer');
}

/**
 * True if a page may have more than one item. Otherwise, a page of one item does not show that this is the
 * last one.
 */
function hasLargerPages({ offset, largest }: ListProgress, limit: number): boolean {
  const isOnlyItem = offset === 1;
  return limit > 1 && (isOnlyItem || largest > 1);
}

/** @returns undefined if the last page, which comes again and again, is the end of the list */
function faultOfSamePage({ pages, last, largest }: ListProgress, limit: number): string | undefined {
  // The server answers a larger offset with its last page. A full page does not prove this, because the
  // server may have a highest offset.
  if (pages > 1 && last.items < largest) return undefined;
  return pages > 1 || last.items === limit ? 'offset has no effect' : undefined;
}

function whyOneProvesNothing(limit: number): string {
  return limit === 1
    ? 'pages of one item do not show whether it is the last. Give the request a larger limit'
    : 'the platform sends one item a page, which does not show whether it is the last';
}

function whyListGoesOn(items: readonly unknown[]): string {
  return items.length > 1
    ? 'a page that begins at the last item has more'
    : 'no other page shows that the list has ended';
}

function wordDoubt(reply: Doubtful, offset: number): string {
  if (reply.is === 'repeated') return `it sent a page again at offset ${offset}`;
  const { type, reason } = readRefusal(reply.answer);
  return `it refused offset ${offset} with ${reply.answer.status} (${type}${reason ? `: ${reason}` : ''})`;
}

function addPage({ items, path = [], counted }: ListPage, before: ListProgress | undefined): ListProgress {
  const mark = { items: items.length, digest: digestOf(items) };
  // A count that equals the items of its page may count this page only.
  const total = counted === undefined || counted === items.length ? before?.total : counted;
  return {
    offset: (before?.offset ?? 0) + items.length,
    pages: (before?.pages ?? 0) + 1,
    path: [...(before?.path ?? path)],
    first: before?.first ?? mark,
    last: mark,
    last_item: digestOfItem(items.at(-1)),
    largest: Math.max(before?.largest ?? 0, items.length),
    ...(total !== undefined && { total }),
  };
}

function warnOfPage(
  { items, counted }: ListPage,
  before: ListProgress,
  warn: (warning: string) => void,
): void {
  const { total, last, first } = before;
  if (last.items < first.items)
    warn('a page in the middle of the list was shorter than the first one: items may be missing');
  if (total !== undefined && counted !== undefined && counted !== items.length && counted < total)
    warn(
      `the list shrank from ${total} to ${count(counted, 'item')} while it was read: items may be missing`,
    );
}

type Repeats = ReturnType<typeof watchRepeats>;

/**
 * Remembers the pages that were read, and the ids of their items.
 *
 * @returns `has` tells whether a page was read, by its digest
 */
function watchRepeats() {
  const digests = new Set<string>();
  const ids = new Set<string>();
  let items = 0;
  return {
    has: (digest: string) => digests.has(digest),
    /** @throws AnswerUnreadable if most items have come before: the list goes in circles */
    add(page: ListPage, digest: string): void {
      digests.add(digest);
      for (const item of page.items) {
        const { id } = Object(item) as { id?: unknown };
        if (id === undefined || id === null) continue;
        items += 1;
        ids.add(JSON.stringify(id));
      }
      if (items > 2 * ids.size)
        throw unreadableAnswer(
          page.answer,
          `the list begins again: of ${count(items, 'item')}, ${ids.size} are different`,
        );
    },
  };
}

/**
 * Compares the items only: their wrapper may change each time, for example if it holds the time. The other
 * fields of items that have ids may change too, and so may their order.
 */
function digestOf(items: readonly unknown[]): string {
  const ids = items.map((item) => Object(item).id ?? undefined);
  return sha256(JSON.stringify(ids.includes(undefined) ? items : ids.map((id) => JSON.stringify(id)).sort()));
}

/** Other fields of an item may change while the list is read. */
function digestOfItem(item: unknown): string {
  const { id } = Object(item) as { id?: unknown };
  return sha256(JSON.stringify(id ?? item) ?? '');
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}

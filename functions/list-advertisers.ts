import { createHandler } from './aws/handler.ts';
import { createObjectStore, type ObjectStore } from './aws/objects.ts';
import { ADVERTISER_ID, LISTS, SCOPES } from './contract.ts';
import { type ReadLines, readLines, storedLines } from './copy/stored-pages.ts';
import { type AdvertiserList, compareWithDelivered, readAdvertisers } from './days/advertisers.ts';
import { countAdvertisers } from './decisions/newcomers.ts';
import { MIN_WAIT } from './decisions/waits.ts';
import { listPages } from './platform/lists.ts';
import {
  callPlatform,
  countInterruption,
  createPlatformAccess,
  type PlatformAccess,
} from './token/call-platform.ts';
import { AnswerUnreadable, RequestRefused } from './workflow/errors.ts';
import { advertisersKey, advertisersPrefix } from './workflow/keys.ts';
import { advertiserId } from './workflow/request/fields.ts';
import { READS, readSettingObject } from './workflow/settings.ts';
import { type ExportPlan, PlanOfAll } from './workflow/states.ts';
import type { Common } from './workflow/step.ts';

/** The ways in which the platform's list of advertisers differs from the contract's. */
interface AdvertisersList {
  readonly resource?: string;
  /** The place of the items. Default: the only array. */
  readonly items?: string;
  /** The field of an item that is used in requests. */
  readonly id?: string;
}

interface Dependencies extends PlatformAccess, Pick<Common, 'millisecondsLeft'> {
  readonly list: AdvertisersList;
  readonly store: Pick<ObjectStore, 'list' | 'getText' | 'putJson' | 'putText'>;
}

/**
 * Lists the account's advertisers once for all windows. Writes their ids if the list has changed, or if the
 * last list is damaged. Advertisers that no delivered report was asked for are newcomers. If the platform
 * interrupts the list, or one call is not enough, the plan has a `listing`: the state machine waits, and the
 * next call goes on.
 *
 * @throws RequestRefused if there is no advertiser, AnswerUnreadable if their ids cannot be found,
 *   TokenRefused
 * @throws PlatformUnavailable, RateLimited, OutOfTime, DownloadRefused
 * @throws AccessRefused, ServiceUnavailable
 */
export async function listAdvertisers(
  plan: PlanOfAll,
  dependencies: Dependencies,
): Promise<ExportPlan | PlanOfAll> {
  const warnings = new Set(plan.warnings);
  const { caller, read } = await readAdvertiserLines(plan, dependencies, (text) => void warnings.add(text));
  const { token, request: _, reports: __, ...listing } = caller;
  if (!read?.isComplete) return { ...plan, token, listing, warnings: [...warnings] };
  const ids = await readIds(read, plan, dependencies);
  for (const warning of warnWithoutTotal(read)) warnings.add(warning);
  return storeList({ ...plan, warnings: [...warnings] }, ids, dependencies);
}

/** Writes the list if it has changed, and names its newcomers. */
async function storeList(
  plan: PlanOfAll,
  ids: readonly string[],
  { store, now }: Dependencies,
): Promise<ExportPlan> {
  const { token: _, listing: __, ...rest } = plan;
  const { execution, request } = plan;
  const key = (await store.list(advertisersPrefix(request))).at(-1);
  const last = key === undefined ? undefined : await readAdvertisers(store, key);
  const damaged =
    key !== undefined && !last ? [`the list ${key} is damaged, so this run wrote it again`] : [];
  const { newcomers, gone } = await compareWithDelivered(ids, request, store, now());
  const all = [...plan.warnings, ...damaged, ...warnOfGone(gone)];
  const next = { ...rest, warnings: [...new Set(all)], newcomers };
  if (key !== undefined && last?.join() === ids.join())
    return { ...next, advertisers: { key, count: ids.length } };
  const newKey = advertisersKey(request, now());
  const list: AdvertiserList = { version: '1', execution, advertiser_ids: [...ids] };
  await store.putJson(newKey, list);
  return { ...next, advertisers: { key: newKey, count: ids.length } };
}

/** @returns what this call read, and what the next call needs if that is not all */
async function readAdvertiserLines(
  { request, token, execution, listing }: PlanOfAll,
  dependencies: Dependencies,
  warn: (warning: string) => void,
) {
  const { now, store, list, millisecondsLeft } = dependencies;
  if (!LISTS) throw new TypeError('The contract has no lists');
  const { maxLimit: limit, advertisers } = LISTS;
  const { id: field = advertisers.id, resource = advertisers.resource, items } = list;
  const begun = { begun_at: now().toISOString(), wait_seconds: MIN_WAIT, throttled: 0, ...listing };
  const stored = begun.list;
  const wanted = { resource, limit, filters: {}, ...(items !== undefined && { items }) };
  const lineOf = (item: unknown) => {
    const { data: id } = advertiserId.safeParse(Object(item)[field]);
    if (id !== undefined) return `${id}\n`;
    const happened = `An item of ${resource} has no ${ADVERTISER_ID.name} in its field ${field}.`;
    throw new AnswerUnreadable(`${happened} Name it with the setting advertisers_list.`, {
      account: request.account,
    });
  };
  const caller = { ...begun, request, token, reports: [] };
  if (stored?.is_complete)
    return { caller, read: { isComplete: true, lines: [], stored, ...stored.progress } satisfies ReadLines };
  const called = await callPlatform(caller, dependencies, (platform, authorization) => {
    const scoped = { ...authorization, scope: SCOPES.advertisers };
    const pages = listPages(platform, scoped, wanted, warn, stored?.progress);
    return readLines(pages, { execution, store, stored, lineOf, millisecondsLeft });
  });
  const { window: after, answer: read } = called;
  if (!read || read.isComplete) return { caller: after, read };
  const next = { ...after, list: read.stored, wait_seconds: MIN_WAIT };
  return { caller: read.interruption ? countInterruption(next, read.interruption) : next, read };
}

/** Sorted, because the platform's order is not stable. */
async function readIds(
  { lines, stored }: ReadLines,
  { execution, request: { account } }: PlanOfAll,
  { store }: Dependencies,
): Promise<string[]> {
  const ids = new Set(lines.map((line) => line.trimEnd()));
  for await (const id of storedLines(stored, { execution, store })) ids.add(id);
  if (ids.size > 0) return [...ids].sort();
  const happened = `The platform lists no advertiser of account ${account}, so there is nothing to report.`;
  throw new RequestRefused(`${happened} Check which advertisers its credential may use.`, { account });
}

/** A count that stays the same shows that no advertiser was removed meanwhile. */
function warnWithoutTotal({ pages, total }: ReadLines): string[] {
  if (pages < 2 || total !== undefined) return [];
  return [
    `the list of advertisers came in ${pages} pages without a total: one may be missing if another was removed meanwhile`,
  ];
}

/** A report without an advertiser replaces the days that had it. */
function warnOfGone(gone: readonly string[]): string[] {
  if (gone.length === 0) return [];
  const { count, advertiser_ids } = countAdvertisers(gone);
  const named = advertiser_ids.join(', ');
  return [
    `advertisers that the platform does not list any more: ${count}, so the days of this run are without ${named}`,
  ];
}

export const handler = createHandler(READS.ListAdvertisers, PlanOfAll, listAdvertisers, (settings) => ({
  ...createPlatformAccess(settings),
  store: createObjectStore(settings),
  list: readSettingObject(settings.ADVERTISERS_LIST),
}));

import pMap from 'p-map';
import * as z from 'zod/mini';
import type { ObjectStore } from '../aws/objects.ts';
import { countAdvertisers } from '../decisions/newcomers.ts';
import { parseJson } from '../workflow/json.ts';
import { MANIFEST } from '../workflow/keys.ts';
import { advertiserId } from '../workflow/request/fields.ts';
import type { ReportRequest } from '../workflow/request/request.ts';
import type { Newcomers } from '../workflow/state-parts.ts';
import { parseManifest } from './manifest.ts';
import { PARALLEL_READS } from './read-all.ts';
import { listWindows, oldestDay } from './records.ts';

/** The object that ListAdvertisers writes if the list has changed. */
export const AdvertiserList = z.object({
  version: z.literal('1'),
  execution: z.string(),
  advertiser_ids: z.array(advertiserId).check(z.minLength(1)),
});
export type AdvertiserList = z.infer<typeof AdvertiserList>;

/** @returns undefined if the object is damaged or absent @throws AccessRefused, ServiceUnavailable */
export async function readAdvertisers(
  store: Pick<ObjectStore, 'getText'>,
  key: string,
): Promise<readonly string[] | undefined> {
  return parseAdvertisers(await store.getText(key));
}

/** @returns undefined if the text is no list of advertisers */
export function parseAdvertisers(text: string | undefined): readonly string[] | undefined {
  return AdvertiserList.safeParse(parseJson(text)).data?.advertiser_ids;
}

/**
 * Compares a list with the lists that delivered manifests name. Advertisers that none of these lists has are
 * newcomers. Advertisers that the newest of these lists has, and this one lacks, are gone. The list of a run
 * that delivered nothing does not count, so the next run finds the same newcomers.
 *
 * @throws AccessRefused, ServiceUnavailable
 */
export async function compareWithDelivered(
  ids: readonly string[],
  request: ReportRequest,
  store: Pick<ObjectStore, 'list' | 'getText'>,
  now: Date,
): Promise<{ readonly newcomers?: Newcomers; readonly gone: readonly string[] }> {
  const isManifest = (key: string) => key.endsWith(`/${MANIFEST}`);
  const findList = async (key: string) => parseManifest(await store.getText(key), key, now)?.advertisers?.key;
  const keys = await listWindows(store, request);
  // Nearly always, the last window has the same list, and no other manifest is read.
  const last = keys.findLast(isManifest);
  const lastList = last && (await findList(last));
  if (lastList && (await readAdvertisers(store, lastList))?.join() === ids.join()) return { gone: [] };
  const named = await pMap(keys.filter(isManifest), findList, { concurrency: PARALLEL_READS });
  const listKeys = new Set(named.filter((key) => key !== undefined));
  const read = async (key: string) => (await readAdvertisers(store, key)) ?? [];
  // The keys of lists are in the order of their times.
  const lists = await pMap([...listKeys].sort(), read, { concurrency: PARALLEL_READS });
  const known = new Set(lists.flat());
  const listed = new Set(ids);
  const added = known.size > 0 ? ids.filter((id) => !known.has(id)) : [];
  const gone = (lists.findLast((list) => list.length > 0) ?? []).filter((id) => !listed.has(id));
  if (added.length === 0) return { gone };
  const { start_date: end_date } = request;
  const start_date = oldestDay(keys) ?? end_date;
  const history = start_date < end_date ? { start_date, end_date } : undefined;
  return { newcomers: { ...countAdvertisers(added), ...(history && { history }) }, gone };
}

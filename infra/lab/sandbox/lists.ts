import * as z from 'zod/mini';
import { grantedAdvertisers } from './authenticate.ts';
import { campaignName, idPrefix } from './entities.ts';
import { type Answer, type Call, jsonAnswer, readAs } from './exchange.ts';
import type { Advertiser, Grant, PlatformState } from './platform-state.ts';

/** The areas of contract 1 that have a list (contract 4.6), which is also the path of its endpoint. */
export const LIST_NAMES = ['advertisers', 'campaigns', 'audiences', 'creatives', 'impression_tracking'];

/** Contract 8. */
const Page = z.object({
  limit: z._default(z.coerce.number().check(z.int(), z.minimum(1), z.maximum(5000)), 20),
  offset: z._default(z.coerce.number().check(z.int(), z.minimum(0)), 0),
});

/** The items of each list but the advertisers. */
const COUNT = 57;
/** Items were created a minute apart, the last one a minute before the start. */
const SPACING_MS = 60_000;

/** A page by limit and offset, newest first (contract 4.6 and 8). Made on request, to save memory. */
export function listEndpoint(state: PlatformState, { path, query }: Call, grant: Grant): Answer {
  const list = path.slice(1);
  const { limit, offset } = readAs(Page, Object.fromEntries(new URLSearchParams(query)));
  const granted = grantedAdvertisers(state, grant);
  const ofAdvertisers = list === 'advertisers';
  const count = ofAdvertisers ? granted.length : COUNT;
  const data = Array.from({ length: Math.max(0, Math.min(limit, count - offset)) }, (_, place) => {
    const index = count - 1 - offset - place;
    const createdAt = state.startedAt - (count - index) * SPACING_MS;
    return ofAdvertisers ? granted[index] : createItem(list, index, granted, createdAt);
  });
  return jsonAnswer(200, { data });
}

/** The items go to the advertisers in turn. */
function createItem(list: string, index: number, granted: readonly Advertiser[], createdAt: number): unknown {
  const number = Math.floor(index / Math.max(1, granted.length));
  const advertiser = granted[index % Math.max(1, granted.length)]?.id ?? null;
  return {
    id: `${idPrefix(list, advertiser ?? '')}${String(number).padStart(12, '0')}`,
    name: list === 'campaigns' ? campaignName(number) : `${list.replaceAll('_', ' ')} ${index + 1}`,
    advertiser_id: advertiser,
    created_at: new Date(createdAt).toISOString(),
  };
}

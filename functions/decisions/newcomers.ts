import { count } from '../workflow/count.ts';
import type { CountedAdvertisers } from '../workflow/state-parts.ts';

/** Ids in a state. An object has all. */
const MAX_NAMED = 20;

export function countAdvertisers(ids: readonly string[]): CountedAdvertisers {
  return { count: ids.length, advertiser_ids: ids.slice(0, MAX_NAMED) };
}

/** Such as `2 new advertisers: ID, ID`. */
export function nameNewcomers(newcomers: CountedAdvertisers): string {
  return `${count(newcomers.count, 'new advertiser')}: ${nameIds(newcomers)}`;
}

/** Such as `2 advertisers that the platform refused: ID, ID`. */
export function nameRefused(refused: CountedAdvertisers): string {
  return `${count(refused.count, 'advertiser')} that the platform refused: ${nameIds(refused)}`;
}

function nameIds({ count: many, advertiser_ids }: CountedAdvertisers): string {
  const more = many > advertiser_ids.length ? ` and ${many - advertiser_ids.length} more` : '';
  return `${advertiser_ids.join(', ')}${more}`;
}

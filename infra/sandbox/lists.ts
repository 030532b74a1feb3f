import { grantedAdvertisers } from './authenticate.ts';
import { campaignName, idPrefix } from './entities.ts';
import { refuseViolations, type Violation } from './envelope.ts';
import { type Answer, type Incoming, json } from './exchange.ts';
import type { Grant, SandboxState } from './state.ts';

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 5000;
const DEFAULT_COUNT = 57;
/** The upper bound on created_at, inclusive. Contract 8 does not name the parameter. */
const BOUND = 'created_at_lte';
/** The items that exist at the start were created a minute apart, the last one a minute before the start. */
const SPACING_MS = 60_000;

/** A page by limit and offset, newest first, of the items created up to a bound (contract 4.6 and 8). */
export function listPage(state: SandboxState, { path, query }: Incoming, grant: Grant): Answer {
  const list = path.slice(1);
  const { count = DEFAULT_COUNT, growPerPage = 0 } = state.options.lists?.[list] ?? {};
  const bound = query.get(BOUND);
  refuseViolations(pageViolations(query, bound));
  const limit = Number(query.get('limit') ?? DEFAULT_LIMIT);
  const offset = Number(query.get('offset') ?? 0);

  const addedTo = `${grant.credential.account}/${list}`;
  const added = state.addedItems.get(addedTo) ?? [];
  const items =
    list === 'advertisers' ? advertisers(state, grant) : generated(state, list, grant, count, added);
  const visible = countUntil(items, bound === null ? Infinity : Date.parse(bound));
  const page = Array.from({ length: Math.max(0, Math.min(limit, visible - offset)) }, (_, index) =>
    items.item(visible - 1 - offset - index),
  );
  state.addedItems.set(addedTo, [...added, ...Array.from({ length: growPerPage }, () => state.now())]);
  return json(200, { data: page });
}

/** Items in order of creation. `item` makes an item on request, so long lists take no memory. */
type Items = { count: number; createdAt(index: number): number; item(index: number): unknown };

function advertisers(state: SandboxState, grant: Grant): Items {
  const items = grantedAdvertisers(state, grant);
  return {
    count: items.length,
    createdAt: (index) => Date.parse(items[index]?.created_at ?? ''),
    item: (index) => items[index],
  };
}

/** The items go to the advertisers in turn. */
function generated(
  state: SandboxState,
  list: string,
  grant: Grant,
  count: number,
  added: readonly number[],
): Items {
  const granted = grantedAdvertisers(state, grant);
  const createdAt = (index: number) => added[index - count] ?? state.startedAt - (count - index) * SPACING_MS;
  return {
    count: count + added.length,
    createdAt,
    item: (index) => {
      const number = Math.floor(index / Math.max(1, granted.length));
      const advertiser = granted[index % Math.max(1, granted.length)]?.id ?? null;
      return {
        id: `${idPrefix(list, advertiser ?? '')}${String(number).padStart(12, '0')}`,
        name: list === 'campaigns' ? campaignName(number) : `${list.replaceAll('_', ' ')} ${index + 1}`,
        advertiser_id: advertiser,
        created_at: new Date(createdAt(index)).toISOString(),
      };
    },
  };
}

/** Counts the items created at or before a time. */
function countUntil({ count, createdAt }: Items, until: number): number {
  let visible = count;
  while (visible > 0 && createdAt(visible - 1) > until) visible -= 1;
  return visible;
}

function pageViolations(query: URLSearchParams, bound: string | null): Violation[] {
  const limit = query.get('limit');
  const offset = query.get('offset');
  const violations: Violation[] = [];
  if (limit !== null && !(isCount(limit) && Number(limit) >= 1 && Number(limit) <= MAX_LIMIT)) {
    violations.push({ field: 'limit', message: `must be from 1 to ${MAX_LIMIT}` });
  }
  if (offset !== null && !isCount(offset)) violations.push({ field: 'offset', message: 'must be 0 or more' });
  if (bound !== null && Number.isNaN(Date.parse(bound))) {
    violations.push({ field: BOUND, message: 'must be a time' });
  }
  return violations;
}

function isCount(text: string): boolean {
  return /^\d{1,15}$/.test(text);
}

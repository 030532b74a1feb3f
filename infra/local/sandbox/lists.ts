import { refuseViolations, type Violation } from './envelope.ts';
import { type Answer, type Incoming, json } from './exchange.ts';
import { covers, type Grant } from './oauth/tokens.ts';
import type { Advertiser, World } from './world.ts';

const RESOURCES = ['advertisers', 'campaigns', 'audiences', 'creatives', 'impression_tracking'] as const;
const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 5000;
const DEFAULT_COUNT = 57;
/** Items that were there at the start were created a minute apart, the last of them a minute before it. */
const SPACING_MS = 60_000;

/** Contract 1: what has a list, which is also what has a scope `<resource>:read`. */
export function isResource(name: string): boolean {
  return RESOURCES.some((resource) => resource === name);
}

/** Contract 4.6 and 8: a page by limit and offset, in a stable order, of what was created up to a bound. */
export function listPage(world: World, request: Incoming, grant: Grant): Answer {
  const resource = request.path.slice(1);
  const bound = request.query.get(world.options.createdAtParameter ?? 'created_at_lte');
  refuseViolations(pageViolations(request.query, bound));
  const limit = Number(request.query.get('limit') ?? DEFAULT_LIMIT);
  const offset = Number(request.query.get('offset') ?? 0);
  const until = bound === null ? Infinity : Date.parse(bound);
  const items = resource === 'advertisers' ? advertisers(world, grant) : generated(world, resource, grant);
  const page = pageOf(items, until, offset, limit, orderOf(world, resource));
  grow(world, resource, grant);
  const wrapper = world.options.listWrapper === undefined ? 'data' : world.options.listWrapper;
  return json(200, wrapper === null ? page : { [wrapper]: page });
}

/** Items in the order of their creation; they are made when asked for, so that their number costs no memory. */
type Items = { count: number; createdAt(index: number): number; item(index: number): unknown };

function pageOf(items: Items, until: number, offset: number, limit: number, order: string): unknown[] {
  const bounded = countUntil(items, until);
  const length = Math.max(0, Math.min(limit, bounded - offset));
  return Array.from({ length }, (_, index) => {
    const position = offset + index;
    return items.item(order === 'oldest' ? position : bounded - 1 - position);
  });
}

/** How many were created at or before a time; creation times never fall with the index. */
function countUntil(items: Items, until: number): number {
  let low = 0;
  let high = items.count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (items.createdAt(middle) <= until) low = middle + 1;
    else high = middle;
  }
  return low;
}

function generated(world: World, resource: string, grant: Grant): Items {
  const atStart = world.options.lists?.[resource]?.count ?? DEFAULT_COUNT;
  const later = world.growth.get(`${grant.credential.account}/${resource}`) ?? [];
  const createdAt = (index: number) =>
    later[index - atStart] ?? world.authorizations.installedAt - (atStart - index) * SPACING_MS;
  const visible = reached(world, grant);
  return {
    count: atStart + later.length,
    createdAt,
    item: (index) => ({
      id: itemId(resource, index),
      name: `${resource.replaceAll('_', ' ')} ${index + 1}`,
      advertiser_id: visible[index % Math.max(1, visible.length)]?.id ?? null,
      created_at: new Date(createdAt(index)).toISOString(),
    }),
  };
}

function advertisers(world: World, grant: Grant): Items {
  const items = reached(world, grant);
  return {
    count: items.length,
    createdAt: (index) => Date.parse(items[index]?.created_at ?? ''),
    item: (index) => items[index],
  };
}

function reached(world: World, { credential, authorizedAt }: Grant): Advertiser[] {
  const all = world.advertisers.get(credential.account) ?? [];
  return all.filter((one) => covers(credential.advertisers, one, authorizedAt));
}

function grow(world: World, resource: string, grant: Grant): void {
  const more = world.options.lists?.[resource]?.growPerPage ?? 0;
  if (more === 0) return;
  const key = `${grant.credential.account}/${resource}`;
  const added = Array.from({ length: more }, () => world.now());
  world.growth.set(key, [...(world.growth.get(key) ?? []), ...added]);
}

function orderOf(world: World, resource: string): string {
  return world.options.lists?.[resource]?.order ?? 'newest';
}

function itemId(resource: string, index: number): string {
  const kind = Buffer.from(resource).toString('hex').slice(0, 8);
  return `${kind}-0000-4000-8000-${String(index + 1).padStart(12, '0')}`;
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
    violations.push({ field: 'created_at', message: 'the bound must be a time' });
  }
  return violations;
}

function isCount(text: string): boolean {
  return /^\d{1,15}$/.test(text);
}

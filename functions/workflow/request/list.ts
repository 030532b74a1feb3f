import * as z from 'zod/mini';
import { isObject, type JsonObject } from '../json.ts';
import { addDays } from './dates.ts';
import {
  accept_empty,
  commonFields,
  date,
  type Normalized,
  normalizedFields,
  path,
  roundedFaults,
  table,
  today,
} from './fields.ts';
import { warnOfTypo } from './issues.ts';

/** Items per page: the contract's maximum, for the fewest requests (contract 8). */
export const PAGE_LIMIT = 5_000;

/** Resources with a scope `<resource>:read` (contract 5.3). */
export const RESOURCES: readonly string[] = [
  'account',
  'advertisers',
  'audiences',
  'campaigns',
  'creatives',
  'impression_tracking',
];

/** A list (contract 4.6, 8). */
export const ListInput = z.strictObject({
  ...commonFields,
  kind: z.literal('list'),
  resource: z
    .string()
    .check(
      z.regex(/^[a-z0-9][a-z0-9_-]{0,63}$/i, 'must be one segment of a path, such as campaigns or audiences'),
    ),
  limit: z.optional(z.int().check(z.minimum(1), z.maximum(PAGE_LIMIT))),
  filters: z.optional(
    z.record(
      z.string().check(z.minLength(1)),
      z.union([z.string(), z.number(), z.boolean()], 'must be a string, a number or a boolean'),
    ),
  ),
  items: z.optional(path),
  snapshot_date: z.optional(date),
  table,
  accept_empty,
});

export const ListRequest = z.object({
  ...normalizedFields,
  kind: z.literal('list'),
  resource: z.string(),
  limit: z.number(),
  filters: z.record(z.string(), z.string()),
  items: z.optional(z.string()),
  table,
  accept_empty,
});
export type ListRequest = z.infer<typeof ListRequest>;

export function listFaults({ filters }: JsonObject): string[] {
  if (!isObject(filters)) return [];
  const reserved = ['limit', 'offset'].filter((key) => Object.hasOwn(filters, key));
  return [
    ...reserved.map((key) => `filters.${key}: is set by the export itself (limit is a field of the request)`),
    ...roundedFaults(filters, 'filters'),
  ];
}

export function normalizeList(input: z.infer<typeof ListInput>, now: Date): Normalized<ListRequest> {
  const { name, account, kind, resource, items, revision, table, accept_empty } = input;
  // A snapshot covers one day, so that a list's key has the same form as a report's.
  const start_date = input.snapshot_date ?? today(input, now);
  const filters = Object.entries(input.filters ?? {}).map(([key, value]) => [key, String(value)]);
  const request: ListRequest = {
    name,
    account,
    kind,
    resource,
    start_date,
    end_date: addDays(start_date, 1),
    limit: input.limit ?? PAGE_LIMIT,
    filters: Object.fromEntries(filters),
    ...(items !== undefined && { items }),
    max_parallel: 1,
    ...(revision && { revision }),
    ...(table !== undefined && { table }),
    ...(accept_empty !== undefined && { accept_empty }),
  };
  return { request, warnings: warnOfTypo('resource', resource, RESOURCES) };
}

import * as z from 'zod/mini';
import { LISTS } from '../../contract.ts';
import { addDays } from './dates.ts';
import {
  accept_empty,
  commonFields,
  type Dated,
  date,
  type Normalized,
  ofKind,
  path,
  table,
  today,
} from './fields.ts';

/** `maxLimit` items per page make the fewest requests. */
const { maxLimit = 1, parameters = [] } = LISTS ?? {};

export const ListInput = z.strictObject({
  ...commonFields,
  kind: z.literal('list'),
  resource: z
    .string()
    .check(
      z.regex(/^[a-z0-9][a-z0-9_-]{0,63}$/i, 'must be one segment of a path, such as campaigns or audiences'),
    ),
  limit: z._default(z.int().check(z.minimum(1), z.maximum(maxLimit)), maxLimit),
  /** Query parameters, which are texts. */
  filters: z._default(
    z.record(
      z.string().check(
        z.minLength(1),
        z.refine(
          (name) => !parameters.includes(name),
          'is set by the export itself (limit is a field of the request)',
        ),
      ),
      z.pipe(
        z.union([z.string(), z.number(), z.boolean()], 'must be a string, a number or a boolean'),
        z.transform(String),
      ),
    ),
    {},
  ),
  items: z.optional(path),
  snapshot_date: z.optional(date),
  table,
  accept_empty,
});

type ListInput = z.infer<typeof ListInput>;

export type ListRequest = Dated<ListInput, 'snapshot_date' | 'time_zone'>;
export const ListRequest = ofKind<ListRequest>('list');

export function normalizeList(input: ListInput, now: Date): Normalized<ListRequest> {
  const { scheduled_at, time_zone, only_missing, run, resumes, snapshot_date, ...fields } = input;
  // A snapshot covers one day, so that a list's key has the same form as a report's.
  const start_date = snapshot_date ?? today(input, now);
  const request = { ...fields, start_date, end_date: addDays(start_date, 1), max_parallel: 1 };
  return { request, warnings: [] };
}

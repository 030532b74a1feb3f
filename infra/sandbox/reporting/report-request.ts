import * as z from 'zod/mini';
import type { JsonObject } from '../../../functions/workflow/json.ts';
import { daysBetween, isCalendarDate } from '../../../functions/workflow/request/dates.ts';
import { findDimension, findMetric } from '../../../functions/workflow/request/dictionary.ts';
import { date } from '../../../functions/workflow/request/fields.ts';
import { readAs } from '../exchange.ts';

// The limits are a second opinion on what functions send, on purpose.

const MAX_DAYS = 45;

/** Serves every name of the dictionary: the contract's lists are incomplete. Names are in lower case. */
const nameIn = (find: (name: string) => unknown) =>
  z.string().check(
    z.refine((name) => name === name.toLowerCase() && find(name) !== undefined, {
      error: ({ input }) => `${input}: is unknown`,
    }),
  );

const listOf = (item: z.ZodMiniType<string>, least: number) =>
  z.array(item).check(z.minLength(least, 'must not be empty'));

type Granted = readonly { readonly id: string }[];

const advertiserOf = (granted: Granted) =>
  z.string().check(
    z.refine((id) => granted.some((advertiser) => advertiser.id === id.toLowerCase()), {
      error: ({ input }) => `${input}: is outside the advertiser scope of this credential`,
    }),
  );

/** Keeps options that the contract does not name. Its list of formats is not complete (2.6). */
const reportSchema = (granted: Granted) =>
  z.looseObject({
    start_date: date,
    end_date: date,
    advertiser_ids: listOf(advertiserOf(granted), 1),
    metrics: listOf(nameIn(findMetric), 1),
    dimensions: z._default(listOf(nameIn(findDimension), 0), []),
    granularity: z.optional(z.literal('DAY')),
    format: z.optional(z.enum(['JSON', 'CSV'])),
  });

/** The body of POST /reports (contract 2.2). */
export type ReportRequest = z.infer<ReturnType<typeof reportSchema>>;

/**
 * @param granted the advertisers that the token may use.
 * @throws Refusal 422 with all violations of contract 2.2
 */
export function readReport(body: JsonObject, granted: Granted): ReportRequest {
  return readAs(reportSchema(granted), body, rangeViolations(body, MAX_DAYS));
}

/** The same for POST /reports/purchases (contract 2.4). The range may have any length. */
export function readPurchaseQuery(body: JsonObject, granted: Granted) {
  const query = z.looseObject({ start_date: date, end_date: date, advertiser_id: advertiserOf(granted) });
  return readAs(query, body, rangeViolations(body, Number.POSITIVE_INFINITY));
}

function rangeViolations({ start_date, end_date }: JsonObject, maxDays: number) {
  const [start, end] = [String(start_date), String(end_date)];
  if (!isCalendarDate(start) || !isCalendarDate(end)) return [];
  const days = daysBetween(start, end);
  if (days <= 0) return [{ field: 'end_date', message: 'must be after start_date' }];
  return days > maxDays ? [{ field: 'end_date', message: `range is ${days} days; at most ${maxDays}` }] : [];
}

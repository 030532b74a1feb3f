import * as z from 'zod/mini';
import { count } from '../../../../functions/workflow/count.ts';
import type { JsonObject } from '../../../../functions/workflow/json.ts';
import { daysBetween, isCalendarDate } from '../../../../functions/workflow/request/dates.ts';
import { findDimension, findMetric } from '../../../../functions/workflow/request/dictionary.ts';
import { date } from '../../../../functions/workflow/request/fields.ts';
import { readAs } from '../exchange.ts';

// The limits are a second opinion on what functions send, on purpose.

const MAX_DAYS = 45;

const checked = (isValid: (text: string) => boolean, problem: string) =>
  z.string().check(z.refine(isValid, { error: ({ input }) => `${input}: ${problem}` }));

/** Serves every name of the dictionary: the contract's lists are incomplete. Names are in lower case. */
const nameIn = (find: (name: string) => unknown) =>
  checked((name) => name === name.toLowerCase() && find(name) !== undefined, 'is unknown');

type Granted = readonly { readonly id: string }[];

const advertiserOf = (granted: Granted) =>
  checked(
    (id) => granted.some((advertiser) => advertiser.id === id.toLowerCase()),
    'is outside the advertiser scope of this credential',
  );

const listOf = (item: z.ZodMiniType<string>) => z.array(item).check(z.minLength(1, 'must not be empty'));

/** Keeps options that the contract does not name. Its list of formats is not complete (2.6). */
const reportSchema = (granted: Granted) =>
  z.looseObject({
    start_date: date,
    end_date: date,
    advertiser_ids: listOf(advertiserOf(granted)),
    metrics: listOf(nameIn(findMetric)),
    dimensions: z._default(z.array(nameIn(findDimension)), []),
    granularity: z.optional(z.literal('DAY')),
    format: z.optional(z.enum(['JSON', 'CSV'])),
  });

/** The body of POST /reports (contract 2.2). */
export type ReportRequest = z.infer<ReturnType<typeof reportSchema>>;

/** @throws Refusal 422 with all violations of contract 2.2 */
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
  return days > maxDays
    ? [{ field: 'end_date', message: `range is ${count(days, 'day')}; at most ${maxDays}` }]
    : [];
}

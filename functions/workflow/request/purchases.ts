import * as z from 'zod/mini';
import {
  advertiserId,
  commonFields,
  type Dated,
  type Normalized,
  ofKind,
  optionsBeside,
  rangeFields,
  resolveRange,
} from './fields.ts';

/** The contract names no limit for a purchase query. This one catches a mistyped year. */
export const MAX_PURCHASE_DAYS = 4_500;

/** A purchase query. `options` are added to its body. */
export const PurchasesInput = z.strictObject({
  ...commonFields,
  kind: z.literal('purchases'),
  ...rangeFields,
  advertiser_id: advertiserId,
  options: optionsBeside(['advertiser_id', 'start_date', 'end_date']),
});

type PurchasesInput = z.infer<typeof PurchasesInput>;

export type PurchasesRequest = Dated<PurchasesInput, 'period' | 'start_date' | 'end_date' | 'time_zone'>;
export const PurchasesRequest = ofKind<PurchasesRequest>('purchases');

export function normalizePurchases(input: PurchasesInput, now: Date): Normalized<PurchasesRequest> {
  const { scheduled_at, time_zone, only_missing, run, resumes, period, ...fields } = input;
  return { request: { ...fields, ...resolveRange(input, now), max_parallel: 1 }, warnings: [] };
}

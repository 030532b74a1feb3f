import * as z from 'zod/mini';
import type { JsonObject } from '../json.ts';
import {
  commonFields,
  type Dated,
  type Normalized,
  ofKind,
  optionsBeside,
  rangeFaults,
  rangeFields,
  resolveRange,
  uuid,
} from './fields.ts';

/** The contract names no limit for a purchase query. This one catches a mistyped year. */
const MAX_DAYS = 4_500;

/** A purchase query (contract 2.4). `options` are added to its body. */
export const PurchasesInput = z.strictObject({
  ...commonFields,
  kind: z.literal('purchases'),
  ...rangeFields,
  advertiser_id: uuid,
  options: optionsBeside(['advertiser_id', 'start_date', 'end_date']),
});

type PurchasesInput = z.infer<typeof PurchasesInput>;

export type PurchasesRequest = Dated<PurchasesInput, 'period' | 'start_date' | 'end_date' | 'time_zone'>;
export const PurchasesRequest = ofKind<PurchasesRequest>('purchases');

/** The contract does not say whether end_date is exclusive (contract 2.4), so a range may have 0 days. */
export function purchasesFaults(fields: JsonObject): string[] {
  return rangeFaults(fields, 0, MAX_DAYS);
}

export function normalizePurchases(input: PurchasesInput, now: Date): Normalized<PurchasesRequest> {
  const { scheduled_at, time_zone, only_missing, period, ...fields } = input;
  return { request: { ...fields, ...resolveRange(input, now), max_parallel: 1 }, warnings: [] };
}

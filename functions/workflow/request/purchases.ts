import * as z from 'zod/mini';
import type { JsonObject } from '../json.ts';
import {
  commonFields,
  type Normalized,
  normalizedFields,
  optionFaults,
  options,
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
  options,
});

export const PurchasesRequest = z.object({
  ...normalizedFields,
  kind: z.literal('purchases'),
  advertiser_id: z.string(),
  options: z.record(z.string(), z.json()),
});
export type PurchasesRequest = z.infer<typeof PurchasesRequest>;

/** The contract does not say whether end_date is exclusive (contract 2.4), so a range may have 0 days. */
export function purchasesFaults(fields: JsonObject): string[] {
  return [
    ...rangeFaults(fields, 0, MAX_DAYS),
    ...optionFaults(fields, ['advertiser_id', 'start_date', 'end_date']),
  ];
}

export function normalizePurchases(
  input: z.infer<typeof PurchasesInput>,
  now: Date,
): Normalized<PurchasesRequest> {
  const { name, account, kind, advertiser_id, revision } = input;
  const request: PurchasesRequest = {
    name,
    account,
    kind,
    ...resolveRange(input, now),
    advertiser_id,
    options: input.options ?? {},
    max_parallel: 1,
    ...(revision && { revision }),
  };
  return { request, warnings: [] };
}

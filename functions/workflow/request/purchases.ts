import * as z from 'zod/mini';
import { common, type Fields, optionFaults, options, range, rangeFaults, rangeOf, uuid } from './fields.ts';

/** The contract names no limit of days for a purchase query; this one only catches a mistyped year. */
const MAX_DAYS = 4_500;

/** Contract 2.4; options are sent beside its fields. */
export const PurchasesInput = z.strictObject({
  ...common,
  kind: z.literal('purchases'),
  ...range,
  advertiser_id: uuid,
  options,
});

export const PurchasesRequest = z.object({
  name: z.string(),
  account: z.string(),
  kind: z.literal('purchases'),
  start_date: z.string(),
  end_date: z.string(),
  advertiser_id: z.string(),
  options: z.record(z.string(), z.json()),
  max_parallel: z.number(),
  revision: z.optional(z.string()),
});
export type PurchasesRequest = z.infer<typeof PurchasesRequest>;

/** Whether end_date is exclusive is not stated (contract 2.4), so one day may be written in either way. */
export function purchasesFaults(fields: Fields): string[] {
  return [
    ...rangeFaults(fields, { least: 0, most: MAX_DAYS }),
    ...optionFaults(fields, ['advertiser_id', 'start_date', 'end_date']),
  ];
}

export function normalizePurchases(input: z.infer<typeof PurchasesInput>, now: Date): PurchasesRequest {
  const { name, account, kind, advertiser_id, revision } = input;
  return {
    ...{ name, account, kind, ...rangeOf(input, now), advertiser_id },
    options: input.options ?? {},
    max_parallel: 1,
    ...(revision && { revision }),
  };
}

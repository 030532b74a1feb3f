import * as z from 'zod/mini';
import type { ObjectStore } from '../aws/objects.ts';
import { parseJson } from '../workflow/json.ts';
import { Newcomers } from '../workflow/state-parts.ts';

/** The object that ListAdvertisers writes if the list is another one than before. */
export const AdvertiserList = z.object({
  version: z.literal('1'),
  execution: z.string(),
  advertiser_ids: z.array(z.string()),
  newcomers: z.optional(Newcomers),
});
export type AdvertiserList = z.infer<typeof AdvertiserList>;

/** @throws ZodError if somebody removed the object; AccessRefused, ServiceUnavailable */
export async function readAdvertisers(
  store: Pick<ObjectStore, 'getText'>,
  key: string,
): Promise<AdvertiserList> {
  return AdvertiserList.parse(parseJson((await store.getText(key)) ?? ''));
}

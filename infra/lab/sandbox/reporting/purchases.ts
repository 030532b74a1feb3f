import { daysOf } from '../../../../functions/workflow/request/dates.ts';
import { grantedAdvertisers } from '../authenticate.ts';
import { type Answer, type Call, jsonAnswer, readJsonBody } from '../exchange.ts';
import type { Grant, PlatformState } from '../platform-state.ts';
import { readPurchaseQuery } from './report-request.ts';

/**
 * Contract 4.5, which does not show the response: its shape is invented. The same request always gets the
 * same events.
 */
export function purchasesEndpoint(state: PlatformState, request: Call, grant: Grant): Answer {
  const query = readPurchaseQuery(readJsonBody(request), grantedAdvertisers(state, grant));
  const { advertiser_id, ...range } = query;
  const purchases = daysOf(range).map((day) => ({
    event_id: `${advertiser_id}-${day}`,
    advertiser_id,
    event_time: `${day}T08:30:00Z`,
    value: 12.5,
    currency: 'USD',
  }));
  return jsonAnswer(200, { purchases });
}

import { createHash } from 'node:crypto';
import { addDays, daysBetween } from '../../../../functions/workflow/request/dates.ts';
import { grantedAdvertisers } from '../authenticate.ts';
import { readJsonBody, refuseViolations } from '../envelope.ts';
import { type Answer, type Incoming, json } from '../exchange.ts';
import type { Grant, SandboxState } from '../state.ts';
import { purchaseViolations } from './report-request.ts';

/** Contract 4.5. The contract does not show the response, so its shape is invented; an option replaces it. */
export function queryPurchases(state: SandboxState, request: Incoming, grant: Grant): Answer {
  const body = readJsonBody(request);
  refuseViolations(purchaseViolations(body, grantedAdvertisers(state, grant)));
  return json(200, (state.options.purchases ?? threePurchasesADay)(body));
}

/** The same request always gets the same events. */
function threePurchasesADay(body: Readonly<Record<string, unknown>>): unknown {
  const start = String(body.start_date);
  const days = daysBetween(start, String(body.end_date));
  const seed = createHash('sha256').update(JSON.stringify(body)).digest();
  const events = Array.from({ length: days * 3 }, (_, index) => ({
    event_id: `${seed.toString('hex', 0, 8)}-${index + 1}`,
    advertiser_id: body.advertiser_id,
    event_time: `${addDays(start, Math.floor(index / 3))}T${String(8 + (index % 3) * 4).padStart(2, '0')}:30:00Z`,
    value: 10 + (seed[index % seed.length] ?? 0) / 4,
    currency: 'USD',
  }));
  return { purchases: events };
}

import { createHash } from 'node:crypto';
import { refuseViolations } from '../envelope.ts';
import { type Answer, type Incoming, json } from '../exchange.ts';
import type { Grant } from '../oauth/tokens.ts';
import type { World } from '../world.ts';
import { addDays, daysBetween, purchaseViolations } from './report-request.ts';
import { jsonBody } from './reports.ts';

/** Contract 4.5. Its answer's shape is not shown: this one is made up, and a setting replaces it. */
export function purchases(world: World, request: Incoming, grant: Grant): Answer {
  const body = jsonBody(request);
  refuseViolations(purchaseViolations(world, grant, body));
  const shape = world.options.purchases ?? purchaseEvents;
  return json(200, shape(body));
}

/** Three purchases a day, the same for the same request. */
function purchaseEvents(body: Readonly<Record<string, unknown>>): unknown {
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

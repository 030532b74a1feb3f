import { type Answer, html, type Incoming } from './exchange.ts';
import type { World } from './world.ts';

/** Contract 4.2. */
export function authorizationEndpoint(_world: World, _request: Incoming): Answer {
  return html(501, '<p>Not yet.</p>');
}

import type { Call } from '../../infra/lab/sandbox/exchange.ts';
import type { Sandbox } from '../../infra/lab/sandbox/start-sandbox.ts';

/** The calls to one endpoint, in order. */
export function callsTo(sandbox: Sandbox, endpoint: Call['endpoint']): Call[] {
  return sandbox.journal.filter((call) => call.endpoint === endpoint);
}

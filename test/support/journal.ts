import type { Call } from '../../infra/sandbox/exchange.ts';
import type { Sandbox } from '../../infra/sandbox/sandbox.ts';

/** The calls to one endpoint, in the order in which the sandbox saw them. */
export function callsTo(sandbox: Sandbox, endpoint: Call['endpoint']): Call[] {
  return sandbox.journal.filter((call) => call.endpoint === endpoint);
}

/** Seconds between POST and the first GET, and between every two GETs, of each report, by the sandbox's clock. */
export function gaps(sandbox: Sandbox): number[] {
  return sandbox.reports().flatMap(({ id }) => {
    const about = sandbox.journal.filter(
      ({ endpoint, reportId }) => endpoint !== 'storage' && reportId === id,
    );
    const times = about.map(({ at }) => at);
    return times.slice(1).map((at, index) => (at - (times[index] ?? at)) / 1000);
  });
}

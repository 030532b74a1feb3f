import type { Log } from '../workflow/step.ts';
import type { Exchange } from './connection.ts';
import { requestIdOf } from './envelope.ts';
import { NoAnswer } from './errors.ts';

const REPORT = /^\/reports\/([^/]+)$/;

/** One line for each request to the platform. Its request id stands on every later line of the call as well. */
export function logCalls(log: Log): (exchange: Exchange) => void {
  return ({ method, path, milliseconds, outcome }) => {
    const report = method === 'GET' ? REPORT.exec(path)?.[1] : undefined;
    const about = { method, path, ...(report !== undefined && { report_id: decodeURIComponent(report) }) };
    if (outcome instanceof NoAnswer) {
      log.warn('the platform did not answer', { ...about, code: outcome.code, milliseconds });
      return;
    }
    log.keep({ request_id: requestIdOf(outcome) });
    log.info('the platform answered', { ...about, status: outcome.status, milliseconds });
  };
}

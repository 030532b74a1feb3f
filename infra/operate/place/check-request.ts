import { parseRequests } from '../../../functions/workflow/request/accounts.ts';
import { hintAt } from '../../../functions/workflow/request/issues.ts';
import {
  type ExportRequest,
  type ParsedRequest,
  parseRequest,
} from '../../../functions/workflow/request/request.ts';
import { explainStepError, UsageError } from './errors.ts';

/** An execution's input. Only a report says how many windows run at once, and a list names no days. */
export function inputOf(request: ExportRequest): unknown {
  if (request.kind === 'report') return request;
  const { max_parallel, start_date, end_date, ...input } = request;
  return request.kind === 'list' ? input : { ...input, start_date, end_date };
}

/** @param todo what to do then @throws UsageError if several accounts have an export */
export function checkOneAccount(
  name: string,
  requests: readonly { readonly account: string }[],
  todo = 'choose one with --account',
): void {
  const distinct = [...new Set(requests.map(({ account }) => account))].sort();
  if (distinct.length < 2) return;
  throw new UsageError([`${distinct.join(' and ')} have an export ${name}; ${todo}`]);
}

/** Ends a message about an unknown name with the one that may be meant, or with all. */
export function suggest(wanted: string, known: readonly string[]): string {
  return hintAt(wanted, known) || ` (there are ${known.join(', ') || 'none'})`;
}

/** Checks a request as the workflow does, so that a faulty one is never started. @throws UsageError */
export function checkRequest(request: unknown, now: Date): ParsedRequest {
  return check(() => parseRequest(request, now));
}

/** Checks the request of each account. Each warning is there once. @throws UsageError */
export function checkRequests(input: unknown, now: Date) {
  const all = check(() => parseRequests(input, now));
  const requests = all.map(({ request }) => request) as [ExportRequest, ...ExportRequest[]];
  return { requests, warnings: [...new Set(all.flatMap(({ warnings }) => warnings))] };
}

function check<T>(parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw explainStepError(error);
  }
}

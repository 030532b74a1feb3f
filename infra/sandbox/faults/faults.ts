import { isObject } from '../../../functions/workflow/json.ts';
import type { Answer, Endpoint } from '../exchange.ts';
import { type Fault, type FaultEffect, parseFault } from './parse-fault.ts';

/** `ordinal` is the number of the report that the request is about. */
export type FaultTarget = { endpoint: Endpoint; ordinal: number | undefined };

export function createFaultList(initial: readonly (string | Fault)[]) {
  const entries: { fault: Fault; matched: number }[] = [];
  const add = (fault: string | Fault): void => {
    entries.push({ fault: typeof fault === 'string' ? parseFault(fault) : fault, matched: 0 });
  };
  initial.forEach(add);
  return {
    /** Adds a fault, as an object or as a line for {@link parseFault}. It counts requests from now on. */
    add,
    clear: () => void entries.splice(0),
    /** Counts a request and returns the effects of its faults. Later faults override earlier ones. */
    take(request: FaultTarget): FaultEffect {
      const matching = entries.filter(({ fault }) => matches(fault, request));
      for (const entry of matching) entry.matched += 1;
      const applying = matching.filter(({ fault, matched }) => applies(fault, matched));
      return Object.assign({}, ...applying.map(({ fault }) => fault));
    },
  };
}

function matches({ on, report }: Fault, request: FaultTarget): boolean {
  return (on === 'any' || on === request.endpoint) && (report === undefined || report === request.ordinal);
}

function applies({ nth = 1, times = 1 }: Fault, matched: number): boolean {
  return matched >= nth && matched < nth + times;
}

/**
 * Changes the status, headers and body of an answer as the fault says.
 *
 * @param now for Retry-After as a date
 */
export function applyFault(answer: Answer, fault: FaultEffect, now: number): Answer {
  const { status = answer.status, body, retry_after } = fault;
  const changed = body === undefined ? editJson(answer, fault) : replaceBody(answer, body);
  const headers = {
    ...changed.headers,
    ...(retry_after !== undefined && { 'retry-after': retryAfterValue(retry_after, now) }),
    ...fault.header,
  };
  return { ...changed, status, headers };
}

function replaceBody({ status, headers }: Answer, text: string): Answer {
  const type = text.startsWith('<') ? 'text/html' : (headers['content-type'] ?? 'application/json');
  return { status, headers: { ...headers, 'content-type': type }, text };
}

function editJson(answer: Answer, { set = {}, omit = [] }: FaultEffect): Answer {
  if (answer.json === undefined) return answer;
  const json = structuredClone(answer.json);
  for (const path of omit) edit(json, path, (parent, key) => Reflect.deleteProperty(parent, key));
  for (const [path, value] of Object.entries(set))
    edit(json, path, (parent, key) => Reflect.set(parent, key, value));
  return { ...answer, json };
}

/** Calls `change` with the object that holds the last key of a dotted path, if there is one. */
function edit(root: unknown, path: string, change: (parent: object, key: string) => void): void {
  const keys = path.split('.');
  const last = keys.pop() ?? '';
  const parent = keys.reduce<unknown>((at, key) => (isObject(at) ? at[key] : undefined), root);
  if (isObject(parent)) change(parent, last);
}

function retryAfterValue(text: string, now: number): string {
  const [, seconds] = /^date:(\d+)$/.exec(text) ?? [];
  return seconds === undefined ? text : new Date(now + Number(seconds) * 1000).toUTCString();
}

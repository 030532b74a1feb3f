import { isObject } from '../../../functions/workflow/json.ts';
import { type Answer, bodyOf } from '../exchange.ts';
import type { FaultEffect } from './fault.ts';

/** Changes the status, headers and body of an answer as the fault says. @param now for Retry-After as a date */
export function applyFault(answer: Answer, fault: FaultEffect, now: number): Answer {
  const { status = answer.status, body, retryAfter } = fault;
  const changed = body === undefined ? editJson(answer, fault) : replaceBody(answer, body);
  const headers = {
    ...changed.headers,
    ...(retryAfter ? { 'retry-after': retryAfterValue(retryAfter, now) } : {}),
    ...fault.headers,
  };
  for (const name of fault.withoutHeaders ?? []) Reflect.deleteProperty(headers, name.toLowerCase());
  return { ...changed, status, headers };
}

function replaceBody({ status, headers }: Answer, text: string): Answer {
  const type = text.startsWith('<') ? 'text/html' : (headers['content-type'] ?? 'application/json');
  return { status, headers: { ...headers, 'content-type': type }, text };
}

function editJson(answer: Answer, { set = {}, omit = [] }: FaultEffect): Answer {
  if (answer.json === undefined) return answer;
  const json: unknown = JSON.parse(bodyOf(answer));
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

function retryAfterValue({ seconds, as }: { seconds: number; as: 'seconds' | 'date' }, now: number): string {
  return as === 'seconds' ? String(seconds) : new Date(now + seconds * 1000).toUTCString();
}

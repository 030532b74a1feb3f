import { type Answer, bodyOf, isObject } from '../exchange.ts';
import type { Misbehaviour } from './faults.ts';

/** The answer as a fault has it: another status, other headers, another body or other fields in it. */
export function reshape(answer: Answer, fault: Misbehaviour, now: number): Answer {
  const changed = { ...answer, status: fault.status ?? answer.status };
  const body = fault.body === undefined ? edited(changed, fault) : replaced(changed, fault.body);
  const headers = {
    ...body.headers,
    ...(fault.retryAfter ? { 'retry-after': retryAfter(fault.retryAfter, now) } : {}),
    ...fault.headers,
  };
  for (const name of fault.withoutHeaders ?? []) Reflect.deleteProperty(headers, name.toLowerCase());
  return { ...body, headers };
}

function replaced({ status, headers }: Answer, text: string): Answer {
  const type = text.startsWith('<') ? 'text/html' : (headers['content-type'] ?? 'application/json');
  return { status, headers: { ...headers, 'content-type': type }, text };
}

function edited(answer: Answer, { set = {}, omit = [] }: Misbehaviour): Answer {
  if (answer.json === undefined) return answer;
  const copy: unknown = JSON.parse(bodyOf(answer));
  for (const path of omit) visit(copy, path, (holder, key) => Reflect.deleteProperty(holder, key));
  for (const [path, value] of Object.entries(set))
    visit(copy, path, (holder, key) => Reflect.set(holder, key, value));
  return { ...answer, json: copy };
}

/** Calls back with the object that holds the last key of a dotted path, if the path leads to one. */
function visit(
  root: unknown,
  path: string,
  found: (holder: Record<string, unknown>, key: string) => void,
): void {
  const keys = path.split('.');
  const last = keys.pop() ?? '';
  const holder = keys.reduce<unknown>((at, key) => (isObject(at) ? at[key] : undefined), root);
  if (isObject(holder)) found(holder, last);
}

function retryAfter({ seconds, as }: { seconds: number; as: 'seconds' | 'date' }, now: number): string {
  return as === 'seconds' ? String(seconds) : new Date(now + seconds * 1000).toUTCString();
}

// What a person reads to mend a request; the rest is counted.
const FAILURES_SHOWN = 50;
const FAILURE_CAP = 300;
// A field of an object in a list is four levels deep; beyond this it is no list of failures, and could exhaust the stack.
const DEPTH_CAP = 20;

/**
 * The failures under detail.validation (contract 7.1), whose shape the contract leaves open: a sentence, a list
 * of sentences or of objects, or an object of sentences or lists by field.
 */
export function listValidation(validation: unknown): string[] {
  const failures = flatten(validation, '').map((failure) => failure.slice(0, FAILURE_CAP));
  if (failures.length <= FAILURES_SHOWN) return failures;
  return [...failures.slice(0, FAILURES_SHOWN), `and ${failures.length - FAILURES_SHOWN} more`];
}

function flatten(value: unknown, field: string, depth = 0): string[] {
  if (value === undefined || value === null || value === '' || depth > DEPTH_CAP) return [];
  if (Array.isArray(value)) return value.flatMap((item) => flatten(item, field, depth + 1));
  if (typeof value !== 'object') return [field ? `${field}: ${value}` : String(value)];
  const { field: named, message } = value as Record<string, unknown>;
  if (typeof named === 'string' && typeof message === 'string') return [`${join(field, named)}: ${message}`];
  return Object.entries(value).flatMap(([key, inner]) => flatten(inner, join(field, key), depth + 1));
}

function join(outer: string, inner: string): string {
  return outer ? `${outer}.${inner}` : inner;
}

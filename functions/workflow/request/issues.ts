import type * as z from 'zod/mini';

/** Our words for an issue. zod/mini has none, and zod's say "Invalid input: expected …, received …". */
export function wordIssue(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === 'invalid_type')
    return issue.input === undefined ? 'is missing' : `must be of type ${issue.expected}`;
  if (issue.code === 'too_small') return `must be at least ${issue.minimum}`;
  if (issue.code === 'too_big') return `must be at most ${issue.maximum}`;
  if (issue.code === 'invalid_key') return issue.issues[0]?.message;
  return undefined;
}

/**
 * Describes an issue as `path: fault`, with one line per unknown field.
 *
 * @param whole the checked value, such as "the request"
 * @param unknown the fault of an unknown field
 */
export function describeIssue(issue: z.core.$ZodIssue, whole: string, unknown: string): string[] {
  const path = issue.path.map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`)).join('');
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => `${path}.${key}: ${unknown}`.slice(1));
  }
  return [path === '' ? `${whole} ${issue.message}` : `${path.slice(1)}: ${issue.message}`];
}

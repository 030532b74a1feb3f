import { distance } from 'fastest-levenshtein';
import type * as z from 'zod/mini';

/** Our words for an issue. zod/mini has none, and zod's say "Invalid input: expected …, received …". */
export function wordIssue(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === 'invalid_type') {
    if (issue.input === undefined) return 'is missing';
    return issue.expected === 'int' ? 'must be a whole number' : `must be of type ${issue.expected}`;
  }
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
 * @param fields of the whole, to name the one that an unknown field resembles
 */
export function nameFaults(
  issue: z.core.$ZodIssue,
  whole: string,
  unknown: string,
  fields: readonly string[],
): string[] {
  const path = issue.path.map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`)).join('');
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => {
      return `${path}.${key}: ${unknown}${hintAt(key, path === '' ? fields : [])}`.slice(1);
    });
  }
  return [path === '' ? `${whole} ${issue.message}` : `${path.slice(1)}: ${issue.message}`];
}

/**
 * Names the known name that a mistyped one may stand for: at most two letters differ, and fewer than a third.
 *
 * @returns words in parentheses; an empty text if no name is close
 */
export function hintAt(name: string, known: readonly string[]): string {
  const edits = (candidate: string) => distance(name.toLowerCase(), candidate.toLowerCase());
  const [nearest = ''] = known.toSorted((first, second) => edits(first) - edits(second));
  const isSimilar = edits(nearest) <= 2 && edits(nearest) * 3 < Math.max(name.length, nearest.length);
  return isSimilar ? ` (did you mean ${nearest}?)` : '';
}

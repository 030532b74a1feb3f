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
 * @param known the names of the fields; the fault of an unknown field names a similar one
 */
export function describeIssue(
  issue: z.core.$ZodIssue,
  whole: string,
  unknown: string,
  known: readonly string[] = [],
): string[] {
  const path = issue.path.map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`)).join('');
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => `${path}.${key}: ${unknown}${suggest(findSimilar(key, known))}`.slice(1));
  }
  return [path === '' ? `${whole} ${issue.message}` : `${path.slice(1)}: ${issue.message}`];
}

function suggest(similar: readonly string[]): string {
  return similar.length === 0 ? '' : ` (did you mean ${similar.join(' or ')}?)`;
}

/** A part of a name, such as `start` of start_date, counts as similar from this length on. */
const MIN_PART = 3;

/** The known names that a mistyped one may stand for. Hyphens, underscores and capitals do not count. */
function findSimilar(name: string, known: readonly string[]): string[] {
  const plain = (text: string) => text.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
  const typed = plain(name);
  const isPart = (candidate: string) =>
    Math.min(typed.length, candidate.length) >= MIN_PART &&
    (candidate.startsWith(typed) || typed.startsWith(candidate));
  const distances = known.map((candidate) => {
    const edits = countEdits(typed, plain(candidate));
    const isTypo = edits <= Math.floor(Math.max(typed.length, plain(candidate).length) / 3);
    return { candidate, edits: isTypo ? edits : isPart(plain(candidate)) ? typed.length : undefined };
  });
  const least = Math.min(...distances.flatMap(({ edits }) => edits ?? []));
  return distances.filter(({ edits }) => edits === least).map(({ candidate }) => candidate);
}

/** The letters to insert, delete or replace to turn one word into the other (Levenshtein). Two swapped letters are two edits. */
function countEdits(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (const [index, letter] of [...from].entries()) {
    const next = [index + 1];
    for (let column = 1; column <= to.length; column += 1) {
      const replaced = (row[column - 1] ?? 0) + (letter === to[column - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}

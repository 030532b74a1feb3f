import { UsageError } from '../../place/errors.ts';

export const NO_QUERY = 'give one query, which begins with SELECT or WITH: other statements are not run';

/** Comments, texts, and names in quotes. An end that is missing takes all that follows. */
const QUOTED = /--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|'(?:[^']|'')*(?:'|$)|"(?:[^"]|"")*(?:"|$)/g;

/**
 * Refuses a text of SQL that is not one query, before a service sees it.
 *
 * @returns the query without a semicolon at its end
 * @throws UsageError
 */
export function checkOneQuery(sql: string): string {
  const bare = blankQuoted(sql);
  const end = bare.search(/;\s*$/);
  const statement = end < 0 ? bare : bare.slice(0, end);
  checkFirstWord(statement, ['select', 'with']);
  if (statement.includes(';') || !isBalanced(statement)) throw new UsageError([NO_QUERY]);
  return end < 0 ? sql : sql.slice(0, end);
}

/** @throws UsageError if the statement does not begin with one of the words, in lower case */
export function checkFirstWord(sql: string, words: readonly string[]): void {
  const [, word = ''] = /^[\s(]*(\w+)/.exec(blankQuoted(sql)) ?? [];
  if (!words.includes(word.toLowerCase())) throw new UsageError([NO_QUERY]);
}

/** Of the same length, so that places stay. */
function blankQuoted(sql: string): string {
  return sql.replace(QUOTED, (quoted) => ' '.repeat(quoted.length));
}

/** No parenthesis ends before it began. */
function isBalanced(statement: string): boolean {
  let depth = 0;
  for (const character of statement) {
    if (character === '(') depth += 1;
    if (character === ')') depth -= 1;
    if (depth < 0) return false;
  }
  return depth === 0;
}

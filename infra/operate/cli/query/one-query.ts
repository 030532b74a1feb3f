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

/**
 * Refuses a statement that does not begin with one of the words, and one that begins with WITH and then
 * writes.
 *
 * @param words in lower case
 * @throws UsageError
 */
export function checkFirstWord(sql: string, words: readonly string[]): void {
  const bare = blankQuoted(sql);
  const [, word = ''] = /^[\s(]*(\w+)/.exec(bare) ?? [];
  if (!words.includes(word.toLowerCase()) || WRITES.test(blankParentheses(bare)))
    throw new UsageError([NO_QUERY]);
}

/** The statement after the last query of a WITH. A comma follows the others. */
const WRITES =
  /^\s*with\b.*?\bas\s+(?:not\s+materialized\s+|materialized\s+)?\(\s*\)\s*(?:insert|update|delete|merge)\b/is;

/** Leaves the outermost parentheses, with nothing in them. */
function blankParentheses(statement: string): string {
  let depth = 0;
  let outside = '';
  for (const character of statement) {
    if (character === ')') depth -= 1;
    if (depth === 0) outside += character;
    if (character === '(') depth += 1;
  }
  return outside;
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

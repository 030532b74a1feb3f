/** Characters that a warning keeps. It may quote a value of the file. */
const MAX_CHARACTERS = 300;

/**
 * Shortens warnings until their JSON fits: first the long ones, then those at the end are counted only.
 *
 * @param maxBytes at least 100
 */
export function shortenWarnings(warnings: readonly string[], maxBytes: number): string[] {
  const distinct = [...new Set(warnings.map((text) => truncate(text, MAX_CHARACTERS)))];
  if (bytesOf(distinct) <= maxBytes) return distinct;
  for (let kept = distinct.length - 1; kept > 0; kept -= 1) {
    const some = [...distinct.slice(0, kept), more(distinct.length - kept)];
    if (bytesOf(some) <= maxBytes) return some;
  }
  return [more(distinct.length)];
}

/** Cuts a text to this many characters, the last of which is then `…`. */
export function truncate(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1).toWellFormed()}…`;
}

function more(count: number): string {
  return `${count} more ${count === 1 ? 'warning' : 'warnings'}`;
}

/** The bytes of a value's JSON. */
export function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

/** Bytes that a warning keeps. It may quote a value of the file. */
const MAX_BYTES = 300;

/** A text of a list that would be cut to fewer bytes is left out. */
const MIN_BYTES = 20;

/**
 * Shortens warnings until their JSON fits: first the long ones, then those at the end are counted only.
 *
 * @param maxBytes at least 100
 */
export function shortenWarnings(warnings: readonly string[], maxBytes: number): string[] {
  const distinct = [...new Set(warnings.map((text) => truncate(text, MAX_BYTES)))];
  if (bytesOf(distinct) <= maxBytes) return distinct;
  for (let kept = distinct.length - 1; kept > 0; kept -= 1) {
    const some = [...distinct.slice(0, kept), more(distinct.length - kept)];
    if (bytesOf(some) <= maxBytes) return some;
  }
  return [more(distinct.length)];
}

/** Cuts a text until its JSON has at most this many bytes. A text that was cut ends with `…`. */
export function truncate(text: string, maxBytes: number): string {
  let length = Math.min(text.length, maxBytes);
  if (length === text.length && bytesOf(text) <= maxBytes) return text;
  const cut = () => `${text.slice(0, length).toWellFormed()}…`;
  while (length > 0 && bytesOf(cut()) > maxBytes) length -= Math.ceil(length / 100);
  return cut();
}

/** Cuts a list until its JSON has at most this many bytes: it loses its end, and its last text may be cut. */
export function truncateAll(texts: readonly string[], maxBytes: number): string[] {
  let left = maxBytes - 2;
  return texts.flatMap((text) => {
    if (left < MIN_BYTES) return [];
    const kept = truncate(text, left - 1);
    left -= bytesOf(kept) + 1;
    return [kept];
  });
}

function more(count: number): string {
  return `${count} more ${count === 1 ? 'warning' : 'warnings'}`;
}

/** The bytes of a value's JSON. */
function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

/** Bytes that a text of a list keeps. It may quote a value of the file. */
const MAX_BYTES = 300;

/**
 * Shortens texts, each once, until their JSON fits: first the long ones, then the last ones are only counted.
 *
 * @param maxBytes at least 100
 */
export function shortenTexts(texts: readonly string[], maxBytes: number): string[] {
  const distinct = [...new Set(texts.map((text) => truncate(text, MAX_BYTES)))];
  for (let kept = distinct.length; kept > 0; kept -= 1) {
    const left = distinct.length - kept;
    const some = [...distinct.slice(0, kept), ...(left > 0 ? [`and ${left} more`] : [])];
    if (bytesOf(some) <= maxBytes) return some;
  }
  return distinct.length > 0 ? [`${distinct.length} more`] : [];
}

/** Cuts a text until its JSON has at most this many bytes. A text that was cut ends with `…`. */
export function truncate(text: string, maxBytes: number): string {
  let length = Math.min(text.length, maxBytes);
  if (length === text.length && bytesOf(text) <= maxBytes) return text;
  const cut = () => `${text.slice(0, length).toWellFormed()}…`;
  while (length > 0 && bytesOf(cut()) > maxBytes) length -= Math.ceil(length / 100);
  return cut();
}

/** The bytes of a value's JSON. */
export function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

/** Begins the warning of a window whose file was delivered and not read. The reason follows. */
export const NOT_READ = 'the rows were not read: ';

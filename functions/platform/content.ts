import { constants, gunzipSync } from 'node:zlib';

/**
 * Tells by its first bytes what a body is. Its headers may be wrong: they come from the person or tool that
 * stored the file, or from a gateway.
 */

/** Bytes by which a body is judged. */
export const START_BYTES = 1024;

/** Names of codings, in a Content-Encoding, that no step can read. */
const CODINGS = /\b(br|brotli|zstd|deflate|compress|bzip2?|xz|lzma|lz4|snappy)\b/i;

/** A page begins with one of these, an error of S3 and of hosts like it with `<Error>`. */
const PAGE = /^(<!--.*?-->\s*|<\?xml[^>]*>\s*)*<(!doctype html|(html|head|body|title|script|meta|error)\b)/is;

export function isGzip(start: Buffer): boolean {
  return start[0] === 0x1f && start[1] === 0x8b;
}

/** True for a web page, and for an error in XML. */
export function isPage(start: Buffer): boolean {
  return PAGE.test(textOf(start).trimStart());
}

/** True for the Content-Type of a web page. A server gives it to files whose type it does not know. */
export function isLabeledPage(contentType: string): boolean {
  return /^text\/html\b/i.test(contentType);
}

/** The coding that a Content-Encoding names, if no step can read it and the bytes are no text. */
export function unreadableCoding(label: string | undefined, start: Buffer): string | undefined {
  const coding = CODINGS.exec(label ?? '')?.[0];
  return coding === undefined || isGzip(start) || isText(start) ? undefined : coding.toLowerCase();
}

function textOf(start: Buffer): string {
  if (!isGzip(start)) return start.toString();
  try {
    return gunzipSync(start, { finishFlush: constants.Z_SYNC_FLUSH }).toString();
  } catch {
    return '';
  }
}

/** UTF-8 without control characters. The last character may be cut. */
function isText(start: Buffer): boolean {
  const text = start.toString().replace(/\ufffd{1,3}$/, '');
  return !/[^\P{Cc}\t\n\r]|\ufffd/u.test(text);
}

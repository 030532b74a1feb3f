import type { Socket } from 'node:net';

/** The status line of an interim answer, such as `HTTP/1.1 100 Continue`. 101 switches the protocol. */
const INTERIM = /^HTTP\/1\.[01] 1(?!01)\d\d[ \r]/;

/** Bytes that the pattern needs. */
const STATUS_BYTES = 'HTTP/1.1 100 '.length;

/** As many as undici allows for the headers of an answer. */
const MAX_HEAD_BYTES = 16 * 1024;

/**
 * Skips the interim answers that come before the answer. A server may send `100 Continue` to any client (RFC
 * 9110, 15.2), but undici ends the connection then, and the answer to a POST would be lost. It looks only at
 * the first answer of a connection, because each of our calls has a connection of its own.
 */
export function skipInterimAnswers(socket: Socket): void {
  const push = socket.push.bind(socket);
  let received = Buffer.alloc(0);
  socket.push = (chunk: Buffer | null) => {
    if (chunk !== null) received = Buffer.concat([received, chunk]);
    const rest = removeInterim(received);
    if (chunk !== null && rest === undefined) return true;
    socket.push = push;
    const left = rest ?? received;
    const wantsMore = left.length === 0 || push(left);
    return chunk === null ? push(null) : wantsMore;
  };
}

/** @returns the bytes from the answer on; undefined if it has not come yet */
function removeInterim(bytes: Buffer): Buffer | undefined {
  if (bytes.length < STATUS_BYTES) return undefined;
  if (!INTERIM.test(bytes.toString('latin1', 0, STATUS_BYTES))) return bytes;
  const end = bytes.indexOf('\r\n\r\n');
  if (end >= 0) return removeInterim(bytes.subarray(end + 4));
  return bytes.length > MAX_HEAD_BYTES ? bytes : undefined;
}

import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { crc32 } from 'node:zlib';
import { base64Crc32 } from './crc32.ts';
import { requestPart } from './part-request.ts';
import { asPartError, type Destination, type Part, type Upload } from './upload.ts';

/** S3 takes chunks of 8 KiB and more, but for the last. */
const CHUNK_BYTES = 1024 * 1024;

const TRAILER = 'x-amz-checksum-crc32';

/** A part that is sent as its bytes come, of any size in the memory of two chunks; its checksum comes behind them. */
export interface PartStream {
  /** Copies the bytes; asks the sender to wait by returning a promise. */
  write(bytes: Buffer): Promise<void> | undefined;
  /** All bytes of the part were written. @throws CopyFailed, AccessRefused, ServiceUnavailable */
  end(): Promise<Part>;
}

/** @param bytes exactly as many as will be written */
export function openPartStream(
  to: Destination,
  upload: Upload,
  { number, bytes }: { number: number; bytes: number },
  signal: AbortSignal,
): PartStream {
  const body = new PassThrough({ highWaterMark: CHUNK_BYTES });
  body.on('error', () => {}); // undici destroys it with what it also rejects with
  let crc = 0;
  const part = {
    ...{ number, body, length: encodedBytes(bytes), checksum: () => base64Crc32(crc) },
    headers: {
      'content-encoding': 'aws-chunked',
      'x-amz-decoded-content-length': String(bytes),
      'x-amz-trailer': TRAILER,
    },
    payload: 'STREAMING-UNSIGNED-PAYLOAD-TRAILER',
  };
  const sent = requestPart(to, upload, part, signal).catch((error: unknown) => {
    signal.throwIfAborted();
    throw asPartError(to, error);
  });
  sent.catch(() => {}); // whoever writes or ends hears of it
  let chunk = Buffer.allocUnsafe(CHUNK_BYTES);
  let used = 0;

  function write(piece: Buffer): Promise<void> | undefined {
    crc = crc32(piece, crc);
    return fill(piece);
  }

  function fill(piece: Buffer): Promise<void> | undefined {
    const copied = piece.copy(chunk, used);
    used += copied;
    if (used < CHUNK_BYTES) return undefined;
    const free = send();
    const rest = piece.subarray(copied);
    if (free) return rest.length > 0 ? fill(rest) : undefined;
    return drained().then(() => (rest.length > 0 ? fill(rest) : undefined));
  }

  /** @returns whether more may come at once */
  function send(): boolean {
    body.write(`${used.toString(16)}\r\n`);
    body.write(chunk.subarray(0, used));
    const free = body.write('\r\n');
    chunk = Buffer.allocUnsafe(CHUNK_BYTES);
    used = 0;
    return free;
  }

  async function drained(): Promise<void> {
    await Promise.race([once(body, 'drain'), sent]);
  }

  async function end(): Promise<Part> {
    if (used > 0) send();
    body.end(`0\r\n${TRAILER}:${base64Crc32(crc)}\r\n\r\n`);
    return { number, bytes, crc32: crc, etag: await sent };
  }

  return { write, end };
}

/** With the framing of aws-chunked: each chunk's size in hex before it, and the trailer behind all of them. */
function encodedBytes(bytes: number): number {
  const framed = (chunk: number) => chunk.toString(16).length + 2 + chunk + 2;
  const rest = bytes % CHUNK_BYTES;
  const chunks = Math.floor(bytes / CHUNK_BYTES) * framed(CHUNK_BYTES) + (rest > 0 ? framed(rest) : 0);
  return chunks + '0\r\n'.length + TRAILER.length + ':AAAAAA==\r\n\r\n'.length;
}

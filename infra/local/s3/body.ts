import { closeSync, openSync, readSync, rmSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import { S3Error } from './answers.ts';
import type { Call, Endpoint } from './call.ts';

/*
 * Files are read and written synchronously: the system only copies the bytes to or from its memory, which
 * takes a third of the CPU of handing them to another thread.
 */

export type Received = { bytes: number; crc32: number };

const OTHER_CHECKSUMS = /^x-amz-checksum-(?!crc32$|type$|algorithm$)/;

/**
 * Writes a request's body to a new file, checks it against the CRC32 header, then calls `use`. Removes the
 * file if any of them fails.
 *
 * @throws S3Error BadDigest, MissingContentLength, NotImplemented
 */
export async function receiveFile<Result>(
  { request, header, write }: Pick<Call, 'request' | 'header' | 'write'>,
  path: string,
  use: (received: Received) => Result,
): Promise<Result> {
  if (header('content-length') === undefined) throw new S3Error('MissingContentLength');
  // The functions know a body's checksum before they send it, so nobody needs trailers.
  const hasOther = Object.keys(request.headers).some((name) => OTHER_CHECKSUMS.test(name));
  if (hasOther || header('x-amz-content-sha256')?.startsWith('STREAMING-'))
    throw new S3Error('NotImplemented', 'Only the checksum CRC32 is supported, and only in a header');
  const file = openSync(path, 'wx');
  const received: Received = { bytes: 0, crc32: 0 };
  try {
    // The client of a body that is refused reads the answer, if the connection stays open.
    for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      received.bytes += chunk.length;
      received.crc32 = crc32(chunk, received.crc32);
      writeAll(write, file, chunk);
    }
    const claimed = header('x-amz-checksum-crc32');
    if (claimed !== undefined && claimed !== base64Crc(received.crc32))
      throw new S3Error('BadDigest', 'The CRC32 you specified did not match the calculated checksum.');
    return use(received);
  } catch (error) {
    rmSync(path, { force: true });
    throw error;
  } finally {
    closeSync(file);
  }
}

export function writeAll(write: Endpoint['write'], file: number, bytes: Buffer): void {
  for (let at = 0; at < bytes.length; ) at += write(file, bytes, at);
}

/** Bytes of one read of a file. Smaller reads take more CPU. */
const READ_BYTES = 512 * 1024;

/** Yields the bytes from `start` to `end`, in one buffer, so that a large file leaves no garbage. */
export function* readRange(path: string, start: number, end: number): Generator<Buffer> {
  const file = openSync(path, 'r');
  try {
    const buffer = Buffer.allocUnsafe(Math.max(0, Math.min(READ_BYTES, end + 1 - start)));
    for (let at = start; at <= end; ) {
      const bytes = readSync(file, buffer, 0, Math.min(buffer.length, end + 1 - at), at);
      if (bytes === 0) throw new Error('The file is shorter than its metadata says');
      at += bytes;
      yield buffer.subarray(0, bytes);
    }
  } finally {
    closeSync(file);
  }
}

/** A CRC32 in S3's form: four bytes, big endian, base64. */
export function base64Crc(crc: number): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(crc);
  return bytes.toString('base64');
}

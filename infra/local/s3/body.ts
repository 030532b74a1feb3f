import { closeSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import { S3Error } from './answers.ts';
import type { Call } from './call.ts';

export type Received = { bytes: number; crc32: number };

/**
 * Writes a request's body to a new file, checks it against the CRC32 header, then calls `use`. Removes the
 * file if any of them fails. Writes synchronously: the system only copies the bytes to its memory, which
 * takes a third of the CPU of handing them to another thread.
 *
 * @throws S3Error BadDigest, MissingContentLength, NotImplemented
 */
export async function receiveFile<Result>(
  { request, header }: Pick<Call, 'request' | 'header'>,
  path: string,
  use: (received: Received) => Result,
): Promise<Result> {
  if (header('content-length') === undefined) throw new S3Error('MissingContentLength');
  // The functions know a body's checksum before they send it, so nobody needs trailers.
  if (header('x-amz-content-sha256')?.startsWith('STREAMING-'))
    throw new S3Error('NotImplemented', 'A checksum is supported in a header only');
  const file = openSync(path, 'wx');
  const received: Received = { bytes: 0, crc32: 0 };
  try {
    // The client of a body that is refused reads the answer, if the connection stays open.
    for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      received.bytes += chunk.length;
      received.crc32 = crc32(chunk, received.crc32);
      writeFileSync(file, chunk);
    }
    checkCrc(header('x-amz-checksum-crc32'), received.crc32);
    return use(received);
  } catch (error) {
    rmSync(path, { force: true });
    throw error;
  } finally {
    closeSync(file);
  }
}

/** @param claimed what the client says, if anything @throws S3Error BadDigest */
export function checkCrc(claimed: string | undefined, crc: number): void {
  if (claimed !== undefined && claimed !== base64Crc(crc))
    throw new S3Error('BadDigest', 'The CRC32 you specified did not match the calculated checksum.');
}

/** A CRC32 in S3's form: four bytes, big endian, base64. */
export function base64Crc(crc: number): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(crc);
  return bytes.toString('base64');
}

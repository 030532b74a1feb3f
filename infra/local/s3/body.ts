import { createHash, type Hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { finished } from 'node:stream/promises';
import { crc32 } from 'node:zlib';
import { S3Error } from './answers.ts';
import { decodeAwsChunked } from './aws-chunked.ts';

export type Received = { bytes: number; crc32: number };

/** A sink for bytes in order; it may ask the sender to wait by returning a promise. */
export type Write = (chunk: Buffer) => Promise<void> | undefined;

const OTHER_CHECKSUMS = ['crc32c', 'crc64nvme', 'sha1', 'sha256'];

/**
 * Streams a request's body into `write` and holds it to everything the request says of it: Content-Length,
 * x-amz-content-sha256, Content-MD5, and a CRC32 in a header or in the trailer of an aws-chunked body.
 * In a Complete the checksum header is the object's, not the document's.
 * What was written is to be thrown away if this throws.
 *
 * @throws S3Error BadDigest, IncompleteBody, InvalidDigest, InvalidRequest, MissingContentLength, NotImplemented,
 *   XAmzContentSHA256Mismatch
 */
export async function receive(
  request: IncomingMessage,
  write: Write,
  headerCrc: 'of this body' | 'of the object' = 'of this body',
): Promise<Received> {
  const expected = expectations(request, headerCrc);
  const received: Received = { bytes: 0, crc32: 0 };
  const hashes = [expected.sha256 && createHash('sha256'), expected.md5 && createHash('md5')] as const;
  const trailers = new Map<string, string>();
  const chunks = expected.awsChunked ? decodeAwsChunked(request, trailers) : request;
  try {
    for await (const chunk of chunks as AsyncIterable<Buffer>) {
      received.bytes += chunk.length;
      received.crc32 = crc32(chunk, received.crc32);
      for (const hash of hashes) if (hash) hash.update(chunk);
      const wait = write(chunk);
      if (wait !== undefined) await wait;
    }
  } catch (error) {
    if (error instanceof S3Error) throw error;
    throw new S3Error('IncompleteBody', 'The connection broke before the whole body had come');
  }
  if (received.bytes !== expected.bytes) throw new S3Error('IncompleteBody');
  verify(expected, received, hashes, expected.crc32 ?? trailers.get('x-amz-checksum-crc32'));
  return received;
}

/**
 * Counts a request's bytes and forgets them, its claims unchecked: what a client costs is measured best against a server
 * that costs little. The checksum is the one that the client states.
 */
export async function swallow(request: IncomingMessage): Promise<Received> {
  const { bytes, crc32: stated } = expectations(request, 'of this body');
  let received = 0;
  request.on('data', (chunk: Buffer) => {
    received += chunk.length;
  });
  await finished(request);
  if (received < bytes) throw new S3Error('IncompleteBody');
  return { bytes, crc32: stated === undefined ? 0 : Buffer.from(stated, 'base64').readUInt32BE() };
}

/** The document that Complete sends, as text; the same checks. */
export async function receiveDocument(request: IncomingMessage, limit: number): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  await receive(
    request,
    (chunk) => {
      bytes += chunk.length;
      if (bytes > limit) throw new S3Error('MalformedXML', 'The document is too large');
      chunks.push(chunk);
      return undefined;
    },
    'of the object',
  );
  return Buffer.concat(chunks).toString('utf8');
}

type Expected = { bytes: number; awsChunked: boolean; sha256?: string; md5?: string; crc32?: string };

function expectations({ headers }: IncomingMessage, headerCrc: string): Expected {
  const text = (name: string) => [headers[name]].flat()[0];
  const payload = text('x-amz-content-sha256') ?? '';
  const awsChunked = payload.startsWith('STREAMING-');
  if (awsChunked && payload !== 'STREAMING-UNSIGNED-PAYLOAD-TRAILER') {
    throw new S3Error('NotImplemented', `${payload} is not supported`);
  }
  if (
    OTHER_CHECKSUMS.some((name) => text(`x-amz-checksum-${name}`) ?? text('x-amz-trailer')?.endsWith(name))
  ) {
    throw new S3Error('NotImplemented', 'CRC32 is the only checksum that is supported');
  }
  const length = text(awsChunked ? 'x-amz-decoded-content-length' : 'content-length');
  if (length === undefined) throw new S3Error('MissingContentLength');
  const md5 = text('content-md5');
  const crc = headerCrc === 'of this body' ? text('x-amz-checksum-crc32') : undefined;
  return {
    bytes: Number(length),
    awsChunked,
    ...(/^[0-9a-f]{64}$/.test(payload) ? { sha256: payload } : {}),
    ...(md5 === undefined ? {} : { md5: digest(md5, 16) }),
    ...(crc === undefined ? {} : { crc32: digest(crc, 4) }),
  };
}

function digest(base64: string, bytes: number): string {
  if (Buffer.from(base64, 'base64').length !== bytes) throw new S3Error('InvalidDigest');
  return base64;
}

type Hashes = readonly [Hash | '' | undefined, Hash | '' | undefined];

function verify(
  expected: Expected,
  received: Received,
  [sha256, md5]: Hashes,
  crc: string | undefined,
): void {
  if (sha256 && sha256.digest('hex') !== expected.sha256) throw new S3Error('XAmzContentSHA256Mismatch');
  if (md5 && md5.digest('base64') !== expected.md5) {
    throw new S3Error('BadDigest', 'The Content-MD5 you specified did not match what was received');
  }
  if (crc !== undefined && crc !== base64Crc(received.crc32)) {
    throw new S3Error('BadDigest', 'The CRC32 you specified did not match what was received');
  }
}

/** A CRC32 as S3 writes it: four bytes, big endian, base64. */
export function base64Crc(crc: number): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(crc);
  return bytes.toString('base64');
}

import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { finished } from 'node:stream/promises';
import { crc32 } from 'node:zlib';
import { S3Error } from './answers.ts';
import { decodeAwsChunked } from './aws-chunked.ts';

export type Received = { bytes: number; crc32: number };

/** Receives bytes in order. */
type Write = (chunk: Buffer) => void;

const OTHER_CHECKSUMS = ['crc32c', 'crc64nvme', 'sha1', 'sha256'];

/**
 * Streams a request's body into `write` and checks it against Content-Length, x-amz-content-sha256, Content-MD5 and the
 * CRC32, which is in a header or in the trailer of an aws-chunked body. If it throws, discard what was written.
 *
 * @param headerCrc in a Complete request, the CRC32 header is that of the object
 * @throws S3Error BadDigest, IncompleteBody, InvalidDigest, MissingContentLength, NotImplemented,
 *   XAmzContentSHA256Mismatch
 */
export async function receiveBody(
  request: IncomingMessage,
  write: Write,
  headerCrc: 'of the body' | 'of the object' = 'of the body',
): Promise<Received> {
  const claims = readClaims(request);
  const received: Received = { bytes: 0, crc32: 0 };
  const sha256 = claims.sha256 === undefined ? undefined : createHash('sha256');
  const md5 = claims.md5 === undefined ? undefined : createHash('md5');
  const trailers = new Map<string, string>();
  const chunks = claims.awsChunked ? decodeAwsChunked(request, trailers) : request;
  try {
    for await (const chunk of chunks as AsyncIterable<Buffer>) {
      received.bytes += chunk.length;
      received.crc32 = crc32(chunk, received.crc32);
      sha256?.update(chunk);
      md5?.update(chunk);
      write(chunk);
    }
  } catch (error) {
    if (error instanceof S3Error) throw error;
    throw new S3Error('IncompleteBody', 'The connection broke before the end of the body');
  }
  if (received.bytes !== claims.bytes) throw new S3Error('IncompleteBody');
  if (sha256?.digest('hex') !== claims.sha256) throw new S3Error('XAmzContentSHA256Mismatch');
  if (md5?.digest('base64') !== claims.md5) throw mismatch('Content-MD5');
  const claimedCrc = headerCrc === 'of the body' ? claims.crc32 : undefined;
  const crc = claimedCrc ?? trailers.get('x-amz-checksum-crc32');
  if (crc !== undefined && crc !== base64Crc(received.crc32)) throw mismatch('CRC32');
  return received;
}

/**
 * Counts the bytes of a body and discards them without checking them. Returns the CRC32 that the client claims. For
 * measuring a client against a server that uses little CPU.
 */
export async function discardBody(request: IncomingMessage): Promise<Received> {
  const claims = readClaims(request);
  let bytes = 0;
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
  });
  await finished(request);
  if (bytes < claims.bytes) throw new S3Error('IncompleteBody');
  const crc = claims.crc32 === undefined ? 0 : Buffer.from(claims.crc32, 'base64').readUInt32BE();
  return { bytes: claims.bytes, crc32: crc };
}

/** Receives the XML document of a Complete request. @throws S3Error as {@link receiveBody}, and MalformedXML */
export async function receiveDocument(request: IncomingMessage, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const write = (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new S3Error('MalformedXML', 'The document is too large');
    chunks.push(chunk);
  };
  await receiveBody(request, write, 'of the object');
  return Buffer.concat(chunks).toString('utf8');
}

/** What the headers say about the body. Checksums are base64, except for sha256. */
type Claims = {
  bytes: number;
  awsChunked: boolean;
  sha256: string | undefined;
  md5: string | undefined;
  crc32: string | undefined;
};

function readClaims({ headers }: IncomingMessage): Claims {
  const header = (name: string) => [headers[name]].flat()[0];
  const payload = header('x-amz-content-sha256') ?? '';
  const awsChunked = payload.startsWith('STREAMING-');
  if (awsChunked && payload !== 'STREAMING-UNSIGNED-PAYLOAD-TRAILER') {
    throw new S3Error('NotImplemented', `${payload} is not supported`);
  }
  const trailer = header('x-amz-trailer');
  if (OTHER_CHECKSUMS.some((name) => header(`x-amz-checksum-${name}`) ?? trailer?.endsWith(name))) {
    throw new S3Error('NotImplemented', 'Only the checksum CRC32 is supported');
  }
  const length = header(awsChunked ? 'x-amz-decoded-content-length' : 'content-length');
  if (length === undefined) throw new S3Error('MissingContentLength');
  return {
    bytes: Number(length),
    awsChunked,
    sha256: /^[0-9a-f]{64}$/.test(payload) ? payload : undefined,
    md5: checkedDigest(header('content-md5'), 16),
    crc32: checkedDigest(header('x-amz-checksum-crc32'), 4),
  };
}

function checkedDigest(base64: string | undefined, bytes: number): string | undefined {
  if (base64 !== undefined && Buffer.from(base64, 'base64').length !== bytes) {
    throw new S3Error('InvalidDigest');
  }
  return base64;
}

function mismatch(checksum: string): S3Error {
  return new S3Error('BadDigest', `The ${checksum} you specified did not match what was received`);
}

/** A CRC32 in S3's form: four bytes, big endian, base64. */
export function base64Crc(crc: number): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(crc);
  return bytes.toString('base64');
}

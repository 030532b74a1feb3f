import { closeSync, openSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { crc32 } from 'node:zlib';
import { asS3Error, S3Error } from './answers.ts';
import type { Call } from './call.ts';

export type Received = { bytes: number; crc32: number };

/**
 * Writes a request's body to a new file, then calls `use`. Removes the file if either fails. Writes synchronously: the system only
 * copies the chunk to memory, which takes less CPU than handing it to another thread, and the chunk can be collected at once.
 *
 * @throws S3Error as {@link receiveBody}
 */
export async function receiveFile<Result>(
  call: Pick<Call, 'request' | 'write'>,
  path: string,
  use: (received: Received) => Result,
): Promise<Result> {
  try {
    return use(await writeBody(call, path));
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  }
}

async function writeBody(
  { request, write }: Pick<Call, 'request' | 'write'>,
  path: string,
): Promise<Received> {
  const file = openSync(path, 'wx');
  try {
    return await receiveBody(request, (chunk) => {
      for (let at = 0; at < chunk.length; ) at += write(file, chunk, at);
    });
  } finally {
    closeSync(file);
  }
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

/**
 * Streams a request's body into `write` and checks it against Content-Length and the CRC32, which is in a header or in the trailer
 * of an aws-chunked body. If it throws, discard what was written.
 *
 * @param headerCrc in a Complete request, the CRC32 header is that of the object
 * @throws S3Error BadDigest, IncompleteBody, MissingContentLength, NotImplemented
 */
async function receiveBody(
  request: IncomingMessage,
  write: (chunk: Buffer) => void,
  headerCrc: 'of the body' | 'of the object' = 'of the body',
): Promise<Received> {
  const claims = readClaims(request);
  const received: Received = { bytes: 0, crc32: 0 };
  const trailers = new Map<string, string>();
  // The client of a body that is refused reads the answer, if the connection stays open.
  const body = request.iterator({ destroyOnReturn: false });
  const chunks = claims.isChunked ? decodeAwsChunked(body, trailers) : body;
  try {
    for await (const chunk of chunks as AsyncIterable<Buffer>) {
      received.bytes += chunk.length;
      received.crc32 = crc32(chunk, received.crc32);
      write(chunk);
    }
  } catch (error) {
    const refused = asS3Error(error);
    if (refused.code !== 'InternalError') throw refused;
    throw new S3Error('IncompleteBody', 'The connection broke before the end of the body');
  }
  if (received.bytes !== claims.bytes) throw new S3Error('IncompleteBody');
  const claimedCrc = headerCrc === 'of the body' ? claims.crc32 : undefined;
  const crc = claimedCrc ?? trailers.get('x-amz-checksum-crc32');
  if (crc !== undefined && crc !== base64Crc(received.crc32))
    throw new S3Error('BadDigest', 'The CRC32 you specified did not match what was received');
  return received;
}

const OTHER_CHECKSUMS = ['crc32c', 'crc64nvme', 'sha1', 'sha256'];

/** Reads the headers that describe the body. */
function readClaims({ headers }: IncomingMessage) {
  const header = (name: string) => [headers[name]].flat()[0];
  const payload = header('x-amz-content-sha256') ?? '';
  const isChunked = payload.startsWith('STREAMING-');
  if (isChunked && payload !== 'STREAMING-UNSIGNED-PAYLOAD-TRAILER')
    throw new S3Error('NotImplemented', `${payload} is not supported`);
  const trailer = header('x-amz-trailer');
  if (OTHER_CHECKSUMS.some((name) => header(`x-amz-checksum-${name}`) ?? trailer?.endsWith(name)))
    throw new S3Error('NotImplemented', 'Only the checksum CRC32 is supported');
  const length = header(isChunked ? 'x-amz-decoded-content-length' : 'content-length');
  if (length === undefined) throw new S3Error('MissingContentLength');
  return { bytes: Number(length), isChunked, crc32: header('x-amz-checksum-crc32') };
}

const LINE_MAX = 1024;

/**
 * Decodes an `aws-chunked` body: `SIZE[;extension]\r\n DATA \r\n … 0\r\n trailer: value\r\n \r\n`. Adds its trailers
 * to `trailers`. The SDK sends streams in this format, because it knows their checksum only at the end.
 *
 * @throws S3Error IncompleteBody if the framing is broken
 */
async function* decodeAwsChunked(
  source: AsyncIterable<Buffer>,
  trailers: Map<string, string>,
): AsyncGenerator<Buffer> {
  const pieces = source[Symbol.asyncIterator]();
  let rest: Buffer = Buffer.alloc(0);
  const readMore = async () => {
    const { done, value } = await pieces.next();
    if (done) throw broken();
    rest = rest.length === 0 ? value : Buffer.concat([rest, value]);
  };
  const readLine = async () => {
    let end = rest.indexOf('\r\n');
    for (; end < 0; end = rest.indexOf('\r\n')) {
      if (rest.length > LINE_MAX) throw broken();
      await readMore();
    }
    const line = rest.toString('latin1', 0, end);
    rest = rest.subarray(end + 2);
    return line;
  };
  for (let missing = sizeIn(await readLine()); missing > 0; missing = sizeIn(await readLine())) {
    while (missing > 0) {
      if (rest.length === 0) await readMore();
      const data = rest.subarray(0, missing);
      rest = rest.subarray(data.length);
      missing -= data.length;
      yield data;
    }
    if ((await readLine()) !== '') throw broken();
  }
  for (let line = await readLine(); line !== ''; line = await readLine()) {
    const [name = '', ...value] = line.split(':');
    trailers.set(name.trim().toLowerCase(), value.join(':').trim());
  }
}

function sizeIn(line: string): number {
  const [, digits] = /^([0-9a-fA-F]{1,8})(;.*)?$/.exec(line) ?? [];
  if (digits === undefined) throw broken();
  return Number.parseInt(digits, 16);
}

function broken(): S3Error {
  return new S3Error('IncompleteBody', 'The aws-chunked framing is broken');
}

/** A CRC32 in S3's form: four bytes, big endian, base64. */
export function base64Crc(crc: number): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(crc);
  return bytes.toString('base64');
}

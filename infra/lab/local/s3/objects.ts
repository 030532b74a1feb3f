import { closeSync, openSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import { type S3Answer, S3Error, xml } from './answers.ts';
import type { S3Call } from './call.ts';
import {
  base64Crc,
  listKeys,
  type ObjectMeta,
  objectPath,
  publish,
  readMeta,
  remove,
  temporaryPath,
} from './store.ts';

export { base64Crc };

export async function putObject(call: S3Call): Promise<S3Answer> {
  objectPath(call);
  const temporary = temporaryPath(call);
  return receiveFile(call, temporary, (bytes, crc) => {
    checkConditions(call);
    const meta = publish(call, temporary, { ...describedBy(call), bytes, crc32: base64Crc(crc) });
    return { headers: { ETag: meta.etag, ...checksumHeaders(meta), ...versionHeader(meta) } };
  });
}

/** GetObject and HeadObject, whose body is not sent. */
export async function readObject(call: S3Call): Promise<S3Answer> {
  const { header } = call;
  const meta = readMeta(call);
  // The functions only ask for the end of an object. Any other range serves the whole object.
  const [, tail] = /^bytes=-(\d+)$/.exec(header('range') ?? '') ?? [];
  const start = Math.max(0, meta.bytes - Number(tail ?? Infinity));
  const end = meta.bytes - 1;
  const isPartial = tail !== undefined && meta.bytes > 0;
  const withChecksum = header('x-amz-checksum-mode') === 'ENABLED' && !isPartial && meta.crc32 !== '';
  return {
    status: isPartial ? 206 : 200,
    headers: {
      ETag: meta.etag,
      'Content-Type': meta.contentType,
      'Content-Length': String(end - start + 1),
      'Last-Modified': new Date(meta.lastModified).toUTCString(),
      ...versionHeader(meta),
      ...(isPartial && { 'Content-Range': `bytes ${start}-${end}/${meta.bytes}` }),
      ...(meta.contentEncoding !== undefined && { 'Content-Encoding': meta.contentEncoding }),
      ...(withChecksum && checksumHeaders(meta)),
    },
    ...(meta.bytes > 0 && { body: { path: objectPath(call), start, end } }),
  };
}

export async function deleteObject(call: S3Call): Promise<S3Answer> {
  remove(call);
  return { status: 204 };
}

/** Lists all keys at once, where S3 makes pages of 1,000. */
export async function listObjects({ directory, bucket, query }: S3Call): Promise<S3Answer> {
  const [prefix, after] = [query.get('prefix') ?? '', query.get('start-after') ?? ''];
  const keys = await listKeys(directory, bucket, prefix, after);
  const Contents = keys.map((Key) => {
    const { lastModified, etag, bytes } = readMeta({ directory, bucket, key: Key });
    return { Key, LastModified: lastModified, ETag: etag, Size: bytes };
  });
  return { body: xml('ListBucketResult', { IsTruncated: false, Contents }) };
}

/**
 * Checks `If-None-Match: *` and `If-Match`. As on S3, after the body, just before the object is visible.
 *
 * @throws S3Error PreconditionFailed, or NoSuchKey if there is no object to match
 */
export function checkConditions(call: S3Call): void {
  const etag = call.header('if-match');
  const isRefused =
    call.header('if-none-match') === undefined
      ? etag !== undefined && readMeta(call).etag !== etag
      : statSync(objectPath(call), { throwIfNoEntry: false })?.isFile();
  if (isRefused)
    throw new S3Error('PreconditionFailed', 'At least one of the pre-conditions you specified did not hold');
}

/** Reads the headers that describe an object. Ignores user metadata (`x-amz-meta-…`). */
export function describedBy({ header }: S3Call): Pick<ObjectMeta, 'contentType' | 'contentEncoding'> {
  const contentEncoding = header('content-encoding');
  return {
    contentType: header('content-type') ?? 'binary/octet-stream',
    ...(contentEncoding && { contentEncoding }),
  };
}

export function versionHeader({ versionId }: ObjectMeta): Record<string, string> {
  return versionId === undefined ? {} : { 'x-amz-version-id': versionId };
}

function checksumHeaders({ crc32 }: ObjectMeta): Record<string, string> {
  return { 'x-amz-checksum-crc32': crc32, 'x-amz-checksum-type': 'FULL_OBJECT' };
}

/**
 * Writes a request's body to a new file, checks it against the CRC32 header, then calls `use`. Removes the
 * file if any of them fails. Writes synchronously: the system only copies the bytes to its memory, which
 * takes a third of the CPU of handing them to another thread.
 *
 * @throws S3Error BadDigest, MissingContentLength, NotImplemented
 */
export async function receiveFile<Result>(
  { request, header }: S3Call,
  path: string,
  use: (bytes: number, crc: number) => Result,
): Promise<Result> {
  if (header('content-length') === undefined) throw new S3Error('MissingContentLength');
  // The functions know a body's checksum before they send it, so nobody needs trailers.
  if (header('x-amz-content-sha256')?.startsWith('STREAMING-'))
    throw new S3Error('NotImplemented', 'A checksum is supported in a header only');
  const file = openSync(path, 'wx');
  let [bytes, crc] = [0, 0];
  try {
    // The client of a body that is refused reads the answer, if the connection stays open.
    for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      crc = crc32(chunk, crc);
      writeFileSync(file, chunk);
    }
    checkCrc(header, crc);
    return use(bytes, crc);
  } catch (error) {
    rmSync(path, { force: true });
    throw error;
  } finally {
    closeSync(file);
  }
}

/** Compares it with the CRC32 that the client says, if any. @throws S3Error BadDigest */
export function checkCrc(header: S3Call['header'], crc: number): void {
  const claimed = header('x-amz-checksum-crc32');
  if (claimed !== undefined && claimed !== base64Crc(crc))
    throw new S3Error('BadDigest', 'The CRC32 you specified did not match the calculated checksum.');
}

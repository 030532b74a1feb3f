import { createHash } from 'node:crypto';
import { type Answer, S3Error, xml } from './answers.ts';
import { base64Crc, receiveFile } from './body.ts';
import type { Call } from './call.ts';
import {
  exists,
  listKeys,
  type ObjectMeta,
  objectPath,
  publish,
  readMeta,
  remove,
  temporaryPath,
  versionHeader,
} from './store.ts';

export async function putObject(call: Call): Promise<Answer> {
  objectPath(call);
  const temporary = temporaryPath(call);
  return receiveFile(call, temporary, ({ bytes, crc32 }) => {
    checkConditions(call);
    const meta: ObjectMeta = {
      ...describedBy(call),
      bytes,
      etag: etagOf(`${bytes}-${crc32}`),
      crc32: base64Crc(crc32),
      lastModified: new Date(call.now()).toISOString(),
    };
    const version = publish(call, temporary, meta);
    return { headers: { ETag: meta.etag, ...checksumHeaders(meta.crc32), ...version } };
  });
}

/** GetObject and HeadObject, whose body is not sent. */
export async function readObject(call: Call): Promise<Answer> {
  const { header } = call;
  const meta = readMeta(call);
  const tail = tailLength(header('range'));
  const start = Math.max(0, meta.bytes - tail);
  const end = meta.bytes - 1;
  const partial = Number.isFinite(tail) && meta.bytes > 0;
  return {
    status: partial ? 206 : 200,
    headers: {
      ...metaHeaders(meta, header),
      'Content-Length': String(end - start + 1),
      ...(partial ? { 'Content-Range': `bytes ${start}-${end}/${meta.bytes}` } : {}),
    },
    ...(meta.bytes > 0 && { body: { path: objectPath(call), start, end } }),
  };
}

export async function deleteObject(call: Call): Promise<Answer> {
  remove(call);
  return { status: 204 };
}

/** Lists all keys at once, where S3 makes pages of 1,000. */
export async function listObjects({ directory, bucket, query }: Call): Promise<Answer> {
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
export function checkConditions(call: Call): void {
  const absent = call.header('if-none-match');
  const etag = call.header('if-match');
  const isRefused = absent === undefined ? etag !== undefined && readMeta(call).etag !== etag : exists(call);
  if (isRefused)
    throw new S3Error('PreconditionFailed', 'At least one of the pre-conditions you specified did not hold');
}

/** Reads the headers that describe an object. Ignores user metadata (`x-amz-meta-…`). */
export function describedBy({ header }: Call): Pick<ObjectMeta, 'contentType' | 'contentEncoding'> {
  const contentEncoding = header('content-encoding');
  return {
    contentType: header('content-type') ?? 'binary/octet-stream',
    ...(contentEncoding && { contentEncoding }),
  };
}

/** A strong ETag that is not the MD5 of the bytes, as with SSE-KMS, so that no client relies on the MD5. */
export function etagOf(seed: string, suffix = ''): string {
  return `"${createHash('sha256').update(seed).digest('hex').slice(0, 32)}${suffix}"`;
}

function checksumHeaders(crc32: string): Record<string, string> {
  return { 'x-amz-checksum-crc32': crc32, 'x-amz-checksum-type': 'FULL_OBJECT' };
}

function metaHeaders(meta: ObjectMeta, header: Call['header']): Record<string, string> {
  const withChecksum = header('x-amz-checksum-mode') === 'ENABLED' && header('range') === undefined;
  return {
    ETag: meta.etag,
    'Content-Type': meta.contentType,
    'Last-Modified': new Date(meta.lastModified).toUTCString(),
    'Accept-Ranges': 'bytes',
    ...versionHeader(meta),
    ...(meta.contentEncoding === undefined ? {} : { 'Content-Encoding': meta.contentEncoding }),
    ...(withChecksum && meta.crc32 !== '' ? checksumHeaders(meta.crc32) : {}),
  };
}

/** The functions only ask for the end of an object (`bytes=-N`). Any other range serves the whole object. */
function tailLength(header: string | undefined): number {
  const [, length] = /^bytes=-(\d+)$/.exec(header ?? '') ?? [];
  return Number(length ?? Infinity);
}

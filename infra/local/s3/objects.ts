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
    return { status: 200, headers: { ETag: meta.etag, ...checksumHeaders(meta.crc32), ...version } };
  });
}

export async function getObject(call: Call): Promise<Answer> {
  const { header } = call;
  const version = call.query.get('versionId') ?? undefined;
  const meta = readMeta(call, version);
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
    ...(meta.bytes > 0 && { body: { path: objectPath(call, version), start, end } }),
  };
}

export async function headObject(call: Call): Promise<Answer> {
  const meta = readMeta(call);
  const length = { 'Content-Length': String(meta.bytes) };
  return { status: 200, headers: { ...metaHeaders(meta, call.header), ...length } };
}

export async function deleteObject(call: Call): Promise<Answer> {
  remove(call);
  return { status: 204 };
}

export async function listObjects({ directory, bucket, query }: Call): Promise<Answer> {
  const prefix = query.get('prefix') ?? '';
  const limit = Math.min(Number(query.get('max-keys') ?? 1000), 1000);
  const after = query.get('continuation-token') ?? query.get('start-after') ?? '';
  const keys = await listKeys(directory, bucket, prefix, after);
  const page = keys.slice(0, limit);
  const more = keys.length > page.length;
  const listing = {
    IsTruncated: more,
    NextContinuationToken: more ? page.at(-1) : undefined,
    Contents: page.map((Key) => {
      const { lastModified, etag, bytes } = readMeta({ directory, bucket, key: Key });
      return { Key, LastModified: lastModified, ETag: etag, Size: bytes };
    }),
  };
  return { status: 200, body: xml('ListBucketResult', listing) };
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

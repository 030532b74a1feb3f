import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { type Answer, S3Error, xml } from './answers.ts';
import { base64Crc, receive, swallow } from './body.ts';
import type { Call } from './call.ts';
import { fileWriter, writeHole } from './file-writer.ts';
import { listKeys, type ObjectMeta, objectPath, publish, readMeta, remove, temporaryPath } from './store.ts';

export async function putObject(call: Call): Promise<Answer> {
  const { directory, bucket, key, request, header } = call;
  objectPath(directory, bucket, key);
  const temporary = await temporaryPath(directory, bucket);
  const writer = fileWriter(temporary);
  try {
    const { bytes, crc32 } = await (call.sink ? swallow(request) : receive(request, writer.write));
    await writer.close();
    if (call.sink) await writeHole(temporary, bytes);
    await requireAbsent(call);
    const meta: ObjectMeta = {
      bytes,
      etag: etagOf(`${bytes}-${crc32}`),
      crc32: base64Crc(crc32),
      contentType: header('content-type') ?? 'binary/octet-stream',
      ...encoding(header('content-encoding')),
      lastModified: new Date().toISOString(),
    };
    await publish(directory, bucket, key, temporary, meta);
    return { status: 200, headers: { ETag: meta.etag, ...checksumHeaders(meta.crc32) } };
  } catch (error) {
    // Where the disk is full it fails as well, and what takes the room has to go all the same.
    await writer.close().catch(() => {});
    await rm(temporary, { force: true });
    throw error;
  }
}

export async function getObject({ directory, bucket, key, header }: Call): Promise<Answer> {
  const meta = await readMeta(directory, bucket, key);
  const wanted = header('if-match');
  if (wanted !== undefined && wanted !== meta.etag) throw new S3Error('PreconditionFailed');
  const [start, end] = range(header('range'), meta.bytes);
  const part = start > 0 || end < meta.bytes - 1;
  const headers = { ...metaHeaders(meta, header), 'Content-Length': String(end - start + 1) };
  return {
    status: part ? 206 : 200,
    headers: part ? { ...headers, 'Content-Range': `bytes ${start}-${end}/${meta.bytes}` } : headers,
    body: { path: objectPath(directory, bucket, key), start, end },
  };
}

export async function headObject({ directory, bucket, key, header }: Call): Promise<Answer> {
  const meta = await readMeta(directory, bucket, key);
  return { status: 200, headers: { ...metaHeaders(meta, header), 'Content-Length': String(meta.bytes) } };
}

export async function deleteObject({ directory, bucket, key }: Call): Promise<Answer> {
  await remove(directory, bucket, key);
  return { status: 204 };
}

export async function listObjects({ directory, bucket, query }: Call): Promise<Answer> {
  const prefix = query.get('prefix') ?? '';
  const limit = Math.min(Number(query.get('max-keys') ?? 1000), 1000);
  const after = query.get('continuation-token') ?? query.get('start-after') ?? '';
  const keys = (await listKeys(directory, bucket, prefix)).filter((key) => key > after);
  const page = keys.slice(0, limit);
  const contents = page.map(async (Key) => {
    const meta = await readMeta(directory, bucket, Key);
    return {
      Key,
      LastModified: meta.lastModified,
      ETag: meta.etag,
      Size: meta.bytes,
      StorageClass: 'STANDARD',
    };
  });
  const more = keys.length > page.length;
  const listing = {
    Name: bucket,
    Prefix: prefix,
    KeyCount: page.length,
    MaxKeys: limit,
    IsTruncated: more,
    NextContinuationToken: more ? page.at(-1) : undefined,
    Contents: await Promise.all(contents),
  };
  return { status: 200, body: xml('ListBucketResult', listing) };
}

/** `If-None-Match: *`, asked after the body has come, as S3 does: the last moment before the object is visible. */
export async function requireAbsent({ directory, bucket, key, header }: Call): Promise<void> {
  const condition = header('if-none-match');
  if (condition === undefined) return;
  if (condition !== '*') throw new S3Error('NotImplemented', 'If-None-Match supports * only');
  const exists = await readMeta(directory, bucket, key).then(
    () => true,
    () => false,
  );
  if (exists)
    throw new S3Error('PreconditionFailed', 'At least one of the pre-conditions you specified did not hold');
}

/** An opaque strong validator: as with SSE-KMS, it is not the MD5 of the bytes, and nobody may take it for that. */
export function etagOf(seed: string): string {
  return `"${createHash('sha256').update(seed).digest('hex').slice(0, 32)}"`;
}

export function checksumHeaders(crc32: string): Record<string, string> {
  return { 'x-amz-checksum-crc32': crc32, 'x-amz-checksum-type': 'FULL_OBJECT' };
}

/** `aws-chunked` says how the body came, not what it is. */
export function encoding(header: string | undefined): { contentEncoding?: string } {
  const names = (header ?? '').split(',').map((name) => name.trim());
  const kept = names.filter((name) => name !== '' && name !== 'aws-chunked').join(',');
  return kept === '' ? {} : { contentEncoding: kept };
}

function metaHeaders(meta: ObjectMeta, header: Call['header']): Record<string, string> {
  const checksum =
    header('x-amz-checksum-mode') === 'ENABLED' && header('range') === undefined && meta.crc32 !== '';
  return {
    ETag: meta.etag,
    'Content-Type': meta.contentType,
    'Last-Modified': new Date(meta.lastModified).toUTCString(),
    'Accept-Ranges': 'bytes',
    ...(meta.contentEncoding === undefined ? {} : { 'Content-Encoding': meta.contentEncoding }),
    ...(checksum ? checksumHeaders(meta.crc32) : {}),
  };
}

/** First and last byte; the whole object where no range, or one that S3 ignores, is asked for. */
function range(header: string | undefined, bytes: number): [number, number] {
  const [, first = '', last = ''] = /^bytes=(\d*)-(\d*)$/.exec(header ?? '') ?? [];
  if (first === '' && last === '') return [0, bytes - 1];
  if (first === '') return [Math.max(0, bytes - Number(last)), bytes - 1];
  const start = Number(first);
  if (start >= bytes) throw new S3Error('InvalidRange');
  return [start, last === '' ? bytes - 1 : Math.min(Number(last), bytes - 1)];
}

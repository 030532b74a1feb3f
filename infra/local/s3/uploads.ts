import { randomUUID } from 'node:crypto';
import { mkdirSync, rmSync } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { type Answer, S3Error, textOf, xml } from './answers.ts';
import { base64Crc, receiveDocument, receiveFile } from './body.ts';
import type { Call, Part, Upload } from './call.ts';
import { checkConditions, describedBy, etagOf } from './objects.ts';
import { type ObjectMeta, objectPath, publish, temporaryPath } from './store.ts';

const PARTS_MAX = 10_000;
const COMPLETE_BYTES_MAX = 8 * 1024 * 1024; // 10,000 parts take about 200 bytes of XML each, 2 MB together
const LIST_MAX = 1000;

export async function createUpload(call: Call): Promise<Answer> {
  const { bucket, key, header, uploads } = call;
  objectPath(call);
  if (header('x-amz-checksum-algorithm') !== 'CRC32' || header('x-amz-checksum-type') !== 'FULL_OBJECT')
    throw new S3Error('NotImplemented', 'Only the checksum CRC32 of the whole object is supported');
  const folder = temporaryPath(call);
  mkdirSync(folder);
  const upload: Upload = {
    id: randomUUID(),
    bucket,
    key,
    folder,
    described: describedBy(call),
    initiated: new Date(call.now()).toISOString(),
    parts: new Map(),
  };
  uploads.set(upload.id, upload);
  return {
    status: 200,
    headers: { 'x-amz-checksum-algorithm': 'CRC32', 'x-amz-checksum-type': 'FULL_OBJECT' },
    body: xml('InitiateMultipartUploadResult', { Bucket: bucket, Key: key, UploadId: upload.id }),
  };
}

export async function uploadPart(call: Call): Promise<Answer> {
  const upload = findUpload(call);
  const number = Number(call.query.get('partNumber'));
  if (!Number.isInteger(number) || number < 1 || number > PARTS_MAX) throw new S3Error('InvalidArgument');
  checkRoom(call, upload);
  const path = join(upload.folder, randomUUID());
  return receiveFile(call, path, ({ bytes, crc32 }) => {
    findUpload(call); // The upload may have been aborted in the meantime.
    const previous = upload.parts.get(number);
    const etag = etagOf(`${upload.id}-${number}-${bytes}-${crc32}`);
    upload.parts.set(number, { number, bytes, crc32, etag, path });
    if (previous !== undefined) rmSync(previous.path, { force: true });
    return { status: 200, headers: { ETag: etag, 'x-amz-checksum-crc32': base64Crc(crc32) } };
  });
}

/** Each byte of a part needs three more: in the object, and in CurateReport its copy and the rows that do not fit into memory. */
const BYTES_PER_BYTE = 3;

/** Refuses the rest of an endless file before it has filled the disk. */
function checkRoom({ directory, freeBytes }: Call, { parts }: Upload): void {
  const stored = [...parts.values()].reduce((sum, { bytes }) => sum + bytes, 0);
  if (freeBytes(directory) < BYTES_PER_BYTE * stored)
    throw new S3Error('ENOSPC', 'The file needs more than the free space of the disk');
}

export async function listParts(call: Call): Promise<Answer> {
  const upload = findUpload(call);
  const limit = Math.min(Number(call.query.get('max-parts') ?? LIST_MAX), LIST_MAX);
  const after = Number(call.query.get('part-number-marker') ?? 0);
  const parts = [...upload.parts.values()]
    .filter((part) => part.number > after)
    .sort((a, b) => a.number - b.number);
  const page = parts.slice(0, limit);
  const more = parts.length > page.length;
  const listing = {
    Bucket: upload.bucket,
    Key: upload.key,
    UploadId: upload.id,
    PartNumberMarker: after,
    // S3 names one on its last page too, and 0 on a page without parts.
    NextPartNumberMarker: page.at(-1)?.number ?? 0,
    MaxParts: limit,
    IsTruncated: more,
    ChecksumAlgorithm: 'CRC32',
    ChecksumType: 'FULL_OBJECT',
    Part: page.map(({ number, etag, bytes, crc32 }) => ({
      PartNumber: number,
      LastModified: upload.initiated,
      ETag: etag,
      Size: bytes,
      ChecksumCRC32: base64Crc(crc32),
    })),
  };
  return { status: 200, body: xml('ListPartsResult', listing) };
}

/** While one Complete is processed, another one finds no upload. If the first fails, the upload is there again. */
export async function completeUpload(call: Call): Promise<Answer> {
  findUpload(call);
  const document = await receiveDocument(call.request, COMPLETE_BYTES_MAX);
  const upload = findUpload(call);
  call.uploads.delete(upload.id);
  try {
    return await joinParts(call, upload, document);
  } catch (error) {
    call.uploads.set(upload.id, upload);
    throw error;
  }
}

export async function abortUpload(call: Call): Promise<Answer> {
  const upload = findUpload(call);
  call.uploads.delete(upload.id);
  await rm(upload.folder, { recursive: true, force: true });
  return { status: 204 };
}

function findUpload({ uploads, query, bucket, key }: Call): Upload {
  const upload = uploads.get(query.get('uploadId') ?? '');
  if (upload?.bucket !== bucket || upload.key !== key) throw new S3Error('NoSuchUpload');
  return upload;
}

async function joinParts(call: Call, upload: Upload, document: string): Promise<Answer> {
  const { bucket, key, header } = call;
  const parts = listedParts(upload, document, call.minPartBytes);
  const bytes = parts.reduce((sum, part) => sum + part.bytes, 0);
  const claimedBytes = header('x-amz-mp-object-size');
  if (claimedBytes !== undefined && Number(claimedBytes) !== bytes) throw new S3Error('InvalidRequest');
  const type = header('x-amz-checksum-type');
  if (type !== undefined && type !== 'FULL_OBJECT') throw new S3Error('InvalidRequest');
  const file = join(upload.folder, 'object');
  const crc32 = base64Crc(await concatenate(parts, file));
  const claimedCrc = header('x-amz-checksum-crc32');
  if (claimedCrc !== undefined && claimedCrc !== crc32)
    throw new S3Error('BadDigest', 'The CRC32 you specified did not match the calculated checksum.');
  checkConditions(call);
  const etag = etagOf(`${upload.id}-complete`, `-${parts.length}`);
  const lastModified = new Date(call.now()).toISOString();
  const meta: ObjectMeta = { ...upload.described, bytes, etag, crc32, lastModified };
  const headers = publish(call, file, meta);
  await rm(upload.folder, { recursive: true, force: true });
  const result = { Bucket: bucket, Key: key, ETag: etag, ChecksumCRC32: crc32, ChecksumType: 'FULL_OBJECT' };
  return { status: 200, headers, body: xml('CompleteMultipartUploadResult', result) };
}

/** The parts that the Complete document lists: ascending, as uploaded, and only the last may be too small. */
function listedParts(upload: Upload, document: string, minPartBytes: number): Part[] {
  const elements = [...document.matchAll(/<Part>([\s\S]*?)<\/Part>/g)].map(([, element = '']) => element);
  if (elements.length === 0) throw new S3Error('MalformedXML');
  const parts = elements.map((element) => listedPart(upload, element));
  if (parts.some((part, at) => part.number <= (parts[at - 1]?.number ?? 0))) {
    throw new S3Error('InvalidPartOrder');
  }
  if (parts.slice(0, -1).some((part) => part.bytes < minPartBytes)) throw new S3Error('EntityTooSmall');
  return parts;
}

function listedPart({ parts }: Upload, element: string): Part {
  const part = parts.get(Number(textOf(element, 'PartNumber')));
  const etag = `"${textOf(element, 'ETag')?.replaceAll('"', '')}"`;
  const crc = textOf(element, 'ChecksumCRC32');
  if (part?.etag === etag && (crc === undefined || crc === base64Crc(part.crc32))) return part;
  throw new S3Error('InvalidPart', 'One or more of the specified parts could not be found or did not match');
}

const COPY_BYTES = 1024 * 1024;

/** Writes the parts into one file. @returns the CRC32 of the bytes, not one computed from the parts' checksums */
async function concatenate(parts: readonly Part[], path: string): Promise<number> {
  await rm(path, { force: true });
  const buffer = Buffer.allocUnsafe(COPY_BYTES);
  let crc = 0;
  await using file = await open(path, 'wx');
  for (const part of parts) {
    await using source = await open(part.path);
    for (;;) {
      const { bytesRead } = await source.read(buffer);
      if (bytesRead === 0) break;
      const chunk = buffer.subarray(0, bytesRead);
      crc = crc32(chunk, crc);
      await file.writeFile(chunk);
    }
  }
  return crc;
}

import { randomUUID } from 'node:crypto';
import { appendFileSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setImmediate } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import { readXml, type S3Answer, S3Error, xml } from './answers.ts';
import type { S3Call, Upload, UploadedPart } from './call.ts';
import { base64Crc, checkConditions, checkCrc, describedBy, receiveFile, versionHeader } from './objects.ts';
import { objectPath, publish, temporaryPath } from './store.ts';

const PARTS_MAX = 10_000;

/** A part as the client of Complete names it. */
type CompletedPart = { PartNumber?: string; ETag?: string; ChecksumCRC32?: string };

export async function createUpload(call: S3Call): Promise<S3Answer> {
  const { bucket, key, header, uploads } = call;
  objectPath(call);
  if (header('x-amz-checksum-algorithm') !== 'CRC32' || header('x-amz-checksum-type') !== 'FULL_OBJECT')
    throw new S3Error('NotImplemented', 'Only the checksum CRC32 of the whole object is supported');
  const folder = temporaryPath(call);
  mkdirSync(folder);
  const id = randomUUID();
  uploads.set(id, { id, bucket, key, folder, described: describedBy(call), parts: new Map() });
  return { body: xml('InitiateMultipartUploadResult', { Bucket: bucket, Key: key, UploadId: id }) };
}

export async function uploadPart(call: S3Call): Promise<S3Answer> {
  const upload = findUpload(call);
  const number = Number(call.query.get('partNumber'));
  if (!Number.isInteger(number) || number < 1 || number > PARTS_MAX) throw new S3Error('InvalidArgument');
  const path = join(upload.folder, randomUUID());
  return receiveFile(call, path, (bytes, crc) => {
    findUpload(call); // The upload may have been aborted in the meantime.
    const previous = upload.parts.get(number);
    const part: UploadedPart = { number, bytes, crc32: base64Crc(crc), etag: `"${randomUUID()}"`, path };
    upload.parts.set(number, part);
    if (previous !== undefined) rmSync(previous.path, { force: true });
    return { headers: { ETag: part.etag, 'x-amz-checksum-crc32': part.crc32 } };
  });
}

/** Lists all parts at once, where S3 makes pages of 1,000. */
export async function listParts(call: S3Call): Promise<S3Answer> {
  const parts = [...findUpload(call).parts.values()].sort((a, b) => a.number - b.number);
  const Part = parts.map(({ number, etag, bytes, crc32 }) => ({
    PartNumber: number,
    ETag: etag,
    Size: bytes,
    ChecksumCRC32: crc32,
  }));
  return { body: xml('ListPartsResult', { IsTruncated: false, Part }) };
}

/** During a Complete, another one finds no upload. If the first fails, the upload is there again. */
export async function completeUpload(call: S3Call): Promise<S3Answer> {
  const { CompleteMultipartUpload: { Part = [] } = {} } = readXml(await text(call.request));
  const upload = findUpload(call);
  call.uploads.delete(upload.id);
  try {
    return await joinParts(call, upload, Part);
  } catch (error) {
    call.uploads.set(upload.id, upload);
    throw error;
  }
}

export async function abortUpload(call: S3Call): Promise<S3Answer> {
  const upload = findUpload(call);
  call.uploads.delete(upload.id);
  await rm(upload.folder, { recursive: true, force: true });
  return { status: 204 };
}

function findUpload({ uploads, query, bucket, key }: S3Call): Upload {
  const upload = uploads.get(query.get('uploadId') ?? '');
  if (upload?.bucket !== bucket || upload.key !== key) throw new S3Error('NoSuchUpload');
  return upload;
}

async function joinParts(call: S3Call, upload: Upload, listed: readonly CompletedPart[]): Promise<S3Answer> {
  const { bucket, key, header } = call;
  const parts = listedParts(upload, listed, call.minPartBytes);
  const bytes = parts.reduce((sum, part) => sum + part.bytes, 0);
  const claimedBytes = header('x-amz-mp-object-size');
  if (claimedBytes !== undefined && Number(claimedBytes) !== bytes) throw new S3Error('InvalidRequest');
  const file = join(upload.folder, 'object');
  const crc = await concatenate(parts, file);
  checkCrc(header, crc);
  checkConditions(call);
  const described = { ...upload.described, bytes, crc32: base64Crc(crc) };
  const meta = publish(call, file, described, `-${parts.length}`);
  await rm(upload.folder, { recursive: true, force: true });
  const { etag: ETag, crc32: ChecksumCRC32 } = meta;
  const result = { Bucket: bucket, Key: key, ETag, ChecksumCRC32, ChecksumType: 'FULL_OBJECT' };
  return { headers: versionHeader(meta), body: xml('CompleteMultipartUploadResult', result) };
}

/** The parts that the Complete document lists: ascending, as uploaded, and only the last may be too small. */
function listedParts(upload: Upload, listed: readonly CompletedPart[], minPartBytes: number): UploadedPart[] {
  if (listed.length === 0) throw new S3Error('MalformedXML');
  const parts = listed.map(({ PartNumber, ETag, ChecksumCRC32: crc }) => {
    const part = upload.parts.get(Number(PartNumber));
    if (part && part.etag === ETag && (crc === undefined || crc === part.crc32)) return part;
    throw new S3Error(
      'InvalidPart',
      'One or more of the specified parts could not be found or did not match',
    );
  });
  if (parts.some((part, at) => part.number <= (parts[at - 1]?.number ?? 0)))
    throw new S3Error('InvalidPartOrder');
  if (parts.slice(0, -1).some((part) => part.bytes < minPartBytes)) throw new S3Error('EntityTooSmall');
  return parts;
}

/**
 * Writes the parts into one file.
 *
 * @returns the CRC32 of the bytes, not one computed from the parts' checksums
 */
async function concatenate(parts: readonly UploadedPart[], path: string): Promise<number> {
  let crc = 0;
  rmSync(path, { force: true }); // A Complete that was refused has left one.
  for (const part of parts) {
    const bytes = readFileSync(part.path);
    crc = crc32(bytes, crc);
    appendFileSync(path, bytes);
    await setImmediate(); // Lets other calls through.
  }
  return crc;
}

import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { type Answer, S3Error, textOf, xml } from './answers.ts';
import { base64Crc, receive, receiveDocument, swallow } from './body.ts';
import type { Call } from './call.ts';
import { fileWriter, writeHole } from './file-writer.ts';
import { encoding, etagOf, requireAbsent } from './objects.ts';
import { objectPath, publish, temporaryPath } from './store.ts';

const PARTS_MAX = 10_000;
const COMPLETE_BYTES_MAX = 8 * 1024 * 1024; // 10,000 parts of some 200 bytes of XML, with room
const LIST_MAX = 1000;

type Part = { number: number; bytes: number; crc32: number; etag: string; path: string };

type Upload = {
  id: string;
  bucket: string;
  key: string;
  folder: string;
  contentType: string;
  contentEncoding?: string;
  checksumType: 'FULL_OBJECT' | 'COMPOSITE';
  initiated: string;
  parts: Map<number, Part>;
  /** Ends when the parts have been joined, or could not be. */
  joined?: Promise<unknown>;
};

export type Uploads = Map<string, Upload>;

export async function createUpload({ directory, bucket, key, header, uploads }: Call): Promise<Answer> {
  objectPath(directory, bucket, key);
  const algorithm = header('x-amz-checksum-algorithm') ?? 'CRC32';
  if (algorithm !== 'CRC32')
    throw new S3Error('NotImplemented', 'CRC32 is the only checksum that is supported');
  // Where no algorithm is named, S3 computes a checksum of the whole, and asks for none at a part.
  const unnamed = header('x-amz-checksum-algorithm') === undefined ? 'FULL_OBJECT' : 'COMPOSITE';
  const checksumType = header('x-amz-checksum-type') ?? unnamed;
  if (checksumType !== 'FULL_OBJECT' && checksumType !== 'COMPOSITE') throw new S3Error('InvalidRequest');
  const folder = await temporaryPath(directory, bucket);
  await mkdir(folder);
  const upload: Upload = {
    id: randomUUID(),
    bucket,
    key,
    folder,
    contentType: header('content-type') ?? 'binary/octet-stream',
    ...encoding(header('content-encoding')),
    checksumType,
    initiated: new Date().toISOString(),
    parts: new Map(),
  };
  uploads.set(upload.id, upload);
  return {
    status: 200,
    headers: { 'x-amz-checksum-algorithm': algorithm, 'x-amz-checksum-type': checksumType },
    body: xml('InitiateMultipartUploadResult', { Bucket: bucket, Key: key, UploadId: upload.id }),
  };
}

export async function uploadPart(call: Call): Promise<Answer> {
  const upload = find(call);
  const number = Number(call.query.get('partNumber'));
  if (!Number.isInteger(number) || number < 1 || number > PARTS_MAX) throw new S3Error('InvalidArgument');
  const path = join(upload.folder, randomUUID());
  const writer = fileWriter(path);
  try {
    const { bytes, crc32 } = await (call.sink ? swallow(call.request) : receive(call.request, writer.write));
    await writer.close();
    find(call); // it may have been aborted while the bytes came
    const before = upload.parts.get(number);
    const etag = etagOf(`${upload.id}-${number}-${bytes}-${crc32}`);
    upload.parts.set(number, { number, bytes, crc32, etag, path });
    if (before !== undefined) await rm(before.path, { force: true });
    return { status: 200, headers: { ETag: etag, 'x-amz-checksum-crc32': base64Crc(crc32) } };
  } catch (error) {
    await writer.close().catch(() => {});
    await rm(path, { force: true });
    throw error;
  }
}

export async function listParts(call: Call): Promise<Answer> {
  const upload = find(call);
  const limit = Math.min(Number(call.query.get('max-parts') ?? LIST_MAX), LIST_MAX);
  const after = Number(call.query.get('part-number-marker') ?? 0);
  const parts = [...upload.parts.values()]
    .filter((part) => part.number > after)
    .sort((a, b) => a.number - b.number);
  const page = parts.slice(0, limit);
  const listing = {
    Bucket: upload.bucket,
    Key: upload.key,
    UploadId: upload.id,
    PartNumberMarker: after,
    NextPartNumberMarker: parts.length > page.length ? page.at(-1)?.number : undefined,
    MaxParts: limit,
    IsTruncated: parts.length > page.length,
    ChecksumAlgorithm: 'CRC32',
    ChecksumType: upload.checksumType,
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

/** A client that repeats the request while the first is at work must not have the same file written twice at once. */
export async function completeUpload(call: Call): Promise<Answer> {
  find(call);
  const document = await receiveDocument(call.request, COMPLETE_BYTES_MAX);
  for (let upload = find(call); ; upload = find(call)) {
    if (upload.joined === undefined) {
      const answer = joinParts(call, upload, document);
      upload.joined = answer.catch(() => delete upload.joined);
      return await answer;
    }
    await upload.joined;
  }
}

async function joinParts(call: Call, upload: Upload, document: string): Promise<Answer> {
  const parts = chosenParts(upload, document, call.minPartBytes);
  const bytes = parts.reduce((sum, part) => sum + part.bytes, 0);
  const claimedBytes = call.header('x-amz-mp-object-size');
  if (claimedBytes !== undefined && Number(claimedBytes) !== bytes) throw new S3Error('InvalidRequest');
  await requireAbsent(call);
  const file = join(upload.folder, 'object');
  const crc = call.sink ? undefined : base64Crc(await assemble(parts, file));
  verifyWhole(call, upload, crc);
  if (!call.uploads.delete(upload.id)) throw new S3Error('NoSuchUpload');
  const etag = etagOf(`${upload.id}-complete`).replace(/"$/, `-${parts.length}"`);
  await publishUpload(call, upload, file, { bytes, etag, crc32: crc ?? '' });
  const whole =
    upload.checksumType === 'FULL_OBJECT' ? (crc ?? call.header('x-amz-checksum-crc32')) : undefined;
  const checksum = whole === undefined ? {} : { ChecksumCRC32: whole, ChecksumType: 'FULL_OBJECT' };
  const answer = { Bucket: upload.bucket, Key: upload.key, ETag: etag, ...checksum };
  return { status: 200, body: xml('CompleteMultipartUploadResult', answer) };
}

export async function abortUpload(call: Call): Promise<Answer> {
  await find(call).joined;
  const upload = find(call);
  call.uploads.delete(upload.id);
  await rm(upload.folder, { recursive: true, force: true });
  return { status: 204 };
}

export async function listUploads({ bucket, query, uploads }: Call): Promise<Answer> {
  const prefix = query.get('prefix') ?? '';
  const open = [...uploads.values()].filter(
    (upload) => upload.bucket === bucket && upload.key.startsWith(prefix),
  );
  const Upload = open.map(({ key, id, initiated }) => ({ Key: key, UploadId: id, Initiated: initiated }));
  const listing = { Bucket: bucket, Prefix: prefix, MaxUploads: LIST_MAX, IsTruncated: false, Upload };
  return { status: 200, body: xml('ListMultipartUploadsResult', listing) };
}

function find({ uploads, query, bucket, key }: Call): Upload {
  const upload = uploads.get(query.get('uploadId') ?? '');
  if (upload?.bucket !== bucket || upload.key !== key) throw new S3Error('NoSuchUpload');
  return upload;
}

/** The parts that Complete lists, held to S3's rules: ascending, each as it was uploaded, none but the last too small. */
function chosenParts(upload: Upload, document: string, minPartBytes: number): Part[] {
  const listed = [...document.matchAll(/<Part>([\s\S]*?)<\/Part>/g)].map(([, part = '']) => part);
  if (listed.length === 0) throw new S3Error('MalformedXML');
  const parts = listed.map((element) => {
    const part = upload.parts.get(Number(textOf(element, 'PartNumber')));
    const etag = textOf(element, 'ETag')?.replace(/^"?/, '"').replace(/"?$/, '"');
    const crc = textOf(element, 'ChecksumCRC32');
    const missing = crc === undefined && upload.checksumType === 'COMPOSITE';
    if (
      part?.etag !== etag ||
      part === undefined ||
      missing ||
      (crc ?? base64Crc(part.crc32)) !== base64Crc(part.crc32)
    ) {
      throw new S3Error(
        'InvalidPart',
        'One or more of the specified parts could not be found or did not match',
      );
    }
    return part;
  });
  if (parts.some((part, at) => part.number <= (parts[at - 1]?.number ?? 0)))
    throw new S3Error('InvalidPartOrder');
  if (parts.slice(0, -1).some((part) => part.bytes < minPartBytes)) throw new S3Error('EntityTooSmall');
  return parts;
}

/** The parts as one file, and its CRC32 computed from the very bytes rather than from the parts' checksums. */
async function assemble(parts: readonly Part[], file: string): Promise<number> {
  await rm(file, { force: true });
  const writer = fileWriter(file);
  let crc = 0;
  for (const { path } of parts) {
    for await (const chunk of createReadStream(path, {
      highWaterMark: 1024 * 1024,
    }) as AsyncIterable<Buffer>) {
      crc = crc32(chunk, crc);
      await writer.write(chunk);
    }
  }
  await writer.close();
  return crc;
}

function verifyWhole({ header }: Call, upload: Upload, crc: string | undefined): void {
  const type = header('x-amz-checksum-type');
  if (type !== undefined && type !== upload.checksumType) throw new S3Error('InvalidRequest');
  const claimed = header('x-amz-checksum-crc32');
  if (claimed === undefined || upload.checksumType !== 'FULL_OBJECT' || crc === undefined) return;
  if (claimed !== crc)
    throw new S3Error('BadDigest', 'The CRC32 you specified did not match the calculated checksum.');
}

async function publishUpload(
  { directory, bucket, key, sink }: Call,
  upload: Upload,
  file: string,
  { bytes, etag, crc32 }: { bytes: number; etag: string; crc32: string },
): Promise<void> {
  const { contentType, contentEncoding, folder } = upload;
  const encoded = contentEncoding === undefined ? {} : { contentEncoding };
  const lastModified = new Date().toISOString();
  if (sink) await writeHole(file, bytes);
  await publish(directory, bucket, key, file, { bytes, etag, crc32, contentType, ...encoded, lastModified });
  await rm(folder, { recursive: true, force: true });
}

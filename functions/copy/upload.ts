import { crc32 } from 'node:zlib';
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  type Part as ListedPart,
  ListPartsCommand,
  PutObjectCommand,
} from '@aws-sdk/client-s3';
import { CopyFailed } from '../workflow/errors.ts';
import type { Settings } from '../workflow/settings.ts';
import type { StoredObject } from '../workflow/state-parts.ts';
import { base64Crc32, combineCrc32 } from './crc32.ts';
import { createSendPart } from './part-request.ts';
import type { FullPart, Part } from './parts.ts';
import { addressed, createS3Client, type Destination, retry } from './s3-call.ts';

/** The headers that S3 stores with the bytes. */
export interface Kind {
  readonly contentType: string;
  readonly contentEncoding?: string | undefined;
}

/** A visible object whose checksum S3 has verified. */
export type Stored = Pick<StoredObject, 'bytes' | 'crc32' | 'version_id'>;

/** Aborting is optional, and it may run in the last seconds of a function. */
const ABORT_TIMEOUT_MS = 8_000;

const LIST = 's3:ListMultipartUploadParts';
const WRITE = 's3:PutObject (and kms:GenerateDataKey, kms:Decrypt if the bucket is encrypted with a KMS key)';

/**
 * @returns the upload's id
 * @throws AccessRefused, ServiceUnavailable
 */
export async function createUpload(to: Destination, { contentType, contentEncoding }: Kind): Promise<string> {
  const command = new CreateMultipartUploadCommand({
    ...addressed(to),
    ContentType: contentType,
    ContentEncoding: contentEncoding,
    ChecksumAlgorithm: 'CRC32',
    ChecksumType: 'FULL_OBJECT',
  });
  const { UploadId } = await retry(to, WRITE, () => to.s3.send(command));
  if (UploadId === undefined) throw new CopyFailed(`S3 created no upload for ${to.key}. Try again.`);
  return UploadId;
}

/**
 * Lists the parts that S3 has stored, by ascending number. Leaves out a part that S3 lists without a CRC32.
 *
 * @returns undefined if the upload no longer exists: aborted, completed, or removed by the bucket's lifecycle rule
 * @throws AccessRefused, ServiceUnavailable
 */
export async function listParts(to: Destination, uploadId: string): Promise<Part[] | undefined> {
  const parts: Part[] = [];
  let after: string | undefined;
  do {
    const command = new ListPartsCommand({ ...addressed(to), UploadId: uploadId, PartNumberMarker: after });
    const page = await retry(to, LIST, () => to.s3.send(command).catch(undefinedIfGone));
    if (page === undefined) return undefined;
    parts.push(...(page.Parts ?? []).flatMap(asPart));
    after = page.IsTruncated ? page.NextPartNumberMarker : undefined;
  } while (after !== undefined);
  return parts;
}

function undefinedIfGone(error: unknown): undefined {
  if (!(error instanceof Error) || error.name !== 'NoSuchUpload') throw error;
}

function asPart({ PartNumber, Size, ETag, ChecksumCRC32 }: ListedPart): Part[] {
  if (PartNumber === undefined || Size === undefined || ETag === undefined || ChecksumCRC32 === undefined)
    return [];
  return [
    {
      number: PartNumber,
      bytes: Size,
      crc32: Buffer.from(ChecksumCRC32, 'base64').readUInt32BE(),
      etag: ETag,
    },
  ];
}

/**
 * Creates the function that uploads a part.
 *
 * @throws CopyFailed, AccessRefused, ServiceUnavailable; the signal's reason
 */
export function createUploadPart(to: Destination) {
  const sendPart = createSendPart(to);
  return async (uploadId: string, part: FullPart, signal: AbortSignal): Promise<Part> => {
    const { number, body, crc32 } = part;
    const { etag, checksum } = await retry(to, WRITE, () => sendPart(uploadId, part, signal), signal);
    if (etag === undefined || checksum !== base64Crc32(crc32)) {
      throw new CopyFailed(
        `S3's checksum of part ${number} of ${to.key} differs from that of the bytes sent. Try again.`,
      );
    }
    return { number, bytes: body.length, crc32, etag };
  };
}

/**
 * Joins the parts. S3 gets the size and the CRC32 of the whole, and refuses to show an object that differs.
 *
 * @param parts by ascending number
 * @throws CopyFailed, AccessRefused, ServiceUnavailable
 */
export async function completeUpload(
  to: Destination,
  uploadId: string,
  parts: readonly Part[],
): Promise<Stored> {
  const bytes = parts.reduce((sum, part) => sum + part.bytes, 0);
  const checksum = base64Crc32(parts.reduce((crc, part) => combineCrc32(crc, part.crc32, part.bytes), 0));
  const command = new CompleteMultipartUploadCommand({
    ...addressed(to),
    UploadId: uploadId,
    MultipartUpload: {
      Parts: parts.map((part) => ({
        PartNumber: part.number,
        ETag: part.etag,
        ChecksumCRC32: base64Crc32(part.crc32),
      })),
    },
    ChecksumCRC32: checksum,
    ChecksumType: 'FULL_OBJECT',
    MpuObjectSize: bytes,
  });
  const answer = await retry(to, WRITE, () => to.s3.send(command));
  return verified(to, answer, { bytes, crc32: checksum });
}

/** @throws CopyFailed, AccessRefused, ServiceUnavailable */
export async function putObject(to: Destination, kind: Kind, body: Buffer): Promise<Stored> {
  const checksum = base64Crc32(crc32(body));
  const command = new PutObjectCommand({
    ...addressed(to),
    Body: body,
    ContentLength: body.length,
    ContentType: kind.contentType,
    ContentEncoding: kind.contentEncoding,
    ChecksumCRC32: checksum,
  });
  command.middlewareStack.add(withoutSha256, { step: 'build' });
  const answer = await retry(to, WRITE, () => to.s3.send(command));
  return verified(to, answer, { bytes: body.length, crc32: checksum });
}

/** Removes the parts now. Never throws: the bucket's lifecycle rule removes them within a day anyway. */
export async function abortUpload(to: Destination, uploadId: string): Promise<void> {
  const signal = AbortSignal.timeout(ABORT_TIMEOUT_MS);
  const command = new AbortMultipartUploadCommand({ ...addressed(to), UploadId: uploadId });
  await retry(to, WRITE, () => to.s3.send(command, { abortSignal: signal }), signal).catch(() => {});
}

/** Aborts an upload that an earlier call has left. Never throws. */
export type Abandon = (key: string, uploadId: string) => Promise<void>;

export function createAbandon(
  { BUCKET, BUCKET_OWNER }: Pick<Settings, 'BUCKET' | 'BUCKET_OWNER'>,
  s3 = createS3Client(),
): Abandon {
  return (key, uploadId) =>
    abortUpload({ s3, bucket: BUCKET, key, expectedBucketOwner: BUCKET_OWNER }, uploadId);
}

/**
 * SigV4's SHA-256 over the body would cost more CPU than the rest of the copy. S3 checks the CRC32 instead. Added to a
 * command at the step "build", before the request is signed.
 */
function withoutSha256<Args extends { request: unknown }, Out>(
  next: (args: Args) => Out,
): (args: Args) => Out {
  return (args) => {
    const { headers } = args.request as { headers: Record<string, string> };
    headers['x-amz-content-sha256'] = 'UNSIGNED-PAYLOAD';
    return next(args);
  };
}

function verified(
  to: Destination,
  answer: { ChecksumCRC32?: string | undefined; VersionId?: string | undefined },
  sent: { readonly bytes: number; readonly crc32: string },
): Stored {
  if (answer.ChecksumCRC32 !== sent.crc32) {
    throw new CopyFailed(`S3's checksum of ${to.key} differs from that of the bytes sent. Try again.`, {
      sent: sent.crc32,
      stored: answer.ChecksumCRC32,
    });
  }
  return { ...sent, ...(answer.VersionId !== undefined && { version_id: answer.VersionId }) };
}

import { crc32 } from 'node:zlib';
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  type Part as ListedPart,
  PutObjectCommand,
  paginateListParts,
  type S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { addressed, base64Crc32, type Place } from '../aws/s3.ts';
import { asServiceError } from '../aws/service-error.ts';
import { CopyFailed } from '../workflow/errors.ts';
import { FILE_TAG } from '../workflow/keys.ts';
import type { StoredObject } from '../workflow/state-parts.ts';
import { combineCrc32 } from './crc32.ts';

export interface Destination extends Place {
  readonly s3: S3Client;
  /** The largest object. */
  readonly maxBytes: number;
  /** Default: PART_BYTES. Tests use smaller parts. */
  readonly partBytes?: number;
}

/** The headers that S3 stores with the bytes. */
export type Kind = Pick<StoredObject, 'content_type' | 'content_encoding'>;

/** A visible object whose checksum S3 has verified. */
export type VerifiedObject = Pick<StoredObject, 'bytes' | 'crc32' | 'version_id'>;

export interface Part {
  /** From 1. */
  readonly number: number;
  readonly bytes: number;
  readonly crc32: number;
  readonly etag: string;
}

/** Aborting is optional, and it may run in the last seconds of a function. */
const ABORT_TIMEOUT_MS = 8_000;

const WRITE =
  's3:PutObject, s3:PutObjectTagging (and kms:GenerateDataKey, kms:Decrypt if the bucket is encrypted with a KMS key)';

const TAGGING = `${FILE_TAG.name}=${FILE_TAG.value}`;

/** Errors of a broken transfer. Another copy may succeed. InvalidRequest: the size is wrong. */
const BROKEN =
  /^(BadDigest|EntityTooSmall|IncompleteBody|InvalidPart|InvalidPartOrder|InvalidRequest|NoSuchUpload|XAmz\w+Mismatch)$/;

// Each of these throws CopyFailed, AccessRefused (which names the permission) or ServiceUnavailable.

export async function createUpload(to: Destination, kind: Kind): Promise<string> {
  const command = new CreateMultipartUploadCommand({
    ...addressed(to),
    ...headersOf(kind),
    ChecksumAlgorithm: 'CRC32',
    ChecksumType: 'FULL_OBJECT',
  });
  const { UploadId = '' } = await to.s3.send(command).catch(throwWriteError(to, WRITE));
  return UploadId;
}

function headersOf({ content_type, content_encoding }: Kind) {
  return { ContentType: content_type, ContentEncoding: content_encoding, Tagging: TAGGING };
}

/**
 * Lists the parts that S3 has stored, by ascending number. Leaves out a part that S3 lists without a CRC32.
 *
 * @returns undefined if the upload no longer exists: aborted, completed, or removed by the bucket's lifecycle
 *   rule
 */
export async function listParts(to: Destination, uploadId: string): Promise<Part[] | undefined> {
  const parts: Part[] = [];
  try {
    for await (const page of paginateListParts({ client: to.s3 }, { ...addressed(to), UploadId: uploadId })) {
      parts.push(...(page.Parts ?? []).flatMap(asPart));
      // S3 names a next marker on its last page too. Then it names 0, and the SDK would begin again.
      if (!page.IsTruncated) break;
    }
    return parts;
  } catch (error) {
    if (error instanceof Error && error.name === 'NoSuchUpload') return undefined;
    return throwWriteError(to, 's3:ListMultipartUploadParts')(error);
  }
}

function asPart({ PartNumber: number, Size: bytes, ETag: etag, ChecksumCRC32 }: ListedPart): Part[] {
  if (number === undefined || bytes === undefined || etag === undefined || ChecksumCRC32 === undefined)
    return [];
  return [{ number, bytes, etag, crc32: Buffer.from(ChecksumCRC32, 'base64').readUInt32BE() }];
}

export async function uploadPart(
  to: Destination,
  uploadId: string,
  { number, body, crc32 }: Pick<Part, 'number' | 'crc32'> & { readonly body: Buffer },
  signal: AbortSignal,
): Promise<Part> {
  const checksum = base64Crc32(crc32);
  const command = new UploadPartCommand({
    ...addressed(to),
    UploadId: uploadId,
    PartNumber: number,
    Body: body,
    ContentLength: body.length,
    ChecksumCRC32: checksum,
  });
  const answer = await to.s3.send(command, { abortSignal: signal }).catch(throwWriteError(to, WRITE));
  requireSameChecksum(`part ${number} of ${to.key}`, checksum, answer.ChecksumCRC32);
  return { number, bytes: body.length, crc32, etag: answer.ETag ?? '' };
}

/**
 * Joins the parts. S3 gets the size and the CRC32 of the whole, and refuses to show an object that differs.
 *
 * @param parts by ascending number
 */
export async function completeUpload(
  to: Destination,
  uploadId: string,
  parts: readonly Part[],
): Promise<VerifiedObject> {
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
  const answer = await to.s3.send(command).catch(throwWriteError(to, WRITE));
  return toVerifiedObject(to, answer, { bytes, crc32: checksum });
}

export async function putObject(to: Destination, kind: Kind, body: Buffer): Promise<VerifiedObject> {
  const checksum = base64Crc32(crc32(body));
  const command = new PutObjectCommand({
    ...addressed(to),
    Body: body,
    ContentLength: body.length,
    ...headersOf(kind),
    ChecksumCRC32: checksum,
  });
  const answer = await to.s3.send(command).catch(throwWriteError(to, WRITE));
  return toVerifiedObject(to, answer, { bytes: body.length, crc32: checksum });
}

/** Removes the parts now. Never throws: the bucket's lifecycle rule removes them within a day anyway. */
export async function abortUpload(to: Destination, uploadId: string): Promise<void> {
  const command = new AbortMultipartUploadCommand({ ...addressed(to), UploadId: uploadId });
  await to.s3.send(command, { abortSignal: AbortSignal.timeout(ABORT_TIMEOUT_MS) }).catch(() => {});
}

function throwWriteError(to: Place, permission: string): (error: unknown) => never {
  return (error) => {
    const name = error instanceof Error ? error.name : 'unknown';
    if (!BROKEN.test(name)) throw asServiceError(error, `write ${to.key} to bucket ${to.bucket}`, permission);
    throw new CopyFailed(`S3 refused the transfer of ${to.key} (${name}). Try again.`, {
      aws_error: name,
    });
  };
}

function toVerifiedObject(
  to: Place,
  answer: { ChecksumCRC32?: string | undefined; VersionId?: string | undefined },
  sent: { readonly bytes: number; readonly crc32: string },
): VerifiedObject {
  requireSameChecksum(to.key, sent.crc32, answer.ChecksumCRC32);
  return { ...sent, ...(answer.VersionId !== undefined && { version_id: answer.VersionId }) };
}

function requireSameChecksum(name: string, sent: string, stored: string | undefined): void {
  if (sent === stored) return;
  throw new CopyFailed(`S3's checksum of ${name} differs from the checksum of the bytes sent. Try again.`, {
    sent,
    stored,
  });
}

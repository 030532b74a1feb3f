import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  type Part as ListedPart,
  ListPartsCommand,
  PutObjectCommand,
  type S3Client,
} from '@aws-sdk/client-s3';
import type { Dispatcher } from 'undici';
import { asServiceError } from '../aws/service-error.ts';
import { CopyFailed, ExportError } from '../workflow/errors.ts';
import { base64Crc32, combineCrc32 } from './crc32.ts';

/** Where the object goes. Every call names `expectedBucketOwner`, if given, and S3 refuses one where another account owns it. */
export interface Destination {
  readonly s3: S3Client;
  /** Parts are PUT through it. */
  readonly dispatcher: Dispatcher;
  readonly bucket: string;
  readonly key: string;
  readonly expectedBucketOwner?: string;
}

/** What S3 is to keep beside the bytes. */
export interface Kind {
  readonly contentType: string;
  readonly contentEncoding?: string;
}

export interface Part {
  readonly number: number;
  readonly bytes: number;
  readonly crc32: number;
  readonly etag: string;
}

export interface Upload {
  readonly id: string;
  /** Where S3 took the request that created it; its parts go there too. */
  readonly origin: string;
  /** Percent-encoded. */
  readonly path: string;
}

/** An object that S3 has verified and made visible. */
export interface Stored {
  readonly bytes: number;
  /** Of all bytes, in base64. */
  readonly crc32: string;
  readonly etag?: string;
  readonly versionId?: string;
}

/** Nothing depends on it, and a function's last seconds may be at stake. */
const ABORT_TIMEOUT_MS = 8_000;

/** What a broken transfer leads to: the same copy once more may well succeed. */
const BROKEN =
  /^(BadDigest|EntityTooSmall|IncompleteBody|InvalidPart|InvalidPartOrder|NoSuchUpload|XAmz\w+Mismatch)$/;

/** The step of the SDK at which a request's address is final. */
const SIGNED = { step: 'finalizeRequest', name: 'noteAddress' } as const;

const LIST = 's3:ListMultipartUploadParts';

/** Writing may need two more permissions where the bucket has a key of its own. */
const WRITE = 's3:PutObject (and kms:GenerateDataKey, kms:Decrypt if the bucket is encrypted with a KMS key)';

/** @throws AccessRefused, ServiceUnavailable */
export async function createUpload(to: Destination, { contentType, contentEncoding }: Kind): Promise<Upload> {
  const command = new CreateMultipartUploadCommand({
    ...addressed(to),
    ContentType: contentType,
    ContentEncoding: contentEncoding,
    ChecksumAlgorithm: 'CRC32',
    ChecksumType: 'FULL_OBJECT',
  });
  const { address, note } = openAddress();
  command.middlewareStack.add(note, SIGNED);
  const { UploadId } = await to.s3.send(command).catch(refused(to, WRITE));
  if (UploadId === undefined) throw new CopyFailed(`S3 began no upload of ${to.key}.`);
  return { id: UploadId, ...address };
}

/**
 * An upload that another call has begun, with the parts that S3 holds of it, by ascending number.
 *
 * @returns undefined where there is no such upload any more: given up, completed, or removed by the bucket's lifecycle
 * @throws AccessRefused, ServiceUnavailable
 */
export async function findUpload(
  to: Destination,
  id: string,
): Promise<{ upload: Upload; parts: Part[] } | undefined> {
  const parts: Part[] = [];
  for (let after: string | undefined; ; ) {
    const command = new ListPartsCommand({ ...addressed(to), UploadId: id, PartNumberMarker: after });
    const { address, note } = openAddress();
    command.middlewareStack.add(note, SIGNED);
    const page = await to.s3.send(command).catch((error: unknown) => {
      if (error instanceof Error && error.name === 'NoSuchUpload') return undefined;
      throw asCopyError(to, LIST, error);
    });
    if (page === undefined) return undefined;
    parts.push(...(page.Parts ?? []).flatMap(asPart));
    if (!page.IsTruncated) return { upload: { id, ...address }, parts };
    after = page.NextPartNumberMarker;
  }
}

/** One without a checksum is none: it is sent again. */
function asPart({ PartNumber, Size, ETag, ChecksumCRC32 }: ListedPart): Part[] {
  if (PartNumber === undefined || Size === undefined || ETag === undefined || ChecksumCRC32 === undefined)
    return [];
  const crc32 = Buffer.from(ChecksumCRC32, 'base64').readUInt32BE();
  return [{ number: PartNumber, bytes: Size, crc32, etag: ETag }];
}

/**
 * Joins the parts. S3 is told the checksum and size of the whole, so that it refuses to show an object that differs.
 *
 * @throws CopyFailed, AccessRefused, ServiceUnavailable
 */
export async function completeUpload(
  to: Destination,
  upload: Upload,
  parts: readonly Part[],
): Promise<Stored> {
  const bytes = parts.reduce((sum, part) => sum + part.bytes, 0);
  const crc32 = base64Crc32(parts.reduce((crc, part) => combineCrc32(crc, part.crc32, part.bytes), 0));
  const answer = await to.s3
    .send(
      new CompleteMultipartUploadCommand({
        ...addressed(to),
        UploadId: upload.id,
        MultipartUpload: {
          Parts: parts.map(({ number, etag, crc32: crc }) => ({
            PartNumber: number,
            ETag: etag,
            ChecksumCRC32: base64Crc32(crc),
          })),
        },
        ChecksumCRC32: crc32,
        ChecksumType: 'FULL_OBJECT',
        MpuObjectSize: bytes,
      }),
    )
    .catch(refused(to, WRITE));
  return verified(to, answer, { bytes, crc32 });
}

/** @throws CopyFailed, AccessRefused, ServiceUnavailable */
export async function putWhole(to: Destination, kind: Kind, body: Buffer, crc: number): Promise<Stored> {
  const crc32 = base64Crc32(crc);
  const command = new PutObjectCommand({
    ...addressed(to),
    Body: body,
    ContentLength: body.length,
    ContentType: kind.contentType,
    ContentEncoding: kind.contentEncoding,
    ChecksumCRC32: crc32,
  });
  const answer = await to.s3.send(command).catch(refused(to, WRITE));
  return verified(to, answer, { bytes: body.length, crc32 });
}

/** Frees the parts at once; should even that fail, the bucket's lifecycle rule does it within a day. */
export async function abortUpload(
  to: Omit<Destination, 'dispatcher'>,
  upload: Pick<Upload, 'id'>,
): Promise<void> {
  const command = new AbortMultipartUploadCommand({ ...addressed(to), UploadId: upload.id });
  await to.s3.send(command, { abortSignal: AbortSignal.timeout(ABORT_TIMEOUT_MS) }).catch(() => {});
}

/** Sorts an error of S3, from the SDK or from a part's answer. */
function asCopyError(to: Destination, permission: string, error: unknown): Error {
  if (error instanceof ExportError) return error;
  const name = error instanceof Error ? error.name : 'unknown';
  if (!BROKEN.test(name)) return asServiceError(error, `write ${to.key} to bucket ${to.bucket}`, permission);
  return new CopyFailed(`S3 refused ${to.key} as it arrived (${name}). Nothing is visible; try again.`, {
    aws_error: name,
  });
}

export function asPartError(to: Destination, error: unknown): Error {
  return asCopyError(to, WRITE, error);
}

function refused(to: Destination, permission: string): (error: unknown) => never {
  return (error) => {
    throw asCopyError(to, permission, error);
  };
}

function verified(
  to: Destination,
  answer: { ChecksumCRC32?: string | undefined; ETag?: string | undefined; VersionId?: string | undefined },
  { bytes, crc32 }: { bytes: number; crc32: string },
): Stored {
  if (answer.ChecksumCRC32 !== crc32) {
    const facts = { sent: crc32, stored: answer.ChecksumCRC32 };
    throw new CopyFailed(`S3's checksum of ${to.key} differs from that of the bytes sent. Try again.`, facts);
  }
  return {
    bytes,
    crc32,
    ...(answer.ETag === undefined ? {} : { etag: answer.ETag }),
    ...(answer.VersionId === undefined ? {} : { versionId: answer.VersionId }),
  };
}

function addressed({ bucket, key, expectedBucketOwner }: Omit<Destination, 'dispatcher'>) {
  return { Bucket: bucket, Key: key, ExpectedBucketOwner: expectedBucketOwner };
}

/**
 * Style, endpoint, region, FIPS and the like are the SDK's to decide: what it decided for one call of an upload holds for
 * its parts.
 */
function openAddress() {
  const address = { origin: '', path: '' };
  const note =
    <Args extends { request: unknown }, Out>(next: (args: Args) => Out) =>
    (args: Args): Out => {
      Object.assign(address, addressOf(args.request));
      return next(args);
    };
  return { address, note };
}

function addressOf(request: unknown): { origin: string; path: string } {
  const { protocol, hostname, port, path } = request as Record<
    'protocol' | 'hostname' | 'port' | 'path',
    string
  >;
  return { origin: `${protocol}//${hostname}${port ? `:${port}` : ''}`, path };
}

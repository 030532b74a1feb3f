import { checkUrl, type HostPolicy } from '../platform/safe-hosts.ts';
import type { Checkpoint } from '../workflow/checkpoint.ts';
import {
  CopyFailed,
  DownloadRefused,
  ExportError,
  ServiceUnavailable,
  UrlExpired,
} from '../workflow/errors.ts';
import type { CopySettings } from '../workflow/settings.ts';
import { createFileAgent } from './connection.ts';
import { createContentCheck } from './content.ts';
import { download, type FileHead, type Receiver, type Source } from './download.ts';
import { createObjectWriter, type ObjectWriter, type Resumed, type WrittenObject } from './object-writer.ts';
import { type BufferPool, createBufferPool, type Part } from './parts.ts';
import { createS3Client, type Destination } from './s3-call.ts';
import { type Abandon, abortUpload, createAbandon, listParts } from './upload.ts';

/** The copy's part of a checkpoint. SaveReport adds the report and the calls. */
export type CopyCheckpoint = Omit<Checkpoint, 'report_id' | 'calls'>;

export interface CopyOptions {
  readonly source: Source;
  readonly destination: Destination;
  /** As requested of the platform, for example JSON. */
  readonly format: string;
  /** Ends this call. The next call continues from the checkpoint. */
  readonly deadline: AbortSignal;
  readonly checkpoint?: CopyCheckpoint | undefined;
  /** Tests use smaller parts. */
  readonly pool?: BufferPool;
  /** The pause before the first retry of a download, in milliseconds. */
  readonly pause?: number;
}

interface Attempt {
  readonly file: FileHead;
  readonly contentType: string;
  readonly writer: ObjectWriter;
}

const CONTENT_TYPES: Readonly<Record<string, string>> = { JSON: 'application/json' };

/**
 * Copies a file of up to 78 GiB from its pre-signed URL to an S3 object, byte for byte, in the memory of two parts. The
 * object becomes visible only when the file is complete and S3 has verified the CRC32 of the whole.
 *
 * A failure aborts the upload. Exception: a retryable failure after new parts were stored leaves a checkpoint. If this
 * call stored no new part, it throws and leaves the upload of an earlier call as it was.
 *
 * @throws UrlExpired (fetch a fresh URL); CopyFailed, ServiceUnavailable (try again); DownloadRefused, AccessRefused (a
 *   person must act)
 */
export async function copyFile(options: CopyOptions): Promise<WrittenObject | CopyCheckpoint> {
  const { checkpoint, deadline, pause, pool = createBufferPool() } = options;
  const resumed = checkpoint && (await resume(options, checkpoint, pool));
  let attempt = resumed;
  let isVoid = false;
  let size: number | undefined;
  const receiver: Receiver = {
    async begin(file) {
      await attempt?.writer.abort();
      attempt = start(options, file, pool);
      isVoid = false;
    },
    discard() {
      isVoid = true;
    },
    write: (chunk) => attempt?.writer.write(chunk),
  };
  const from = resumed && checkpoint && { file: resumed.file, at: checkpoint.stored_bytes };
  try {
    size = await download(options.source, receiver, { signal: deadline, pause, from });
    if (attempt === undefined) throw new Error('The download ended without a file');
    return await attempt.writer.end();
  } catch (error) {
    const failure = explain(error, deadline);
    if (attempt === undefined) throw failure;
    return await leave(attempt, {
      failure,
      isRetryable: canRetry(failure, size !== undefined),
      isTimeUp: failure !== error,
      isVoid,
      bytes: size ?? attempt.file.bytes,
      before: attempt === resumed ? checkpoint : undefined,
    });
  }
}

/** @param resumed absent for a copy from the beginning */
function start(
  { destination, format }: CopyOptions,
  file: FileHead,
  pool: BufferPool,
  resumed?: Resumed,
): Attempt {
  const { contentEncoding } = file;
  const contentType = file.contentType ?? CONTENT_TYPES[format.toUpperCase()] ?? 'application/octet-stream';
  const check = createContentCheck({ format, contentType, contentEncoding, resumed });
  const writer = createObjectWriter(destination, { contentType, contentEncoding }, { pool, check, resumed });
  return { file, contentType, writer };
}

/**
 * Continues the upload of an earlier call. Parts that were stored after the checkpoint are uploaded again.
 *
 * @returns undefined if S3 does not hold the parts of the checkpoint; then their upload is aborted
 */
async function resume(
  options: CopyOptions,
  checkpoint: CopyCheckpoint,
  pool: BufferPool,
): Promise<Attempt | undefined> {
  const { destination } = options;
  const { upload_id: uploadId, stored_bytes: at, etag, bytes, content_type: contentType, json } = checkpoint;
  const listed = await listParts(destination, uploadId);
  if (listed === undefined) return undefined;
  const parts = listed.slice(0, Math.ceil(at / pool.partBytes));
  if (!holdExactly(parts, at, pool.partBytes)) {
    await abortUpload(destination, uploadId);
    return undefined;
  }
  const file = { etag, bytes, contentType, contentEncoding: undefined, ignoresRanges: false };
  return start(options, file, pool, { uploadId, parts, at, json });
}

/** Returns true if parts 1, 2, 3 … hold exactly these bytes. Only the last one may be shorter than a part. */
function holdExactly(parts: readonly Part[], bytes: number, partBytes: number): boolean {
  return (
    parts.every(
      (part, index) =>
        part.number === index + 1 && part.bytes === Math.min(partBytes, bytes - index * partBytes),
    ) && parts.length * partBytes >= bytes
  );
}

interface End {
  readonly failure: unknown;
  readonly isRetryable: boolean;
  readonly isTimeUp: boolean;
  /** This call has written bytes that do not belong to the file, or belong to another version of it. */
  readonly isVoid: boolean;
  /** The size of the file, if it is known. */
  readonly bytes: number | undefined;
  /** The checkpoint of the earlier calls, if they stored parts of this upload. */
  readonly before: CopyCheckpoint | undefined;
}

/** @returns the checkpoint. Throws the failure if this call stored no part, or if the upload was aborted */
async function leave({ file, contentType, writer }: Attempt, end: End): Promise<CopyCheckpoint> {
  const { failure, isRetryable, isTimeUp, isVoid, bytes, before } = end;
  const obstacle = obstacleTo(file);
  if (!isRetryable || obstacle !== undefined || (isVoid && before === undefined)) {
    await writer.abort();
    if (!isTimeUp || obstacle === undefined) throw failure;
    throw new DownloadRefused(`The file takes longer than one call, and cannot be resumed: ${obstacle}.`);
  }
  const left = await writer.leave();
  if (left === undefined || left.at === before?.stored_bytes || isVoid) throw failure;
  return {
    upload_id: left.uploadId,
    etag: file.etag ?? '',
    stored_bytes: left.at,
    ...(bytes !== undefined && { bytes }),
    content_type: contentType,
    ...(left.json && { json: left.json }),
  };
}

/** The end of the call's time, if that is the cause. */
function explain(error: unknown, deadline: AbortSignal): unknown {
  if (!deadline.aborted || error instanceof ExportError) return error;
  return new CopyFailed('The call ended before a part of the file was stored. Try again.');
}

/** After the download has ended, CopyFailed means that S3 rejected the bytes: the next call starts from the beginning. */
function canRetry(failure: unknown, hasDownloaded: boolean): boolean {
  if (failure instanceof ServiceUnavailable) return true;
  return !hasDownloaded && (failure instanceof CopyFailed || failure instanceof UrlExpired);
}

/** Why the rest of the file cannot be appended to the parts that are stored. */
function obstacleTo({ contentEncoding, etag, ignoresRanges }: FileHead): string | undefined {
  if (contentEncoding !== undefined)
    return `its content encoding ${contentEncoding} is checked from the beginning`;
  if (etag === undefined) return 'the storage host gives it no strong ETag';
  return ignoresRanges ? 'the storage host serves no ranges of it' : undefined;
}

interface CopyRequest extends Pick<CopyOptions, 'format' | 'checkpoint' | 'deadline'> {
  /** Pre-signed. */
  readonly url: string;
  readonly key: string;
}

export type Copy = (request: CopyRequest) => Promise<WrittenObject | CopyCheckpoint>;

export function createCopy(settings: CopySettings): { readonly copy: Copy; readonly abandon: Abandon } {
  const policy: HostPolicy = {
    allowLoopback: settings.ALLOW_LOOPBACK === 'true',
    ...(settings.DOWNLOAD_HOSTS !== undefined && { allowedHosts: settings.DOWNLOAD_HOSTS.split(',') }),
  };
  const dispatcher = createFileAgent(policy);
  const s3 = createS3Client();
  const { BUCKET: bucket, BUCKET_OWNER: expectedBucketOwner } = settings;
  const maxBytes = Number(settings.MAX_DOWNLOAD_BYTES);
  return {
    async copy({ url, key, ...request }) {
      checkUrl(url, policy);
      const source = { url, dispatcher, maxBytes };
      return copyFile({ source, destination: { s3, bucket, key, expectedBucketOwner }, ...request });
    },
    abandon: createAbandon(settings, s3),
  };
}

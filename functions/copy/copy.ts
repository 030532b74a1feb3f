import { safeAgent } from '../platform/safe-agent.ts';
import { checkUrl, type HostPolicy } from '../platform/safe-hosts.ts';
import { CopyFailed, ServiceUnavailable, UrlExpired } from '../workflow/errors.ts';
import type { CopySettings } from '../workflow/settings.ts';
import type { Checkpoint } from '../workflow/state-parts.ts';
import type { Write } from './body.ts';
import { type DownloadSource, download, type FileHead, RemainderRefused } from './download.ts';
import {
  checkSize,
  createDestination,
  ObjectWriter,
  resumeObjectWriter,
  type WrittenObject,
} from './object-writer.ts';
import type { Destination, Kind } from './upload.ts';

/** The copy's part of a checkpoint. SaveReport adds the report and the calls. */
export type CopyCheckpoint = Omit<Checkpoint, 'report_id' | 'calls'>;

export interface CopyOptions {
  readonly source: DownloadSource;
  readonly destination: Destination;
  /** Ends this call. The next call continues from the checkpoint. */
  readonly deadline: AbortSignal;
  readonly checkpoint?: CopyCheckpoint | undefined;
}

interface Copying {
  readonly kind: Kind;
  /** Strong. Without it, the next call cannot resume. */
  readonly etag: string | undefined;
  readonly writer: ObjectWriter;
}

/**
 * Copies a file of up to 78 GiB from its pre-signed URL to an S3 object, byte for byte, in the memory of two
 * parts. The object becomes visible only when the file is complete and S3 has verified its CRC32.
 *
 * One call makes one GET. If it breaks off, or the time is up, or S3 is unavailable, the call leaves a
 * checkpoint if it stored new parts. If it stored none, it throws and leaves the upload of an earlier call as
 * it was. Any other failure aborts the upload.
 *
 * @throws UrlExpired (fetch a fresh URL); CopyFailed, ServiceUnavailable (try again); DownloadRefused,
 *   AccessRefused (a person must act)
 */
export async function copyFile(options: CopyOptions): Promise<WrittenObject | CopyCheckpoint> {
  const { source, destination, checkpoint, deadline } = options;
  let copying = checkpoint && (await resume(destination, checkpoint));
  const stored = copying && checkpoint;
  let isDownloaded = false;
  const begin = ({ bytes = 0, etag, ...file }: FileHead): Write => {
    checkSize(bytes, destination);
    copying ??= { kind: file, etag, writer: new ObjectWriter(destination, file) };
    const { writer } = copying;
    return (chunk) => writer.write(chunk);
  };
  try {
    await download(source, stored, begin, deadline);
    isDownloaded = true;
    if (copying === undefined) throw new Error('The download ended without a file');
    return await copying.writer.end();
  } catch (error) {
    if (copying === undefined) throw error;
    if (mayKeepUpload(error, isDownloaded)) {
      const checkpoint = await suspend(copying);
      if (checkpoint) return checkpoint;
      if (stored) throw error;
    }
    await copying.writer.abort();
    throw error;
  }
}

async function resume(
  destination: Destination,
  { upload_id, stored_bytes, etag, content_type, content_encoding }: CopyCheckpoint,
): Promise<Copying | undefined> {
  const kind = { content_type, content_encoding };
  const writer = await resumeObjectWriter(destination, kind, upload_id, stored_bytes);
  return writer && { kind, etag, writer };
}

/** The next call can continue the upload, also if S3 could not complete it or the URL expired at once. */
function mayKeepUpload(failure: unknown, isDownloaded: boolean): boolean {
  if (failure instanceof ServiceUnavailable || failure instanceof UrlExpired) return true;
  // After the download has ended, CopyFailed means that S3 rejected the bytes.
  return failure instanceof CopyFailed && !(failure instanceof RemainderRefused) && !isDownloaded;
}

/** @returns the checkpoint; undefined if this call stored no new part, or the file cannot be resumed */
async function suspend({ kind, etag, writer }: Copying): Promise<CopyCheckpoint | undefined> {
  if (etag === undefined) return undefined;
  const stored = await writer.suspend();
  return stored && { ...kind, upload_id: stored.uploadId, etag, stored_bytes: stored.bytes };
}

interface CopyRequest extends Omit<CopyOptions, 'source' | 'destination'> {
  /** Pre-signed. */
  readonly url: string;
  readonly key: string;
}

export type Copy = ReturnType<typeof createCopy>;

export function createCopy(settings: CopySettings) {
  const policy: HostPolicy = {
    allowLoopback: settings.ALLOW_LOOPBACK === 'true',
    ...(settings.DOWNLOAD_HOSTS !== undefined && { allowedHosts: settings.DOWNLOAD_HOSTS.split(',') }),
  };
  const dispatcher = safeAgent(policy);
  const to = createDestination(settings);
  return async ({ url, key, ...options }: CopyRequest) => {
    checkUrl(url, policy);
    return copyFile({ ...options, source: { url, dispatcher }, destination: { ...to, key } });
  };
}

import { CopyFailed } from '../../workflow/errors.ts';
import { download, type FileHead, type Receiver, type Source } from './download.ts';
import { type Inspection, inspect } from './inspect.ts';
import { type ObjectWriter, openObjectWriter, openRing } from './object-writer.ts';
import type { Destination } from './upload.ts';

export interface CopyOptions {
  readonly source: Source;
  readonly destination: Destination;
  /** As requested of the platform: JSON is looked into, anything else is not. */
  readonly format: string;
  /** Where the storage host names no content type. */
  readonly contentType?: string;
  readonly signal?: AbortSignal;
  /** Called with the bytes that are here so far; fewer than before when the copy had to begin again. */
  readonly onProgress?: (bytes: number) => void;
  /** For tests: the bytes of part `number`, and the first of the growing pauses in milliseconds. */
  readonly size?: (number: number) => number;
  readonly pause?: number;
}

/** An object in S3 that is complete, verified and visible. */
export interface Copied {
  readonly bytes: number;
  /** `value` is base64, and what S3 itself states for the object. */
  readonly checksum: { readonly algorithm: 'CRC32'; readonly type: 'FULL_OBJECT'; readonly value: string };
  readonly contentType: string;
  readonly contentEncoding?: string;
  /** Where the file is a JSON array or NDJSON. */
  readonly rows?: number;
  readonly etag?: string;
  readonly versionId?: string;
  /** Bytes that had to be fetched once more. */
  readonly fetchedTwice: number;
}

/** One beginning of the copy: what watches the bytes, and what writes them. */
interface Attempt {
  readonly contentType: string;
  readonly contentEncoding: string | undefined;
  readonly inspection: Inspection;
  readonly writer: ObjectWriter;
}

/**
 * Copies a file of any size from its pre-signed URL to an S3 object, byte for byte, in the memory of two parts. The
 * object becomes visible only when the file is known to be whole and S3 has verified the checksum of all of it; whatever
 * goes wrong before leaves no upload open.
 *
 * @throws UrlExpired (fetch a fresh URL), CopyFailed and ServiceUnavailable (try again), DownloadRefused and
 *   AccessRefused (nothing helps but a person); the signal's reason
 */
export async function copyToS3(options: CopyOptions): Promise<Copied> {
  const { source, signal, pause } = options;
  const ring = openRing();
  let attempt: Attempt | undefined;
  let ready: Promise<void> | undefined; // until what a beginning left behind is gone, and the ring is free again
  let bytes = 0;
  const receiver: Receiver = {
    begin(file) {
      if (attempt) ready = all([ready, attempt.writer.abort()]);
      attempt = begin(options, file, ring);
      bytes = 0;
    },
    write(chunk) {
      const { inspection, writer } = started(attempt);
      const write = () => both(inspection.write(chunk), writer.write(chunk));
      const wait = ready?.then(write) ?? write();
      ready = undefined;
      bytes += chunk.length;
      options.onProgress?.(bytes);
      return wait;
    },
    closed: () => started(attempt).inspection.closed(),
  };
  try {
    const { fetchedTwice } = await download(source, receiver, {
      signal,
      ...(pause === undefined ? {} : { pause }),
    });
    await ready;
    return await finish(started(attempt), fetchedTwice);
  } catch (error) {
    await all([ready, attempt?.writer.abort()]);
    throw error;
  }
}

function begin(
  { destination, format, contentType: fallback, ...options }: CopyOptions,
  file: FileHead,
  ring: ReturnType<typeof openRing>,
): Attempt {
  const { contentEncoding } = file;
  const contentType = file.contentType ?? fallback ?? 'application/octet-stream';
  const kind = { contentType, ...(contentEncoding === undefined ? {} : { contentEncoding }) };
  const inspection = inspect(format, contentType, contentEncoding);
  return {
    contentType,
    contentEncoding,
    inspection,
    writer: openObjectWriter(destination, kind, ring, options),
  };
}

async function finish(
  { inspection, writer, contentType, contentEncoding }: Attempt,
  fetchedTwice: number,
): Promise<Copied> {
  const rows = await inspection.end();
  const { crc32, ...stored } = await writer.end();
  return {
    ...stored,
    checksum: { algorithm: 'CRC32', type: 'FULL_OBJECT', value: crc32 },
    contentType,
    ...(contentEncoding === undefined ? {} : { contentEncoding }),
    ...rows,
    fetchedTwice,
  };
}

function started(attempt: Attempt | undefined): Attempt {
  if (attempt === undefined)
    throw new CopyFailed('The storage host sent bytes before it said what they are.');
  return attempt;
}

async function all(waits: (Promise<void> | undefined)[]): Promise<void> {
  await Promise.all(waits);
}

function both(a: Promise<void> | undefined, b: Promise<void> | undefined): Promise<void> | undefined {
  return a && b ? all([a, b]) : (a ?? b);
}

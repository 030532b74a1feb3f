import { crc32 } from 'node:zlib';
import { createS3Client } from '../aws/s3.ts';
import { CopyFailed, DownloadRefused } from '../workflow/errors.ts';
import type { ObjectSettings } from '../workflow/settings.ts';
import type { StoredObject } from '../workflow/state-parts.ts';
import { PART_BYTES } from './parts.ts';
import {
  abortUpload,
  completeUpload,
  createUpload,
  type Destination,
  type Kind,
  listParts,
  type Part,
  putObject,
  uploadPart,
  type VerifiedObject,
} from './upload.ts';

/** One part fills while the other is uploaded. A third buffer gained no speed. */
const BUFFERS = 2;

// When a call's time is up, a minute is left. Two parts on their way get half of it: 0.6 MB/s.
export const SETTLE_MS = 30_000;

export type WrittenObject = Omit<StoredObject, 'copied_at' | 'rows'>;

/** An upload of an earlier call, with its parts 1, 2, 3 …. */
interface StartedUpload {
  readonly uploadId: string;
  readonly parts: readonly Part[];
}

/** Writes one object: by one PUT, or in parts if it is larger than a part. It is visible only after `end`. */
export class ObjectWriter {
  readonly #to: Destination;
  readonly #kind: Kind;
  readonly #partBytes: number;
  readonly #storedBefore: number;
  readonly #parts: Part[];
  readonly #buffers: Buffer[] = [];
  readonly #sending = Array.from({ length: BUFFERS }, () => Promise.resolve());
  readonly #stopping = new AbortController();
  #upload: Promise<string> | undefined;
  #number: number;
  #index = 0;
  #used = 0;
  #crc = 0;
  #failure: { readonly error: unknown } | undefined;

  constructor(to: Destination, kind: Kind, started?: StartedUpload) {
    this.#to = to;
    this.#kind = kind;
    this.#partBytes = to.partBytes ?? PART_BYTES;
    this.#parts = [...(started?.parts ?? [])];
    this.#storedBefore = this.#parts.length;
    this.#number = this.#parts.length;
    this.#upload = started && Promise.resolve(started.uploadId);
  }

  /**
   * A returned promise asks the caller to wait before it writes again.
   *
   * @throws DownloadRefused if the object grows larger than is allowed, and what the calls of S3 throw
   */
  write(chunk: Buffer): Promise<void> | undefined {
    this.#throwFailure();
    checkSize(this.#number * this.#partBytes + this.#used + chunk.length, this.#to);
    const copied = chunk.copy(this.#filling(), this.#used);
    // Computed while the bytes are in the CPU's cache. Over a whole part, it would take half as long again.
    this.#crc = crc32(copied < chunk.length ? chunk.subarray(0, copied) : chunk, this.#crc);
    this.#used += copied;
    if (this.#used < this.#partBytes) return undefined;
    this.#send();
    const rest = chunk.subarray(copied);
    // Returned after each part. It waits only while the other buffer is still on its way.
    return this.#sending[this.#index]?.then(() => (rest.length > 0 ? this.write(rest) : undefined));
  }

  /** @throws CopyFailed, AccessRefused, ServiceUnavailable */
  async end(): Promise<WrittenObject> {
    const stored = await (this.#number > 0
      ? this.#complete()
      : putObject(this.#to, this.#kind, this.#filling().subarray(0, this.#used)));
    return { key: this.#to.key, ...stored, ...this.#kind };
  }

  /**
   * Waits for the parts on their way, and leaves the upload to a later call. Fails a pending `write`; never
   * throws.
   *
   * @returns the upload, and the bytes of the parts 1, 2, 3 … that are stored; undefined if none is new
   */
  async suspend(): Promise<{ readonly uploadId: string; readonly bytes: number } | undefined> {
    this.#failure ??= { error: new CopyFailed('The next call resumes the copy.') };
    const timer = setTimeout(() => this.#stopping.abort(), SETTLE_MS);
    await Promise.allSettled(this.#sending);
    clearTimeout(timer);
    const uploadId = await this.#upload?.catch(() => undefined);
    const stored = countParts(this.#partsByNumber(), this.#partBytes);
    const isNew = stored > this.#storedBefore;
    return uploadId !== undefined && isNew ? { uploadId, bytes: stored * this.#partBytes } : undefined;
  }

  /** Removes what was uploaded. Fails a pending `write`; never throws. */
  async abort(): Promise<void> {
    // A part that S3 stores after the abort would stay until the lifecycle rule removes it.
    this.#stopping.abort();
    this.#failure ??= { error: this.#stopping.signal.reason };
    await Promise.allSettled(this.#sending);
    const uploadId = await this.#upload?.catch(() => undefined);
    if (uploadId !== undefined) await abortUpload(this.#to, uploadId);
  }

  /** Allocates the buffer when it is first needed, so that a small file takes only one. */
  #filling(): Buffer {
    const buffer = this.#buffers[this.#index] ?? Buffer.allocUnsafeSlow(this.#partBytes);
    this.#buffers[this.#index] = buffer;
    return buffer;
  }

  /** Sends the part that is filled, and begins another one. */
  #send(): void {
    this.#number += 1;
    const body = this.#filling().subarray(0, this.#used);
    const part = { number: this.#number, body, crc32: this.#crc };
    this.#upload ??= createUpload(this.#to, this.#kind);
    const sent = this.#upload
      .then((uploadId) => uploadPart(this.#to, uploadId, part, this.#stopping.signal))
      .then((stored) => void this.#parts.push(stored));
    sent.catch((error) => {
      this.#failure ??= { error };
    });
    this.#sending[this.#index] = sent;
    this.#index = (this.#index + 1) % BUFFERS;
    this.#used = 0;
    this.#crc = 0;
  }

  async #complete(): Promise<VerifiedObject> {
    this.#throwFailure();
    if (this.#used > 0) this.#send();
    await Promise.all(this.#sending);
    this.#throwFailure();
    return completeUpload(this.#to, (await this.#upload) ?? '', this.#partsByNumber());
  }

  #partsByNumber(): Part[] {
    return this.#parts.toSorted((one, other) => one.number - other.number);
  }

  #throwFailure(): void {
    if (this.#failure) throw this.#failure.error;
  }
}

/** Counts the parts 1, 2, 3 … of full size before the first gap. */
function countParts(parts: readonly Part[], partBytes: number): number {
  const gap = parts.findIndex((part, index) => part.number !== index + 1 || part.bytes !== partBytes);
  return gap < 0 ? parts.length : gap;
}

/**
 * Continues the upload of an earlier call. Parts behind these bytes are uploaded again.
 *
 * @returns undefined if S3 does not hold these bytes; then their upload is aborted
 */
export async function resumeObjectWriter(
  to: Destination,
  kind: Kind,
  uploadId: string,
  bytes: number,
): Promise<ObjectWriter | undefined> {
  const { partBytes = PART_BYTES } = to;
  const parts = await listParts(to, uploadId);
  if (parts === undefined) return undefined;
  const count = bytes / partBytes;
  if (countParts(parts, partBytes) >= count)
    return new ObjectWriter(to, kind, { uploadId, parts: parts.slice(0, count) });
  await abortUpload(to, uploadId);
  return undefined;
}

export type WriteObject = ReturnType<typeof createObjectWriting>;

/** Returns a function that writes an object of a step's own. */
export function createObjectWriting(settings: ObjectSettings) {
  const to = createDestination(settings);
  /** @param fill writes the bytes, and returns the number of rows. If it fails, nothing is visible */
  return async (
    key: string,
    kind: Kind,
    fill: (write: ObjectWriter['write']) => Promise<number | undefined>,
  ): Promise<Omit<StoredObject, 'copied_at'>> => {
    const object = new ObjectWriter({ ...to, key }, kind);
    try {
      const rows = await fill((chunk) => object.write(chunk));
      return { ...(await object.end()), rows };
    } catch (error) {
      await object.abort();
      throw error;
    }
  };
}

/** Objects of the bucket, without their key. */
export function createDestination({ BUCKET, BUCKET_OWNER, MAX_DOWNLOAD_BYTES }: ObjectSettings) {
  const maxBytes = Number(MAX_DOWNLOAD_BYTES);
  return { s3: createS3Client(), bucket: BUCKET, expectedBucketOwner: BUCKET_OWNER, maxBytes };
}

/** @throws DownloadRefused if an object of this size is not allowed */
export function checkSize(bytes: number, { key, maxBytes }: Destination): void {
  if (bytes <= maxBytes) return;
  throw new DownloadRefused(
    `${key} is larger than max_download_bytes (${maxBytes}) allows. Raise that setting, or export shorter ranges.`,
    { max: maxBytes },
  );
}

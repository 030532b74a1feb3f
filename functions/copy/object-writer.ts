import { crc32 } from 'node:zlib';
import { createS3Client } from '../aws/s3.ts';
import { CopyFailed, DownloadRefused } from '../workflow/errors.ts';
import type { ObjectSettings } from '../workflow/settings.ts';
import { PART_BYTES, type StoredObject } from '../workflow/state-parts.ts';
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
} from './upload.ts';

/** One part fills while the other is uploaded. A third buffer gained no speed. */
const BUFFERS = 2;

// When a call's time is up, a minute is left. Two parts on their way get half of it: 0.6 MB/s.
export const SETTLE_MS = 30_000;

export type WrittenObject = Omit<StoredObject, 'copied_at' | 'rows'>;

export type ObjectWriter = ReturnType<typeof createObjectWriter>;

/**
 * Writes one object: by one PUT, or in parts if it is larger than a part. It is visible only after `end`.
 *
 * @param resumed an upload of an earlier call
 */
export function createObjectWriter(
  to: Destination,
  kind: Kind,
  resumed?: { readonly uploadId: string; readonly parts: readonly Part[] },
) {
  const { partBytes = PART_BYTES } = to;
  const buffers: Buffer[] = [];
  const stopping = new AbortController();
  const sending = Array.from({ length: BUFFERS }, () => Promise.resolve());
  const parts = [...(resumed?.parts ?? [])];
  let upload = resumed && Promise.resolve(resumed.uploadId);
  let number = parts.length;
  let index = 0;
  let used = 0;
  let crc = 0;
  let failure: { readonly error: unknown } | undefined;
  const throwFailure = () => {
    if (failure) throw failure.error;
  };

  /** Allocates the buffer when it is first needed, so that a small file takes only one. */
  function filling(): Buffer {
    const buffer = buffers[index] ?? Buffer.allocUnsafeSlow(partBytes);
    buffers[index] = buffer;
    return buffer;
  }

  /**
   * A returned promise asks the caller to wait before it writes again.
   *
   * @throws DownloadRefused if the object grows larger than is allowed, and what the calls of S3 throw
   */
  function write(chunk: Buffer): Promise<void> | undefined {
    throwFailure();
    checkSize(number * partBytes + used + chunk.length, to);
    const copied = chunk.copy(filling(), used);
    // Computed while the bytes are in the CPU's cache. Over a whole part, it would take half as long again.
    crc = crc32(copied < chunk.length ? chunk.subarray(0, copied) : chunk, crc);
    used += copied;
    if (used < partBytes) return undefined;
    dispatch();
    const rest = chunk.subarray(copied);
    // Returned after each part. It waits only while the other buffer is still on its way.
    return sending[index]?.then(() => (rest.length > 0 ? write(rest) : undefined));
  }

  function dispatch(): void {
    number += 1;
    const part = { number, body: filling().subarray(0, used), crc32: crc };
    upload ??= createUpload(to, kind);
    const sent = upload
      .then((uploadId) => uploadPart(to, uploadId, part, stopping.signal))
      .then((stored) => void parts.push(stored));
    sent.catch((error) => {
      failure ??= { error };
    });
    sending[index] = sent;
    index = (index + 1) % BUFFERS;
    used = 0;
    crc = 0;
  }

  /** @throws CopyFailed, AccessRefused, ServiceUnavailable */
  async function end(): Promise<WrittenObject> {
    const stored = await (number > 0 ? complete() : putObject(to, kind, filling().subarray(0, used)));
    return { key: to.key, ...stored, ...kind };
  }

  async function complete() {
    throwFailure();
    if (used > 0) dispatch();
    await Promise.all(sending);
    throwFailure();
    return completeUpload(to, (await upload) ?? '', byNumber());
  }

  function byNumber(): Part[] {
    return parts.toSorted((one, other) => one.number - other.number);
  }

  /**
   * Waits for the parts on their way, and leaves the upload to a later call. Fails a pending `write`; never
   * throws.
   *
   * @returns the upload, and the bytes of the parts 1, 2, 3 … that are stored; undefined if none is new
   */
  async function suspend() {
    failure ??= { error: new CopyFailed('The next call resumes the copy.') };
    const timer = setTimeout(() => stopping.abort(), SETTLE_MS);
    await Promise.allSettled(sending);
    clearTimeout(timer);
    const uploadId = await upload?.catch(() => undefined);
    const stored = countParts(byNumber(), partBytes);
    const isNew = stored > (resumed?.parts.length ?? 0);
    return uploadId !== undefined && isNew ? { uploadId, bytes: stored * partBytes } : undefined;
  }

  /** Removes what was uploaded. Fails a pending `write`; never throws. */
  async function abort(): Promise<void> {
    // A part that S3 stores after the abort would stay until the lifecycle rule removes it.
    stopping.abort();
    failure ??= { error: stopping.signal.reason };
    await Promise.allSettled(sending);
    const uploadId = await upload?.catch(() => undefined);
    if (uploadId !== undefined) await abortUpload(to, uploadId);
  }

  return { write, end, suspend, abort };
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
    return createObjectWriter(to, kind, { uploadId, parts: parts.slice(0, count) });
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
    const object = createObjectWriter({ ...to, key }, kind);
    try {
      const rows = await fill(object.write);
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

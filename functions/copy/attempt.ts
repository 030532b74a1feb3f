import { CopyFailed, ExportError, ServiceUnavailable, UrlExpired } from '../workflow/errors.ts';
import type { FileHead } from './download.ts';
import { type Inspection, inspect } from './inspect.ts';
import { type Layout, layoutOf } from './layout.ts';
import { type Left, type ObjectWriter, openObjectWriter, type WriterOptions } from './object-writer.ts';
import type { PartWriter, Ring } from './part-writer.ts';
import { abortUpload, type Destination, findUpload, type Part } from './upload.ts';

/** What watches a file's bytes, and what writes them. */
export interface Attempt {
  readonly file: FileHead;
  readonly contentType: string;
  readonly inspection: Inspection;
  readonly writer: ObjectWriter;
}

/** A copy that a later call can go on with: an upload is open, and some of its parts are stored. */
export interface Unfinished extends Left {
  readonly file: FileHead;
  readonly contentType: string;
}

export interface PartsOptions extends Omit<WriterOptions, 'bytes'> {
  readonly destination: Destination;
  /** As requested of the platform: JSON is looked into, anything else is not. */
  readonly format: string;
}

export interface AttemptOptions extends PartsOptions {
  /** Where the storage host names no content type. */
  readonly contentType?: string;
}

/** @throws DownloadRefused where the encoding is one that cannot be checked, or the file a web page */
export function begin(options: AttemptOptions, file: FileHead, ring: Ring): Attempt {
  const contentType = file.contentType ?? options.contentType ?? 'application/octet-stream';
  const inspection = inspect(options.format, contentType, file.contentEncoding);
  const { contentEncoding } = file;
  const kind = { contentType, ...(contentEncoding === undefined ? {} : { contentEncoding }) };
  const writing = { ...options, bytes: file.bytes, mark: inspection.save };
  return {
    file,
    contentType,
    inspection,
    writer: openObjectWriter(options.destination, kind, ring, writing),
  };
}

/**
 * Goes on where an earlier call stopped. What that call, or one that was killed since, stored beyond is overwritten.
 *
 * @returns undefined where S3 does not have what it should have; what it has is removed then
 */
export async function resume(
  options: AttemptOptions,
  { uploadId, file, contentType, ...from }: Unfinished,
  ring: Ring,
): Promise<Attempt | undefined> {
  const { destination } = options;
  const { size } = layoutOf(file.bytes, options);
  const found = await findUpload(destination, uploadId);
  if (found === undefined) return undefined;
  const parts = found.parts.filter(({ number }) => number < from.part);
  if (!fill(parts, { from: 0, to: from.at }, size)) {
    await abortUpload(destination, found.upload);
    return undefined;
  }
  const inspection = inspect(options.format, contentType, undefined, from.shape);
  const begun = { upload: found.upload, parts };
  const writing = { ...options, bytes: file.bytes, from, mark: inspection.save };
  const writer = openObjectWriter(destination, { contentType }, ring, writing, begun);
  return { file, contentType, inspection, writer };
}

/** Whether the parts, of the sizes that they were to have, follow each other and hold these bytes. */
export function fill(
  parts: readonly Part[],
  { from, to }: { from: number; to: number },
  size: Layout['size'],
  first = 1,
): boolean {
  let at = from;
  for (const [index, { number, bytes }] of parts.entries()) {
    const last = index === parts.length - 1;
    if (number !== first + index || (last ? bytes > size(number) : bytes !== size(number))) return false;
    at += bytes;
  }
  return at === to;
}

/**
 * Both see the end of a part at the same byte, so that what is known of the file there belongs to the bytes stored.
 *
 * @returns a promise where the sender is to wait
 */
export function pass(
  inspection: Pick<Inspection, 'write'>,
  writer: Pick<PartWriter, 'left' | 'write'>,
  chunk: Buffer,
): Promise<void> | undefined {
  const left = writer.left();
  if (chunk.length <= left) return both(inspection.write(chunk), writer.write(chunk));
  const ending = chunk.subarray(0, left);
  const rest = () => pass(inspection, writer, chunk.subarray(left));
  return both(inspection.write(ending), writer.write(ending))?.then(rest) ?? rest();
}

/** What became of a copy that broke off: its time being up is a failure where no part came in it. */
export function failureOf(error: unknown, deadline: AbortSignal | undefined): unknown {
  if (deadline?.aborted !== true || error instanceof ExportError) return error;
  return new CopyFailed('No part of the file came in the time that a call has. Try again.');
}

/** Whether a later call may go on from where this one came to. */
export function mayPass(error: unknown): boolean {
  return error instanceof CopyFailed || error instanceof ServiceUnavailable || error instanceof UrlExpired;
}

function both(one: Promise<void> | undefined, other: Promise<void> | undefined): Promise<void> | undefined {
  return one && other ? Promise.all([one, other]).then(() => {}) : (one ?? other);
}

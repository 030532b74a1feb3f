import type { Copying } from '../workflow/copying.ts';
import type { Settings } from '../workflow/settings.ts';
import type { StoredObject } from '../workflow/states.ts';
import type { Unfinished } from './attempt.ts';
import { type CopyOptions, copyToS3, Divisible } from './copy.ts';
import { divide, type Range, servesRanges } from './copy-range.ts';
import type { FileHead } from './download.ts';
import { type Ends, fromState, openEnds, storedFile, toState } from './open-ends.ts';
import { partBytes } from './part-writer.ts';
import { createUpload } from './upload.ts';

/** With it come turns of 22 s each, of which eight are within the time that a range takes (see PARALLEL_ABOVE_BYTES). */
const RANGES_MAX = 8;

const CONTENT_TYPES: Readonly<Record<string, string>> = { JSON: 'application/json' };

export interface CopyRequest {
  readonly url: string;
  readonly key: string;
  /** As requested of the platform, for example JSON. */
  readonly format: string;
  /** What an earlier call left, in one go. */
  readonly copying: Pick<Copying, 'upload_id' | 'file' | 'position'> | undefined;
  /** When to stop, and leave the rest to a later call. */
  readonly deadline: AbortSignal;
  /** Whether a large file is left to be copied in ranges. */
  readonly divides: boolean;
}

/** What a later call goes on from: a position, or ranges of which nothing is stored yet. */
export type Left = Pick<Copying, 'upload_id' | 'file'> &
  (Required<Pick<Copying, 'position'>> | { readonly ranges: readonly Range[] });

export type StoredFile = Omit<StoredObject, 'key' | 'copied_at'>;

/** The copy of one file, from its pre-signed URL to its key. */
export type Copy = (request: CopyRequest) => Promise<StoredFile | Left>;

export function openCopy(settings: Settings): { copy: Copy } & Pick<Ends, 'abandon'> {
  const ends = openEnds(settings);
  const above = Number.MAX_SAFE_INTEGER;
  return { copy: (request) => copy(request, ends, above), abandon: ends.abandon };
}

async function copy(request: CopyRequest, ends: Ends, above: number): Promise<StoredFile | Left> {
  const { url, key, format, copying, deadline } = request;
  const contentType = CONTENT_TYPES[format.toUpperCase()];
  const options = {
    source: ends.source(url),
    destination: ends.destination(key),
    ...{ format, deadline, unfinished: copying && toUnfinished(copying) },
    ...(contentType === undefined ? {} : { contentType }),
  };
  const divides = request.divides ? (file: FileHead) => isDivisible(file, above) : undefined;
  try {
    return outcome(await copyToS3({ ...options, divides }));
  } catch (error) {
    if (!(error instanceof Divisible)) throw error;
    if (await servesRanges(options.source, error.file)) return begin(error.file, options, above);
    return outcome(await copyToS3(options));
  }
}

function isDivisible({ bytes = 0, etag, contentEncoding }: FileHead, above: number): boolean {
  return bytes > Math.max(above, partBytes(1)) && etag !== undefined && contentEncoding === undefined;
}

/** Two ranges of a file that is just above the limit, eight of one that is four times as large. */
async function begin(
  file: FileHead,
  options: Pick<CopyOptions, 'destination' | 'contentType'>,
  above: number,
): Promise<Left> {
  const { bytes = 0 } = file;
  const contentType = file.contentType ?? options.contentType ?? 'application/octet-stream';
  const { id } = await createUpload(options.destination, { contentType });
  const ranges = divide(bytes, Math.min(RANGES_MAX, Math.ceil((2 * bytes) / above)));
  return { upload_id: id, file: toState(file, contentType), ranges };
}

function outcome(ended: Awaited<ReturnType<typeof copyToS3>> | Unfinished): StoredFile | Left {
  if (!('uploadId' in ended)) return storedFile({ ...ended, crc32: ended.checksum.value }, ended);
  const { uploadId, file, contentType, part, at, shape } = ended;
  const position = { part, at, ...(shape === undefined ? {} : { shape }) };
  return { upload_id: uploadId, file: toState(file, contentType), position };
}

function toUnfinished({
  upload_id,
  file,
  position,
}: Pick<Copying, 'upload_id' | 'file' | 'position'>): Unfinished | undefined {
  if (position === undefined) return undefined;
  return { uploadId: upload_id, file: fromState(file), contentType: file.content_type, ...position };
}

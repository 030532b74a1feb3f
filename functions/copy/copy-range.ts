import { failureOf, fill, mayPass, type PartsOptions, pass } from './attempt.ts';
import { download, type FileHead, NotTheSame, type Source } from './download.ts';
import { type FragmentInspection, inspectFragment, inspectPlain, joinInspections } from './inspect.ts';
import { layoutOf, openParts } from './layout.ts';
import { openRing, type Position } from './part-writer.ts';
import { completeUpload, findUpload, type Stored } from './upload.ts';

/** Bytes of a file that are parts of their own, copied beside other ranges of it. */
export interface Range extends Position {
  readonly first: number;
  readonly from: number;
  /** Exclusive. Only the last range of a file may end within a part's size. */
  readonly to: number;
}

/** A file that is copied in ranges, into an upload that has been created for them. */
export interface Divided {
  readonly uploadId: string;
  readonly file: FileHead;
}

export interface RangeOptions extends PartsOptions {
  readonly source: Source;
  readonly deadline: AbortSignal;
  readonly ring?: ReturnType<typeof openRing>;
}

/** The file is another one by now, the host serves no ranges of it, or the upload is gone: it is to be begun again. */
export const VOID = 'void';

/**
 * Cuts a file into ranges of parts, as equal as the parts allow.
 *
 * @param bytes more than one part
 */
export function divide(bytes: number, ranges: number, { size } = layoutOf(bytes)): Range[] {
  const starts = [0];
  for (let part = 1; (starts.at(-1) ?? 0) + size(part) < bytes; part++)
    starts.push((starts.at(-1) ?? 0) + size(part));
  const parts = starts.length;
  const count = Math.min(ranges, parts);
  const firsts = Array.from({ length: count }, (_, at) => 1 + Math.floor((parts * at) / count));
  return firsts.map((first, at) => {
    const from = starts[first - 1] ?? 0;
    const to = starts[(firsts[at + 1] ?? Infinity) - 1] ?? bytes;
    return { first, from, to, part: first, at: from };
  });
}

/** @throws UrlExpired, CopyFailed */
export async function servesRanges(source: Source, file: FileHead): Promise<boolean> {
  const forgetful = { begin() {}, write: () => undefined, closed: async () => false };
  try {
    await download(source, forgetful, { from: { file, at: 0, to: 1 } });
    return true;
  } catch (error) {
    if (error instanceof NotTheSame) return false;
    throw error;
  }
}

/**
 * Copies what is missing of a range, as far as the time goes.
 *
 * @returns how far it came, which is further than before; {@link VOID} where it can come no further
 * @throws UrlExpired, CopyFailed, ServiceUnavailable where nothing was added; DownloadRefused, AccessRefused
 */
export async function copyRange(
  divided: Divided,
  range: Range,
  options: RangeOptions,
): Promise<Position | typeof VOID> {
  const { source, destination, deadline, pause, ring = openRing() } = options;
  const layout = layoutOf(divided.file.bytes, options);
  const found = await findUpload(destination, divided.uploadId);
  if (found === undefined) return VOID;
  const stored = found.parts.filter(({ number }) => number >= range.first && number < range.part);
  const from: Position = fill(stored, { from: range.from, to: range.at }, layout.size, range.first)
    ? range
    : { part: range.first, at: range.from };
  const inspection = inspectionOf(range, options.format, from.shape);
  const parts = openParts(destination, async () => found.upload, ring, layout, {
    ...options,
    ...{ from, until: range.to, mark: inspection.save },
  });
  const receiver = {
    begin() {},
    write: (chunk: Buffer) => pass(inspection, parts, chunk),
    closed: async () => false,
  };
  try {
    const only = { file: divided.file, at: from.at, to: range.to };
    await download(source, receiver, {
      signal: deadline,
      from: only,
      ...(pause === undefined ? {} : { pause }),
    });
    await parts.end();
    return await parts.settle();
  } catch (error) {
    const position = await parts.settle();
    if (error instanceof NotTheSame) return VOID;
    const failure = failureOf(error, deadline);
    if (mayPass(failure) && position.at > range.at) return position;
    throw failure;
  }
}

/** The first range begins as the file does; what stands before the others, they cannot know. */
function inspectionOf({ first }: Range, format: string, saved: string | undefined): FragmentInspection {
  return first === 1 ? inspectPlain(format, '', saved) : inspectFragment(format, saved);
}

/**
 * Makes the object visible of which all ranges are stored.
 *
 * @returns VOID where S3 has other parts than it should have
 * @throws DownloadRefused where it is not what the format says; CopyFailed, AccessRefused, ServiceUnavailable
 */
export async function joinRanges(
  { uploadId, file }: Divided,
  ranges: readonly Range[],
  { contentType = '', ...options }: PartsOptions & { contentType?: string },
): Promise<(Stored & { readonly rows?: number }) | typeof VOID> {
  const { destination, format } = options;
  const { bytes = Number.NaN } = file;
  const { size } = layoutOf(bytes, options);
  const found = await findUpload(destination, uploadId);
  if (found === undefined || !fill(found.parts, { from: 0, to: bytes }, size)) return VOID;
  const [beginning = '', ...fragments] = ranges.map(({ shape }) => shape ?? '');
  const rows = joinInspections(format, contentType, [beginning, ...fragments]);
  return { ...(await completeUpload(destination, found.upload, found.parts)), ...rows };
}

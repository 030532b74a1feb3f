import { createWriteStream } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { constants, crc32, createGunzip, createZstdCompress } from 'node:zlib';
import { base64Crc32 } from '../copy/crc32.ts';
import type { StoredObject } from '../workflow/state-parts.ts';
import type { Column } from '../workflow/table.ts';
import { createRequested } from './find-rows.ts';
import { replaceLoneSurrogates, unifyLineEnds } from './repair.ts';
import { CurateLimit, type ReportFile } from './report.ts';
import { chunksOf, type Found, readText } from './text.ts';

export interface Spooled {
  readonly file: ReportFile;
  /** Of the bytes as they came. */
  readonly bytes: number;
  /** Base64 of the big-endian CRC32 of those bytes. */
  readonly crc32: string;
}

type Kind = Pick<StoredObject, 'content_type' | 'content_encoding'> & {
  /** As requested of the platform. */
  readonly format: string;
  /** The date column and the columns of the request. Absent for a list, whose items are all rows. */
  readonly columns?: readonly Column[] | undefined;
};

/** Storage sends 16 to 64 KB at a time. Passing so little through each stage takes 1 to 3 CPU s per GB. */
const BLOCK_BYTES = 256 * 1024;

/** A gzip file may come without a Content-Encoding. */
const GZIP = Buffer.from([0x1f, 0x8b]);

/** Leaves about a tenth of a report. */
const COMPRESSION = { params: { [constants.ZSTD_c_compressionLevel]: 1 }, chunkSize: BLOCK_BYTES };

/** True for the formats whose rows CurateReport can read. */
export function hasRows(format: string): boolean {
  return /^(csv|json|ndjson|jsonl)$/i.test(format);
}

/**
 * Writes an object's body to a file, in flat memory, because DuckDB cannot read from a pipe. Only the text of a compressed
 * object is compressed again: it may be many times as large as the object, and there is room for twice the object. Writing
 * and reading any other text as it is takes a third of the CPU, and DuckDB 60 MB less. A fault of the content is a field of
 * the result, because the caller must first compare the CRC32: the bytes may belong to another object.
 *
 * @param base of the file's path
 * @throws CurateLimit, the body's own error
 */
export async function spool(
  body: Readable,
  base: string,
  kind: Kind,
  blockBytes = BLOCK_BYTES,
): Promise<Spooled> {
  let found: Found | undefined;
  const counts = { bytes: 0, crc: 0 };
  const layout = declaredLayout(kind);
  const requested = kind.columns && createRequested(kind.columns);
  const blocks = inBlocks(body, blockBytes, counts);
  const { value: head = Buffer.alloc(0) } = await blocks.next();
  const chunks = chunksOf({ head, rest: blocks });
  const isGzip = kind.content_encoding === 'gzip' || head.indexOf(GZIP) === 0;
  const path = isGzip ? `${base}.zst` : base;
  const repair = layout === 'csv' ? unifyLineEnds : replaceLoneSurrogates;
  const read = (text: AsyncIterable<Buffer>) =>
    repair(
      readText(text, layout, requested, (value) => {
        found = value;
      }),
    );
  const written = isGzip
    ? pipeline(
        chunks,
        createGunzip({ chunkSize: BLOCK_BYTES }),
        read,
        createZstdCompress(COMPRESSION),
        createWriteStream(path),
      )
    : writeFile(path, read(chunks));
  try {
    const fault = await written.then(() => undefined, faultOf);
    // A decoder stops at the first fault, but the CRC32 is that of all bytes.
    for await (const _ of blocks);
    const file = fault === undefined ? (found as Found) : { layout, fault };
    return { file: { path, ...file }, bytes: counts.bytes, crc32: base64Crc32(counts.crc) };
  } finally {
    body.destroy();
  }
}

/** Counts the bytes that it passes on. */
async function* inBlocks(
  body: AsyncIterable<Buffer>,
  size: number,
  counts: { bytes: number; crc: number },
): AsyncGenerator<Buffer> {
  let chunks: Buffer[] = [];
  let length = 0;
  const take = () => {
    const block = Buffer.concat(chunks);
    counts.bytes += block.length;
    counts.crc = crc32(block, counts.crc);
    chunks = [];
    length = 0;
    return block;
  };
  for await (const chunk of body) {
    chunks.push(chunk);
    length += chunk.length;
    if (length >= size) yield take();
  }
  yield take();
}

function declaredLayout({ format, content_type }: Kind): ReportFile['layout'] {
  if (/^csv$/i.test(format)) return 'csv';
  return /^(ndjson|jsonl)$/i.test(format) || /ndjson|jsonl|json-lines/i.test(content_type)
    ? 'lines'
    : 'array';
}

/** @throws CurateLimit, and any error that is not one of gzip */
function faultOf(error: NodeJS.ErrnoException): string {
  if (error.code === 'ENOSPC') throw new CurateLimit('storage', { cause: error });
  if (!error.code?.startsWith('Z_')) throw error;
  return `is gzip or labeled as gzip, and cannot be decoded (${error.code})`;
}

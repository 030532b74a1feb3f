import { randomUUID } from 'node:crypto';
import {
  closeSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from 'node:fs';
import { glob, readdir } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { crc32 } from 'node:zlib';
import { S3Error } from './answers.ts';

export type ObjectPlace = {
  directory: string;
  bucket: string;
  key: string;
  /** Default: the newest one. */
  version?: string | undefined;
  /** The bucket keeps each version of an object. */
  versioned?: boolean;
};

/** Folders in each bucket's folder. No key may start with them. */
const META = '.meta';
export const UPLOADS = '.uploads';
const VERSIONS_FOLDER = '.versions';
const HIDDEN_FOLDERS = [META, UPLOADS, VERSIONS_FOLDER];

export type ObjectMeta = {
  bytes: number;
  etag: string;
  /** base64, or '' if unknown. */
  crc32: string;
  contentType: string;
  contentEncoding?: string;
  lastModified: string;
  /** Only in a bucket with versions. */
  versionId?: string;
  /**
   * When the file was written, in epoch ms by the clock of the disk. A rename keeps it, and a copy may not.
   */
  mtimeMs: number;
};

/**
 * DIRECTORY/BUCKET/KEY, or the file of a version.
 *
 * @throws S3Error InvalidArgument if the key could lead out of the bucket's folder
 */
export function objectPath({ directory, bucket, key, version }: ObjectPlace): string {
  if (version !== undefined) return join(directory, bucket, VERSIONS_FOLDER, version.replace(/[^\w-]/g, ''));
  const segments = key.split('/');
  const unsafe =
    segments.some((segment) => ['', '.', '..'].includes(segment)) ||
    key.includes('\0') ||
    key.includes('\\') ||
    HIDDEN_FOLDERS.includes(segments[0] ?? '');
  if (unsafe) throw new S3Error('InvalidArgument', `The key cannot be used as a file path: ${key}`);
  return join(directory, bucket, ...segments);
}

function metaPath(place: ObjectPlace): string {
  if (place.version !== undefined) return `${objectPath(place)}.json`;
  return join(place.directory, place.bucket, META, `${place.key}.json`);
}

/*
 * Small files are read and written synchronously: handing a call to another thread and back takes ten times
 * the CPU of the call. So no other request comes between a condition that holds and the object that is
 * published, or between an object and its metadata.
 */

/** The path of a new file or folder on the same file system, so that a rename makes it visible at once. */
export function temporaryPath({ directory, bucket }: ObjectPlace): string {
  const folder = join(directory, bucket, UPLOADS);
  mkdirSync(folder, { recursive: true });
  return join(folder, randomUUID());
}

/**
 * Makes a finished temporary file visible at its key. Writes the metadata first: if the process is killed
 * before the second rename, {@link readMeta} sees that it is not of the file that is there.
 */
export function publish(
  place: ObjectPlace & { readonly now: () => number },
  temporary: string,
  described: Omit<ObjectMeta, 'etag' | 'lastModified' | 'versionId' | 'mtimeMs'>,
  etagSuffix = '',
): ObjectMeta {
  const meta: ObjectMeta = {
    ...described,
    // A strong ETag that is not the MD5 of the bytes, as with SSE-KMS, so that no client relies on the MD5.
    etag: `"${randomUUID()}${etagSuffix}"`,
    lastModified: new Date(place.now()).toISOString(),
    ...(place.versioned && { versionId: randomUUID() }),
    mtimeMs: statSync(temporary).mtimeMs,
  };
  const [path, metadata] = [objectPath(place), metaPath(place)];
  for (const file of [path, metadata]) mkdirSync(dirname(file), { recursive: true });
  writeFileSync(`${temporary}.json`, JSON.stringify(meta));
  if (meta.versionId !== undefined) {
    // Other names of the files, which stay when the object is replaced.
    const kept = { ...place, version: meta.versionId };
    mkdirSync(dirname(objectPath(kept)), { recursive: true });
    linkSync(temporary, objectPath(kept));
    linkSync(`${temporary}.json`, metaPath(kept));
  }
  renameSync(`${temporary}.json`, metadata);
  renameSync(temporary, path);
  return meta;
}

/** @throws S3Error NoSuchKey, NoSuchVersion */
export function readMeta(place: ObjectPlace): ObjectMeta {
  const file = statSync(objectPath(place), { throwIfNoEntry: false });
  const meta = readMetaFile(metaPath(place));
  if (file?.isFile() && meta && isOf(meta, file, objectPath(place))) return meta;
  if (place.version !== undefined)
    throw new S3Error('NoSuchVersion', 'The specified version does not exist.');
  if (!file?.isFile()) throw new S3Error('NoSuchKey', 'The specified key does not exist.');
  // Somebody put this file there by hand, or its writer was killed between its two renames, and this is the
  // object that was to be replaced. Manifests may name its checksum.
  const { size: bytes, mtimeMs } = file;
  const lastModified = file.mtime.toISOString();
  const checksum = checksumOf(objectPath(place));
  return {
    bytes,
    etag: `"${mtimeMs}"`,
    crc32: checksum,
    contentType: 'binary/octet-stream',
    lastModified,
    mtimeMs,
  };
}

/** True if the metadata is of this file: its size fits, and its time or else its checksum. */
function isOf({ bytes, mtimeMs, crc32: checksum }: ObjectMeta, file: Stats, path: string): boolean {
  if (bytes !== file.size) return false;
  return mtimeMs === file.mtimeMs || checksum === '' || checksum === checksumOf(path);
}

const CHUNK_BYTES = 1024 ** 2;

function checksumOf(path: string): string {
  const file = openSync(path, 'r');
  try {
    const chunk = Buffer.alloc(CHUNK_BYTES);
    let value = 0;
    for (let read = readSync(file, chunk); read > 0; read = readSync(file, chunk))
      value = crc32(chunk.subarray(0, read), value);
    return base64Crc(value);
  } finally {
    closeSync(file);
  }
}

/** A CRC32 in S3's form: four bytes, big endian, base64. */
export function base64Crc(crc: number): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(crc);
  return bytes.toString('base64');
}

export function remove(place: ObjectPlace): void {
  rmSync(objectPath(place), { force: true });
  rmSync(metaPath(place), { force: true });
}

/** The bucket's keys with this prefix after another one, in S3's order (by their UTF-8 bytes). */
export async function listKeys(
  directory: string,
  bucket: string,
  prefix: string,
  after = '',
): Promise<string[]> {
  const root = join(directory, bucket);
  const folder = join(root, prefix.slice(0, prefix.lastIndexOf('/') + 1));
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch((error) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return [];
    throw error;
  });
  return entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => relative(root, join(parentPath, name)))
    .filter(
      (key) => key.startsWith(prefix) && key > after && !HIDDEN_FOLDERS.includes(key.split('/', 1)[0] ?? ''),
    )
    .sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
}

/**
 * The newest change of an object in a folder of buckets, in epoch ms by the clock of the run that made it;
 * undefined if there is none.
 */
export async function newestChange(directory: string): Promise<number | undefined> {
  let newest: number | undefined;
  for await (const file of glob(`*/${META}/**/*.json`, { cwd: directory })) {
    const time = Date.parse(readMetaFile(join(directory, file))?.lastModified ?? '');
    if (time > (newest ?? 0)) newest = time;
  }
  return newest;
}

/** Metadata that cannot be read counts as absent. */
function readMetaFile(path: string): ObjectMeta | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return undefined;
  }
}

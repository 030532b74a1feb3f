import { randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { S3Error } from './answers.ts';

/** Beside the keys in each bucket's folder, and refused as a key's first segment. */
const META = '.meta';
const UPLOADS = '.uploads';
const KEY_BYTES_MAX = 1024;
const DAY_MS = 24 * 60 * 60 * 1000;

export type ObjectMeta = {
  bytes: number;
  etag: string;
  /** base64 */
  crc32: string;
  contentType: string;
  contentEncoding?: string;
  lastModified: string;
};

/**
 * The file of an object: DIRECTORY/bucket/key. A key that could leave the bucket's folder is refused.
 *
 * @throws S3Error InvalidArgument
 */
export function objectPath(directory: string, bucket: string, key: string): string {
  const segments = key.split('/');
  const unsafe =
    segments.some((segment) => ['', '.', '..'].includes(segment)) ||
    key.includes('\0') ||
    key.includes('\\') ||
    [META, UPLOADS].includes(segments[0] ?? '');
  if (unsafe || Buffer.byteLength(key) > KEY_BYTES_MAX) {
    throw new S3Error('InvalidArgument', `The key cannot be a file's path: ${key}`);
  }
  return join(directory, bucket, ...segments);
}

/** A new file outside the visible tree, on the same file system, so that a rename makes it visible at once. */
export async function temporaryPath(directory: string, bucket: string): Promise<string> {
  const folder = join(directory, bucket, UPLOADS);
  await mkdir(folder, { recursive: true });
  return join(folder, randomUUID());
}

/** Makes a finished temporary file visible at its key. The meta comes first: without its object it is ignored. */
export async function publish(
  directory: string,
  bucket: string,
  key: string,
  temporary: string,
  meta: ObjectMeta,
): Promise<void> {
  const path = objectPath(directory, bucket, key);
  const beside = metaPath(directory, bucket, key);
  await Promise.all([mkdir(dirname(path), { recursive: true }), mkdir(dirname(beside), { recursive: true })]);
  await writeFile(`${temporary}.json`, JSON.stringify(meta));
  await inTurn(path, async () => {
    await rename(`${temporary}.json`, beside);
    await rename(temporary, path);
  });
}

/** @throws S3Error NoSuchKey */
export async function readMeta(directory: string, bucket: string, key: string): Promise<ObjectMeta> {
  const file = await stat(objectPath(directory, bucket, key)).catch(() => undefined);
  if (!file?.isFile()) throw new S3Error('NoSuchKey', 'The specified key does not exist.');
  const meta = await readFile(metaPath(directory, bucket, key), 'utf8').then(
    (text) => JSON.parse(text) as ObjectMeta,
    () => undefined,
  );
  if (meta?.bytes === file.size) return meta;
  // A file that a person put there by hand is an object too.
  const lastModified = file.mtime.toISOString();
  return {
    bytes: file.size,
    etag: `"${file.mtimeMs}"`,
    crc32: '',
    contentType: 'binary/octet-stream',
    lastModified,
  };
}

export async function remove(directory: string, bucket: string, key: string): Promise<void> {
  const path = objectPath(directory, bucket, key);
  await inTurn(path, async () => {
    await rm(path, { force: true });
    await rm(metaPath(directory, bucket, key), { force: true });
  });
}

/** Changes of an object's two files under way. Two at once could leave the object of the one with the meta of the other. */
const changes = new Map<string, Promise<void>>();

async function inTurn(path: string, change: () => Promise<void>): Promise<void> {
  const before = changes.get(path) ?? Promise.resolve();
  const turn = before.catch(() => {}).then(change);
  changes.set(path, turn);
  try {
    await turn;
  } finally {
    if (changes.get(path) === turn) changes.delete(path);
  }
}

/** The bucket's keys that begin with `prefix`, in S3's order (by their UTF-8 bytes). */
export async function listKeys(directory: string, bucket: string, prefix: string): Promise<string[]> {
  const root = join(directory, bucket);
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) =>
      join(entry.parentPath, entry.name)
        .slice(root.length + 1)
        .replaceAll('\\', '/'),
    )
    .filter((key) => !key.startsWith(`${META}/`) && !key.startsWith(`${UPLOADS}/`) && key.startsWith(prefix))
    .sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
}

/** As the bucket's lifecycle rule: what a killed run left in the middle of an upload goes after a day. */
export async function removeStaleUploads(directory: string, bucket: string, now: number): Promise<void> {
  const folder = join(directory, bucket, UPLOADS);
  for (const name of await readdir(folder).catch(() => [])) {
    const path = join(folder, name);
    const modified = (await stat(path).catch(() => undefined))?.mtimeMs ?? now;
    if (now - modified > DAY_MS) await rm(path, { recursive: true, force: true });
  }
}

function metaPath(directory: string, bucket: string, key: string): string {
  return join(directory, bucket, META, `${key}.json`);
}

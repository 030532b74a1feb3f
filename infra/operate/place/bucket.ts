import { open, readdir, readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { ObjectStore } from '../../../functions/aws/objects.ts';
import { EXPORTS_PREFIX } from '../../../functions/workflow/keys.ts';
import { S3Error } from '../../lab/local/s3/answers.ts';
import { CREDENTIALS, LOCAL_AWS_ACCOUNT, startS3 } from '../../lab/local/s3/server.ts';
import { listKeys, objectPath, readMeta } from '../../lab/local/s3/store.ts';
import { readDeployment, requireOutput } from './deployment.ts';
import { createNoRunsError } from './has-runs.ts';

/** The bucket of the deployed stack, or the bucket of a folder of local runs. */
export interface Bucket extends ObjectStore, AsyncDisposable {}

/** The objects that exports have left. */
export interface ReadableBucket
  extends Pick<Bucket, 'list' | 'getText' | 'head' | 'readEnd'>,
    AsyncDisposable {
  /**
   * The file of this disk that has the object: its own, or a copy that this call writes.
   *
   * @param path of the copy
   * @returns undefined if the object, or this version of it, does not exist
   */
  toFile(key: string, path: string, version_id?: string): Promise<string | undefined>;
}

/** The folder of local runs, or without `local` the deployed stack. */
export interface Folder {
  readonly local?: true;
  readonly out: string;
}

/** @throws UsageError if nothing was deployed from here, or no run has begun in the folder */
export async function openBucket({ local, out }: Folder): Promise<Bucket> {
  return local ? openFolder(out) : openDeployed();
}

/**
 * Opens the bucket only to read it.
 *
 * @param mayBeEmpty a folder may have no runs yet
 * @throws UsageError if nothing was deployed from here, or no run has begun in the folder
 */
export async function openToRead({ local, out }: Folder, mayBeEmpty = false): Promise<ReadableBucket> {
  if (!local) {
    const store = await openDeployed();
    const { signal } = new AbortController();
    const toFile: ReadableBucket['toFile'] = async (key, path, version) =>
      (await store.getFile(key, path, signal, version)) && path;
    return { ...store, toFile };
  }
  const bucket = await findBucket(out);
  if (bucket === undefined && !mayBeEmpty) throw createNoRunsError(out);
  return readFolder(out, bucket ?? '');
}

/** Reads files in place: a server between would take 3 ms of CPU for each, and loading the SDK 0.2 s. */
function readFolder(directory: string, bucket: string): ReadableBucket {
  // A key that leads out of the bucket, as a manifest may have it, names no object.
  const find = (key: string, version?: string) => {
    const place = { directory, bucket, key, version };
    try {
      return { ...readMeta(place), path: resolve(objectPath(place)) };
    } catch (error) {
      if (error instanceof S3Error) return undefined;
      throw error;
    }
  };
  return {
    list: (prefix, after) => listKeys(directory, bucket, prefix, after),
    async getText(key) {
      const object = find(key);
      return object && readFile(object.path, 'utf8');
    },
    async head(key) {
      const object = find(key);
      return object && { crc32: object.crc32, ...(object.versionId && { version_id: object.versionId }) };
    },
    async readEnd(key, length) {
      const object = find(key);
      if (!object) return undefined;
      await using file = await open(object.path);
      const { size } = await file.stat();
      const bytes = Buffer.alloc(Math.min(length, size));
      if (size > 0) await file.read({ buffer: bytes, position: size - bytes.length });
      return { bytes, size };
    },
    toFile: async (key, _, version) => find(key, version)?.path,
    async [Symbol.asyncDispose]() {},
  };
}

/** Writes through the local S3, which keeps checksums and conditions. */
async function openFolder(out: string): Promise<Bucket> {
  const bucket = await findBucket(out);
  if (bucket === undefined) throw createNoRunsError(out);
  const server = await startS3({ directory: out, buckets: [bucket] });
  const { endpoint } = server;
  const client = { endpoint, region: 'us-east-1', credentials: CREDENTIALS, forcePathStyle: true };
  const { createObjectStore } = await import('../../../functions/aws/objects.ts');
  const store = createObjectStore({ BUCKET: bucket, BUCKET_OWNER: LOCAL_AWS_ACCOUNT }, client);
  return { ...store, [Symbol.asyncDispose]: server[Symbol.asyncDispose] };
}

async function findBucket(out: string): Promise<string | undefined> {
  const entries = await readdir(out, { withFileTypes: true }).catch(() => []);
  for (const { name } of entries.filter((entry) => entry.isDirectory())) {
    const inside = await readdir(`${out}/${name}`).catch(() => []);
    if (inside.some((entry) => `${entry}/` === EXPORTS_PREFIX)) return name;
  }
  return undefined;
}

async function openDeployed(): Promise<Bucket> {
  const deployment = await readDeployment();
  const { region, awsAccount: BUCKET_OWNER } = deployment;
  const BUCKET = requireOutput(deployment, 'bucket');
  const { createObjectStore } = await import('../../../functions/aws/objects.ts');
  const store = createObjectStore({ BUCKET, BUCKET_OWNER }, { region });
  return { ...store, async [Symbol.asyncDispose]() {} };
}

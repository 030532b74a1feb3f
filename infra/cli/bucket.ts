import { readdir } from 'node:fs/promises';
import { createObjectStore, type ObjectStore } from '../../functions/aws/objects.ts';
import { EXPORTS_PREFIX } from '../../functions/workflow/keys.ts';
import { ACCOUNT, CREDENTIALS, startS3 } from '../local/s3/server.ts';
import { readDeployment, requireOutput } from './deployment.ts';
import { UsageError } from './errors.ts';

/** The bucket of the deployed stack, or that of a local run's folder. */
export interface Bucket extends ObjectStore, AsyncDisposable {}

/** The objects that exports have left. */
export type ReadableBucket = Pick<
  Bucket,
  'list' | 'getText' | 'head' | 'readEnd' | typeof Symbol.asyncDispose
>;

/** The folder of local runs, or without `local` the deployed stack. */
export interface Folder {
  readonly local?: true;
  readonly out: string;
}

/** Nothing was exported yet. */
export const NO_OBJECTS: ReadableBucket = {
  list: async () => [],
  getText: async () => undefined,
  head: async () => undefined,
  readEnd: async () => undefined,
  async [Symbol.asyncDispose]() {},
};

/** @throws UsageError if nothing was deployed from here, or the folder has no exports */
export async function openBucket({ local, out }: Folder): Promise<Bucket> {
  return local ? openFolder(out) : openDeployed();
}

/** Like {@link openBucket}, but a folder may be empty. */
export async function openToRead(folder: Folder): Promise<ReadableBucket> {
  if (folder.local && (await findBucket(folder.out)) === undefined) return NO_OBJECTS;
  return openBucket(folder);
}

/** Reads the folder through the local S3, which knows checksums and versions. */
async function openFolder(out: string): Promise<Bucket> {
  const bucket = await findBucket(out);
  if (bucket === undefined) throw new UsageError([`--out ${out} has no exports; 'npm start' makes one`]);
  const server = await startS3({ directory: out, buckets: [bucket] });
  const { endpoint } = server;
  const client = { endpoint, region: 'us-east-1', credentials: CREDENTIALS, forcePathStyle: true };
  const store = createObjectStore({ BUCKET: bucket, BUCKET_OWNER: ACCOUNT }, client);
  return { ...store, [Symbol.asyncDispose]: () => server.close() };
}

async function findBucket(out: string): Promise<string | undefined> {
  const entries = await readdir(out, { withFileTypes: true }).catch(() => []);
  for (const { name } of entries.filter((entry) => entry.isDirectory())) {
    const inside = await readdir(`${out}/${name}`).catch(() => []);
    if (inside.some((each) => `${each}/` === EXPORTS_PREFIX)) return name;
  }
  return undefined;
}

async function openDeployed(): Promise<Bucket> {
  const deployment = await readDeployment();
  const { region, awsAccount: BUCKET_OWNER } = deployment;
  const BUCKET = requireOutput(deployment, 'bucket');
  const store = createObjectStore({ BUCKET, BUCKET_OWNER }, { region });
  return { ...store, async [Symbol.asyncDispose]() {} };
}

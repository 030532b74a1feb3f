import { readdir } from 'node:fs/promises';
import { GetObjectCommand, HeadObjectCommand, paginateListObjectsV2, S3Client } from '@aws-sdk/client-s3';
import type { TablePartitions } from '../../functions/decisions/missing.ts';
import { ExportError } from '../../functions/workflow/errors.ts';
import { EXPORTS_PREFIX } from '../../functions/workflow/keys.ts';
import { catalogName } from '../../functions/workflow/table.ts';
import { openPartitions } from '../local/partitions.ts';
import { ACCOUNT, CREDENTIALS, startS3 } from '../local/s3/server.ts';
import { OUTPUTS_FILE, readDeployedPlace, readOutput } from './deployment.ts';
import { createAwsFailure, UsageError } from './errors.ts';

/** The facts of an object that `HeadObject` gives. */
export interface ObjectHead {
  readonly crc32?: string;
  readonly version_id?: string;
  readonly metadata: Readonly<Record<string, string>>;
}

/** The objects that exports have left, in the deployed bucket or in the folder of a local run. */
export interface ExportedObjects extends AsyncDisposable {
  /** Keys in the order of their characters. */
  list(prefix: string): Promise<string[]>;
  /** undefined if the object does not exist. */
  getText(key: string): Promise<string | undefined>;
  /** undefined if the object does not exist. */
  head(key: string): Promise<ObjectHead | undefined>;
}

/** The folder of local runs, or without `local` the deployed stack. */
interface Folder {
  readonly local?: true;
  readonly out: string;
}

/** Nothing was exported yet. */
export const NO_OBJECTS: ExportedObjects = {
  list: async () => [],
  getText: async () => undefined,
  head: async () => undefined,
  async [Symbol.asyncDispose]() {},
};

/** Reads a local run's folder through the local S3, which knows checksums and metadata. @throws UsageError */
export async function openBucket({ local, out }: Folder): Promise<ExportedObjects> {
  return local ? openFolder(out) : openDeployedBucket();
}

async function openFolder(out: string): Promise<ExportedObjects> {
  const bucket = await findBucket(out);
  if (bucket === undefined) throw new UsageError([`--out ${out} has no exports; 'npm start' makes one`]);
  const server = await startS3({ directory: out, buckets: [bucket] });
  const client = new S3Client({
    endpoint: server.endpoint,
    region: 'us-east-1',
    credentials: CREDENTIALS,
    forcePathStyle: true,
  });
  return readBucket(client, { Bucket: bucket, ExpectedBucketOwner: ACCOUNT }, () => server.close());
}

async function findBucket(out: string): Promise<string | undefined> {
  const entries = await readdir(out, { withFileTypes: true }).catch(() => []);
  for (const { name } of entries.filter((entry) => entry.isDirectory())) {
    const inside = await readdir(`${out}/${name}`).catch(() => []);
    if (inside.some((each) => `${each}/` === EXPORTS_PREFIX)) return name;
  }
  return undefined;
}

async function openDeployedBucket(): Promise<ExportedObjects> {
  const bucket = await readOutput('bucket');
  if (bucket === undefined)
    throw new UsageError([`${OUTPUTS_FILE} names no bucket: run 'npm run deploy', or use --local`]);
  const { region, awsAccount } = await readDeployedPlace();
  const client = new S3Client({ ...(region && { region }) });
  return readBucket(client, { Bucket: bucket, ...(awsAccount && { ExpectedBucketOwner: awsAccount }) });
}

function readBucket(
  client: S3Client,
  bucket: { Bucket: string; ExpectedBucketOwner?: string },
  close?: () => Promise<void>,
): ExportedObjects {
  const failure = (error: unknown) =>
    createAwsFailure(error, `read the bucket ${bucket.Bucket}`, 's3:ListBucket and s3:GetObject');
  return {
    async list(Prefix) {
      const keys: string[] = [];
      try {
        for await (const { Contents = [] } of paginateListObjectsV2({ client }, { ...bucket, Prefix }))
          keys.push(...Contents.map(({ Key = '' }) => Key));
      } catch (error) {
        throw failure(error);
      }
      return keys;
    },
    async getText(Key) {
      try {
        const { Body } = await client.send(new GetObjectCommand({ ...bucket, Key }));
        return await Body?.transformToString();
      } catch (error) {
        if ((error as Error).name === 'NoSuchKey') return undefined;
        throw failure(error);
      }
    },
    async head(Key) {
      try {
        const command = new HeadObjectCommand({ ...bucket, Key, ChecksumMode: 'ENABLED' });
        const { ChecksumCRC32, VersionId, Metadata = {} } = await client.send(command);
        return {
          ...(ChecksumCRC32 !== undefined && { crc32: ChecksumCRC32 }),
          ...(VersionId !== undefined && { version_id: VersionId }),
          metadata: Metadata,
        };
      } catch (error) {
        if ((error as Error).name === 'NotFound') return undefined;
        throw failure(error);
      }
    },
    async [Symbol.asyncDispose]() {
      client.destroy();
      await close?.();
    },
  };
}

/**
 * The partitions of the tables: those of the deployed stack, or those that local runs left in their folder.
 *
 * @returns undefined if the stack has no tables, or was not deployed from here
 */
export async function openCatalog({ local, out }: Folder): Promise<TablePartitions | undefined> {
  return local ? readPartitions(out) : readDeployedCatalog();
}

function readPartitions(out: string): TablePartitions {
  const partitions = openPartitions(out);
  return {
    async getPartitions(table, values) {
      const registered = partitions.of(catalogName(table));
      return values.filter((each) => registered.has(each.join('/'))).map((each) => ({ values: each }));
    },
  };
}

async function readDeployedCatalog(): Promise<TablePartitions | undefined> {
  const GLUE_DATABASE = await readOutput('database');
  const BUCKET = await readOutput('bucket');
  if (GLUE_DATABASE === undefined || BUCKET === undefined) return undefined;
  const { region } = await readDeployedPlace();
  if (region !== undefined) process.env.AWS_REGION = region;
  const { createCatalog } = await import('../../functions/aws/catalog.ts');
  const catalog = createCatalog({ GLUE_DATABASE, BUCKET });
  return {
    getPartitions: (table, values) =>
      catalog.getPartitions(table, values).catch((error: unknown) => {
        if (!(error instanceof ExportError)) throw error;
        const { aws_error: name = error.name } = error.facts;
        throw createAwsFailure({ name }, `read the partitions of table ${table}`, 'glue:BatchGetPartition');
      }),
  };
}

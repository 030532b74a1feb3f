import {
  DeleteObjectsCommand,
  ListObjectVersionsCommand,
  type ListObjectVersionsCommandOutput,
  type S3Client,
} from '@aws-sdk/client-s3';
import * as z from 'zod/mini';
import { createS3Client } from '../../../functions/aws/s3.ts';

/** What CloudFormation sends for a custom resource. */
const Event = z.object({
  RequestType: z.enum(['Create', 'Update', 'Delete']),
  /** A pre-signed URL: never log it. */
  ResponseURL: z.string(),
  StackId: z.string(),
  RequestId: z.string(),
  LogicalResourceId: z.string(),
  ResourceProperties: z.object({ BucketName: z.string() }),
});

/**
 * A custom resource that stands for the contents of a bucket: removing it empties the bucket, all versions
 * included. CloudFormation does not remove a bucket that has objects.
 */
export async function handler(event: unknown): Promise<void> {
  const { RequestType, ResponseURL, ResourceProperties, ...ids } = Event.parse(event);
  const { BucketName } = ResourceProperties;
  const failed =
    RequestType === 'Delete' ? await emptyBucket(BucketName).then(succeed, toFailedStatus) : undefined;
  const answer = { ...ids, PhysicalResourceId: BucketName, ...(failed ?? { Status: 'SUCCESS' }) };
  // The URL was signed without a Content-Type.
  const headers = { 'content-type': '' };
  const { ok, status } = await fetch(ResponseURL, { method: 'PUT', body: JSON.stringify(answer), headers });
  if (!ok) throw new Error(`CloudFormation did not take the answer (${status})`);
}

function succeed(): undefined {}

function toFailedStatus(error: unknown) {
  const { name, message } = error as Error;
  return { Status: 'FAILED', Reason: `The bucket could not be emptied (${name}: ${message})` };
}

/** @throws Error that names the first object that S3 keeps */
async function emptyBucket(Bucket: string): Promise<void> {
  const s3 = createS3Client();
  for (;;) {
    // Always the first page: the objects of the one before are gone.
    const { Versions = [], DeleteMarkers = [] } = await listVersions(s3, Bucket);
    const Objects = [...Versions, ...DeleteMarkers].map(({ Key, VersionId }) => ({ Key, VersionId }));
    if (Objects.length === 0) return;
    const { Errors: [refused] = [] } = await s3.send(
      new DeleteObjectsCommand({ Bucket, Delete: { Objects, Quiet: true } }),
    );
    if (refused) throw new Error(`${refused.Key}: ${refused.Code} ${refused.Message}`);
  }
}

/** @returns nothing if somebody has removed the bucket */
async function listVersions(
  s3: S3Client,
  Bucket: string,
): Promise<Pick<ListObjectVersionsCommandOutput, 'Versions' | 'DeleteMarkers'>> {
  try {
    return await s3.send(new ListObjectVersionsCommand({ Bucket }));
  } catch (error) {
    if (error instanceof Error && error.name === 'NoSuchBucket') return {};
    throw error;
  }
}

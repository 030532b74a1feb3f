import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { ACCOUNT, CREDENTIALS } from '../../infra/local/s3/server.ts';
import { countUploads } from './s3.ts';
import type { Workflow } from './workflow.ts';

/** Counts the multipart uploads that are neither completed nor aborted. */
export function openUploads({ out, bucket }: Workflow): Promise<number> {
  return countUploads(out, bucket);
}

export async function replaceObject(workflow: Workflow, key: string, text: string): Promise<void> {
  await clientOf(workflow).send(new PutObjectCommand({ ...bucketOf(workflow), Key: key, Body: text }));
}

function clientOf({ s3: { endpoint } }: Workflow): S3Client {
  return new S3Client({ endpoint, region: 'us-east-1', credentials: CREDENTIALS, forcePathStyle: true });
}

function bucketOf({ bucket }: Workflow) {
  return { Bucket: bucket, ExpectedBucketOwner: ACCOUNT };
}

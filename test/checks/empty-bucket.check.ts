import { DeleteObjectCommand, ListObjectVersionsCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { expect, it } from 'vitest';
import { handler } from '../../infra/stack/sandbox/empty-bucket.ts';
import { callCustomResource } from '../support/custom-resource.ts';
import { awsEnvironment, setEnvironment } from '../support/lambda.ts';
import { BUCKET, startTestS3 } from '../support/s3.ts';

// Against versitygw: the local S3 lists no versions.

it('a bucket with replaced and removed objects is empty afterwards', async () => {
  await using s3 = await startTestS3({ versioned: true });
  const put = (Key: string) => s3.client.send(new PutObjectCommand({ Bucket: BUCKET, Key, Body: Key }));
  for (const key of ['exports/a', 'exports/a', 'tables/b']) await put(key);
  await s3.client.send(new DeleteObjectCommand({ Bucket: BUCKET, Key: 'tables/b' }));
  setEnvironment(awsEnvironment({ S3: s3.endpoint }));
  const { answer } = await callCustomResource(handler, 'Delete', { BucketName: BUCKET });
  expect(answer).toMatchObject({ Status: 'SUCCESS' });
  const { Versions, DeleteMarkers } = await s3.client.send(new ListObjectVersionsCommand({ Bucket: BUCKET }));
  expect({ Versions, DeleteMarkers }).toEqual({ Versions: undefined, DeleteMarkers: undefined });
});

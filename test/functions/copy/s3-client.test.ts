import { HeadBucketCommand } from '@aws-sdk/client-s3';
import { expect, onTestFinished, test } from 'vitest';
import { openS3Client } from '../../../functions/copy/s3-client.ts';
import { awsEnvironment, setEnvironment } from '../../support/lambda.ts';
import { listen } from '../../support/listen.ts';
import { refuse } from '../../support/s3-answers.ts';

// Together they are part of the time that a copy keeps back for its end: a call that hangs must not outlive its function.
test('a call to S3 is tried four times, and a try that hangs ends by itself', async () => {
  const server = await listen(refuse(503));
  onTestFinished(() => server[Symbol.asyncDispose]());
  setEnvironment(awsEnvironment({ S3: server.url }));
  const s3 = openS3Client();
  onTestFinished(() => s3.destroy());
  await expect(s3.send(new HeadBucketCommand({ Bucket: 'exports' }))).rejects.toThrow();
  expect(server.requests).toHaveLength(4);
  expect(s3.config.requestHandler).toMatchObject({
    config: {
      ...{ connectionTimeout: 5_000, requestTimeout: 60_000, socketTimeout: 60_000 },
      throwOnRequestTimeout: true,
    },
  });
});

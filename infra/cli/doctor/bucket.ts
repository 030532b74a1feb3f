import { HeadBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { deployedIn, OUTPUTS_FILE, readOutput } from '../deployed-outputs.ts';
import { type Check, fault, ok, unknown } from './check.ts';

/** The deployed bucket, as the AWS credentials in use here see it. Nothing is written. */
export async function checkDeployedBucket(): Promise<Check> {
  const bucket = await readOutput('bucket');
  if (bucket === undefined) {
    return unknown('bucket', `${OUTPUTS_FILE} names none`, "Run 'npm run deploy' from this checkout.");
  }
  const { region, awsAccount } = await deployedIn();
  const s3 = new S3Client({ ...(region && { region }) });
  try {
    return await checkBucket(s3, bucket, awsAccount);
  } finally {
    s3.destroy();
  }
}

/** @param owner the AWS account that must own it */
export async function checkBucket(s3: S3Client, bucket: string, owner: string | undefined): Promise<Check> {
  try {
    await s3.send(new HeadBucketCommand({ Bucket: bucket, ...(owner && { ExpectedBucketOwner: owner }) }));
    return ok('bucket', `${bucket} is there; that SaveReport's role may write to it, only a run shows`);
  } catch (error) {
    const { name, $metadata } = error as Error & { $metadata?: { httpStatusCode?: number } };
    const status = $metadata?.httpStatusCode;
    if (status === 404) return fault('bucket', `${bucket} does not exist`, "Run 'npm run deploy'.");
    if (status === 403)
      return fault(
        'bucket',
        `${bucket} may not be seen from here, or is another AWS account's`,
        'Use AWS credentials of the stack’s account with s3:ListBucket.',
      );
    return unknown('bucket', `${bucket}: ${name}`, 'Check the AWS credentials and region in use.');
  }
}

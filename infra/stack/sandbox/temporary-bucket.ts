import { join } from 'node:path';
import { CustomResource, Duration, RemovalPolicy } from 'aws-cdk-lib';
import { Grant } from 'aws-cdk-lib/aws-iam';
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import { BlockPublicAccess, Bucket, BucketEncryption } from 'aws-cdk-lib/aws-s3';
import { Construct } from 'constructs';
import type { Config } from '../config/config.ts';
import { createSandboxFunction } from './create-sandbox-function.ts';

/** Lambda's maximum. It removes 1,000 objects in a second. */
const EMPTIER_TIMEOUT = Duration.minutes(15);

const EMPTIER_MEMORY_MB = 256;

/** Empties buckets when they are removed. */
export class BucketEmptier extends Construct {
  private readonly function: LambdaFunction;

  constructor(scope: Construct, id: string, { config, bundles }: { config: Config; bundles: string }) {
    super(scope, id);
    this.function = createSandboxFunction(this, 'Function', {
      config,
      bundle: join(bundles, 'empty-bucket'),
      memorySize: EMPTIER_MEMORY_MB,
      timeout: EMPTIER_TIMEOUT,
    });
  }

  /**
   * CDK's `autoDeleteObjects` would do it with a function whose log group stays, and whose role may write to
   * every group.
   */
  empty(bucket: Bucket): void {
    const grantee = this.function;
    const ofBucket = { actions: ['s3:ListBucketVersions'], resourceArns: [bucket.bucketArn] };
    const actions = ['s3:DeleteObject', 's3:DeleteObjectVersion'];
    const grants = [
      Grant.addToPrincipal({ grantee, ...ofBucket }),
      Grant.addToPrincipal({ grantee, actions, resourceArns: [bucket.arnForObjects('*')] }),
    ];
    const contents = new CustomResource(bucket, 'Contents', {
      resourceType: 'Custom::BucketContents',
      serviceToken: grantee.functionArn,
      properties: { BucketName: bucket.bucketName },
      serviceTimeout: EMPTIER_TIMEOUT,
    });
    // Removed before them.
    for (const grant of grants) grant.applyBefore(contents);
  }
}

interface TemporaryBucketProps {
  readonly emptier: BucketEmptier;
  readonly versioned?: boolean;
  /** Default: objects stay as long as the bucket. */
  readonly expiration?: Duration;
}

/** A private bucket that goes with its stack, with all that it holds. */
export function createTemporaryBucket(
  scope: Construct,
  id: string,
  { emptier, versioned = false, expiration }: TemporaryBucketProps,
): Bucket {
  const bucket = new Bucket(scope, id, {
    blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
    enforceSSL: true,
    encryption: BucketEncryption.S3_MANAGED,
    versioned,
    removalPolicy: RemovalPolicy.DESTROY,
    ...(expiration && { lifecycleRules: [{ id: 'Expired', expiration }] }),
  });
  emptier.empty(bucket);
  return bucket;
}

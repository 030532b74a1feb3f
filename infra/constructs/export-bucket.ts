import { Duration, RemovalPolicy } from 'aws-cdk-lib';
import { Grant, type IGrantable } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import {
  BlockPublicAccess,
  Bucket,
  BucketEncryption,
  type BucketProps,
  type CfnBucket,
} from 'aws-cdk-lib/aws-s3';
import { Construct } from 'constructs';
import { EXPORTS_PREFIX, FAILURE, MANIFEST } from '../../functions/workflow/keys.ts';
import { grantKey } from './encryption-key.ts';

/** A window ends within a day (see waits.ts), so what is unfinished after one was killed. */
const ABORT_UPLOADS_AFTER = Duration.days(1);

/** How long an object that a later run replaced, and which its manifest still names by version, can be read. */
const KEEP_REPLACED = Duration.days(90);

/** Where the reports go. It outlives the stack. */
export class ExportBucket extends Construct {
  readonly bucket: Bucket;
  private readonly key: IKey | undefined;

  constructor(scope: Construct, id: string, { encryptionKey, ...props }: BucketProps = {}) {
    super(scope, id);
    this.key = encryptionKey;
    this.bucket = new Bucket(this, 'Bucket', {
      blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
      enforceSSL: true,
      // The bucket's key spares a call to KMS for each object.
      ...(encryptionKey
        ? { encryption: BucketEncryption.KMS, encryptionKey, bucketKeyEnabled: true }
        : { encryption: BucketEncryption.S3_MANAGED }),
      versioned: true,
      removalPolicy: RemovalPolicy.RETAIN,
      lifecycleRules: [
        { id: 'UnfinishedUploads', abortIncompleteMultipartUploadAfter: ABORT_UPLOADS_AFTER },
        {
          id: 'ReplacedObjects',
          noncurrentVersionExpiration: KEEP_REPLACED,
          expiredObjectDeleteMarker: true,
        },
      ],
      ...props,
    });
    // `eventBridgeEnabled` would add a custom resource with a Lambda function of its own to say the same.
    const resource = this.bucket.node.defaultChild as CfnBucket;
    resource.addPropertyOverride(
      'NotificationConfiguration.EventBridgeConfiguration.EventBridgeEnabled',
      true,
    );
  }

  /** The manifest, and no object that one names; what is overwritten stays as an older version. */
  grantLeaveManifest(grantee: IGrantable): void {
    this.grant(grantee, ['s3:PutObject'], `*/${MANIFEST}`);
    grantKey(grantee, this.key, 's3', ['kms:GenerateDataKey']);
  }

  /** PutObject, or an upload in parts that can be taken up again and given up. */
  grantUpload(grantee: IGrantable): void {
    this.grant(grantee, ['s3:PutObject', 's3:AbortMultipartUpload', 's3:ListMultipartUploadParts']);
    // S3 decrypts the parts to put them together.
    grantKey(grantee, this.key, 's3', ['kms:Decrypt', 'kms:GenerateDataKey']);
  }

  /**
   * The manifests and failures of earlier runs, to see whether the objects are still there, which HeadObject has no
   * permission of its own for, and to be told what is not: without s3:ListBucket, S3 answers 403 for what is missing, as it
   * does where a permission is. It cannot be limited to a prefix, which no GetObject has.
   */
  grantReadOutcomes(grantee: IGrantable): void {
    Grant.addToPrincipal({ grantee, actions: ['s3:ListBucket'], resourceArns: [this.bucket.bucketArn] });
    this.grant(grantee, ['s3:GetObject']);
    grantKey(grantee, this.key, 's3', ['kms:Decrypt']);
  }

  /** The card of a failure, and nothing else. */
  grantLeaveFailure(grantee: IGrantable): void {
    this.grant(grantee, ['s3:PutObject'], `*/${FAILURE}`);
    grantKey(grantee, this.key, 's3', ['kms:GenerateDataKey']);
  }

  /** To give up an upload that a failed window leaves. */
  grantAbandon(grantee: IGrantable): void {
    this.grant(grantee, ['s3:AbortMultipartUpload']);
  }

  grantRemoveFailure(grantee: IGrantable): void {
    this.grant(grantee, ['s3:DeleteObject'], `*/${FAILURE}`);
  }

  // Narrower than the bucket's own grants, which include tags, legal hold and retention.
  private grant(grantee: IGrantable, actions: string[], keys = '*'): void {
    Grant.addToPrincipal({
      grantee,
      actions,
      resourceArns: [this.bucket.arnForObjects(`${EXPORTS_PREFIX}${keys}`)],
    });
  }
}

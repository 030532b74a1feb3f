import { Duration, RemovalPolicy } from 'aws-cdk-lib';
import { Effect, Grant, type IGrantable, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { BlockPublicAccess, Bucket, BucketEncryption, type CfnBucket } from 'aws-cdk-lib/aws-s3';
import { Construct } from 'constructs';
import {
  ADVERTISER_LISTS,
  EXPORTS_PREFIX,
  FAILURE,
  FILE_TAG,
  MANIFEST,
  PLANS,
} from '../../functions/workflow/keys.ts';
import { TABLES_PREFIX } from '../../functions/workflow/table.ts';
import { grantKey } from './encryption-key.ts';

/** A window ends within a day, so an upload that is older was abandoned by a killed function. */
const ABORT_UPLOADS_AFTER = Duration.days(1);

/** A replaced object stays readable by its version, which its manifest names, for this long. */
const KEEP_REPLACED = Duration.days(90);

/** Time to undo a mistake: deliveries replace whole months, and old reports are removed. */
const TO_UNDO = Duration.days(7);

interface ExportBucketProps {
  /** Default: for ever. */
  readonly keepReportsDays?: number | undefined;
  readonly encryptionKey?: IKey | undefined;
}

/** Holds the reports. It stays when the stack is deleted. */
export class ExportBucket extends Construct {
  readonly bucket: Bucket;
  private readonly key: IKey | undefined;

  constructor(scope: Construct, id: string, { keepReportsDays, encryptionKey }: ExportBucketProps) {
    super(scope, id);
    this.key = encryptionKey;
    this.bucket = new Bucket(this, 'Bucket', {
      blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
      enforceSSL: true,
      // A bucket key saves a call to KMS per object.
      ...(encryptionKey
        ? { encryption: BucketEncryption.KMS, encryptionKey, bucketKeyEnabled: true }
        : { encryption: BucketEncryption.S3_MANAGED }),
      versioned: true,
      removalPolicy: RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
      lifecycleRules: [
        { id: 'UnfinishedUploads', abortIncompleteMultipartUploadAfter: ABORT_UPLOADS_AFTER },
        {
          id: 'ReplacedObjects',
          noncurrentVersionExpiration: KEEP_REPLACED,
          expiredObjectDeleteMarker: true,
        },
        // S3 takes the shorter time of two rules for an object.
        { id: 'ReplacedTables', prefix: TABLES_PREFIX, noncurrentVersionExpiration: TO_UNDO },
      ],
    });
    if (keepReportsDays !== undefined)
      this.bucket.addLifecycleRule({
        id: 'Reports',
        prefix: EXPORTS_PREFIX,
        // Manifests and failure reports, which have no tag, stay.
        tagFilters: { [FILE_TAG.name]: FILE_TAG.value },
        expiration: Duration.days(keepReportsDays),
        noncurrentVersionExpiration: TO_UNDO,
      });
    // The L2 property `eventBridgeEnabled` would add a custom resource with a Lambda function.
    const resource = this.bucket.node.defaultChild as CfnBucket;
    const path = 'NotificationConfiguration.EventBridgeConfiguration.EventBridgeEnabled';
    resource.addPropertyOverride(path, true);
  }

  /**
   * To put an object and its tag, in one request or in parts, and to list and abort an unfinished upload.
   * Manifests, failure reports, plans and lists of advertisers are denied, because readers trust them: only
   * PublishWindow, DescribeFailure, PlanExport and ListAdvertisers write them.
   */
  grantUpload(grantee: IGrantable): void {
    const put = ['s3:PutObject', 's3:PutObjectTagging'];
    this.grant(grantee, `${EXPORTS_PREFIX}*`, [
      ...put,
      's3:AbortMultipartUpload',
      's3:ListMultipartUploadParts',
    ]);
    const resources = [MANIFEST, FAILURE, `${PLANS}*`, `${ADVERTISER_LISTS}*`].map((name) =>
      this.bucket.arnForObjects(`${EXPORTS_PREFIX}*/${name}`),
    );
    grantee.grantPrincipal.addToPrincipalPolicy(
      new PolicyStatement({ effect: Effect.DENY, actions: put, resources }),
    );
  }

  /**
   * To list and read objects and their versions. Without s3:ListBucket, S3 answers 403 instead of 404 for an
   * absent object. That permission cannot be limited to a prefix, because a GetObject request has none.
   */
  grantRead(grantee: IGrantable, keys: string): void {
    Grant.addToPrincipal({ grantee, actions: ['s3:ListBucket'], resourceArns: [this.bucket.bucketArn] });
    this.grant(grantee, keys, ['s3:GetObject', 's3:GetObjectVersion']);
  }

  /**
   * Narrower than the L2 construct's grants, which include tags, legal hold and retention.
   *
   * @param actions with the use of the key that they need. S3 decrypts the parts of an upload to join them
   */
  grant(grantee: IGrantable, keys: string, actions: readonly string[]): void {
    Grant.addToPrincipal({
      grantee,
      actions: [...actions],
      resourceArns: [this.bucket.arnForObjects(keys)],
    });
    const decrypts = actions.some((action) => /GetObject|UploadParts/.test(action));
    if (decrypts) grantKey(grantee, this.key, 's3', ['kms:Decrypt']);
    if (actions.includes('s3:PutObject')) grantKey(grantee, this.key, 's3', ['kms:GenerateDataKey']);
  }
}

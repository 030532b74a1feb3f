import { Annotations, Duration, RemovalPolicy, Token, TokenComparison } from 'aws-cdk-lib';
import { Effect, Grant, type IGrantable, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import {
  BlockPublicAccess,
  Bucket,
  BucketEncryption,
  type CfnBucket,
  type IBucket,
  type LifecycleRule,
} from 'aws-cdk-lib/aws-s3';
import { Construct } from 'constructs';
import {
  ADVERTISER_LISTS,
  EXPORTS_PREFIX,
  FAILURE,
  FILE_TAG,
  LEASES_PREFIX,
  MANIFEST,
  PAGES_PREFIX,
  RUNS,
} from '../../../functions/workflow/keys.ts';
import { TABLES_PREFIX } from '../../../functions/workflow/table.ts';
import { type Config, RESULTS_PREFIX } from '../config/config.ts';
import { grantKey } from './encryption-key.ts';

/** A window ends within a day, so an upload that is older was abandoned by a killed function. */
const ABORT_UPLOADS_AFTER = Duration.days(1);

/** A replaced object stays readable by its version, which its manifest names, for this long. */
const KEEP_REPLACED = Duration.days(90);

/** Time to undo a mistake: deliveries replace whole months, and old reports are removed. */
const TO_UNDO = Duration.days(7);

/** A window ends within a day, and nobody reads the pages of its list afterwards. */
const KEEP_PAGES = Duration.days(1);

/** Nobody reads a replaced lease. Each renewal of a token replaces one twice. */
const KEEP_REPLACED_LEASES = Duration.days(1);

/** A result can be fetched again for as long as Athena keeps the query's history. */
const KEEP_RESULTS = Duration.days(45);

interface ExportBucketProps {
  readonly config: Config;
  /** A bucket of the caller. By default, one is created. */
  readonly bucket: IBucket | undefined;
  readonly encryptionKey: IKey | undefined;
}

/** Holds the reports. It stays when the stack is deleted. */
export class ExportBucket extends Construct {
  readonly bucket: IBucket;
  /** Encrypts the objects. */
  readonly key: IKey | undefined;

  constructor(scope: Construct, id: string, { config, bucket, encryptionKey }: ExportBucketProps) {
    super(scope, id);
    this.bucket = bucket ?? this.create(config, encryptionKey);
    this.key = this.bucket.encryptionKey ?? encryptionKey;
    const prefixes = [EXPORTS_PREFIX, PAGES_PREFIX, LEASES_PREFIX, TABLES_PREFIX, RESULTS_PREFIX];
    if (bucket instanceof Bucket)
      for (const rule of lifecycleRules(config, prefixes))
        bucket.addLifecycleRule({ ...rule, id: `AdReportExport-${rule.id}` });
    else if (bucket)
      Annotations.of(this).addWarningV2(
        'ad-report-export:bucket',
        `the bucket ${bucket.node.path} is imported and stays as it is. It must keep versions, refuse requests without TLS, ` +
          `abort unfinished uploads after ${ABORT_UPLOADS_AFTER.toDays()} day, remove replaced versions under ` +
          `${TABLES_PREFIX} after ${TO_UNDO.toDays()} days, under ${EXPORTS_PREFIX} after ${KEEP_REPLACED.toDays()} and ` +
          `under ${LEASES_PREFIX} after ${KEEP_REPLACED_LEASES.toDays()}, and remove objects under ${PAGES_PREFIX} after ${KEEP_PAGES.toDays()} day and under ` +
          `${RESULTS_PREFIX} after ${KEEP_RESULTS.toDays()}.`,
      );
  }

  private create(config: Config, encryptionKey: IKey | undefined): IBucket {
    const bucket = new Bucket(this, 'Bucket', {
      blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
      enforceSSL: true,
      // A bucket key saves a call to KMS per object.
      ...(encryptionKey
        ? { encryption: BucketEncryption.KMS, encryptionKey, bucketKeyEnabled: true }
        : { encryption: BucketEncryption.S3_MANAGED }),
      versioned: true,
      removalPolicy: RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
      lifecycleRules: lifecycleRules(config),
    });
    // The L2 property `eventBridgeEnabled` would add a custom resource with a Lambda function.
    const path = 'NotificationConfiguration.EventBridgeConfiguration.EventBridgeEnabled';
    (bucket.node.defaultChild as CfnBucket).addPropertyOverride(path, true);
    // CDK's types differ in whether an absent property may be undefined.
    return bucket as IBucket;
  }

  /**
   * To put an object and its tag, in one request or in parts, and to list and abort an unfinished upload.
   * Manifests, failure reports, runs and lists of advertisers are denied, because readers trust them: only
   * PublishWindow, DescribeFailure, PlanExport and ListAdvertisers write them.
   */
  grantUpload(grantee: IGrantable): void {
    const actions = ['s3:PutObject', 's3:PutObjectTagging'];
    const parts = ['s3:AbortMultipartUpload', 's3:ListMultipartUploadParts'];
    this.grant(grantee, `${EXPORTS_PREFIX}*`, [...actions, ...parts]);
    const names = [MANIFEST, FAILURE, `${RUNS}*`, `${ADVERTISER_LISTS}*`];
    const resources = names.map((name) => this.bucket.arnForObjects(`${EXPORTS_PREFIX}*/${name}`));
    const deny = new PolicyStatement({ effect: Effect.DENY, actions, resources });
    grantee.grantPrincipal.addToPrincipalPolicy(deny);
  }

  /**
   * To list and read objects and their versions. Without s3:ListBucket, S3 answers 403 instead of 404 for an
   * absent object. That permission cannot be limited to a prefix, because a GetObject request has none.
   */
  grantRead(grantee: IGrantable, keys: string): void {
    Grant.addToPrincipal({ grantee, actions: ['s3:ListBucket'], resourceArns: [this.bucket.bucketArn] });
    this.grant(grantee, keys, ['s3:GetObject', 's3:GetObjectVersion']);
  }

  /** To list and read reports and tables. The bucket's policy admits a role of another AWS account. */
  grantConsume(grantee: IGrantable): void {
    const { bucket } = this;
    const { principalAccount: account } = grantee.grantPrincipal;
    const isOther =
      account === undefined ||
      Token.compareStrings(account, bucket.env.account) === TokenComparison.DIFFERENT;
    if (isOther && !(bucket instanceof Bucket))
      throw new Error(
        `The bucket ${bucket.node.path} is imported: its policy has to admit a role of another AWS account where it is made.`,
      );
    const keys = [EXPORTS_PREFIX, TABLES_PREFIX].map((prefix) => `${prefix}*`);
    const resourceArns = keys.map((key) => bucket.arnForObjects(key));
    const actions = ['s3:GetObject', 's3:GetObjectVersion'];
    Grant.addToPrincipalOrResource({ grantee, resource: bucket, actions, resourceArns });
    Grant.addToPrincipalOrResource({
      grantee,
      resource: bucket,
      actions: ['s3:ListBucket'],
      resourceArns: [bucket.bucketArn],
      conditions: { StringLike: { 's3:prefix': keys } },
    });
    // Athena and Spark ask for it first.
    Grant.addToPrincipalOrResource({
      grantee,
      resource: bucket,
      actions: ['s3:GetBucketLocation'],
      resourceArns: [bucket.bucketArn],
    });
    this.key?.grantDecrypt(grantee);
  }

  /**
   * Narrower than the L2 construct's grants, which include tags, legal hold and retention.
   *
   * @param actions with the use of the key that they need. S3 decrypts the parts of an upload to join them
   */
  grant(grantee: IGrantable, keys: string, actions: readonly string[]): void {
    const resourceArns = [this.bucket.arnForObjects(keys)];
    Grant.addToPrincipal({ grantee, actions: [...actions], resourceArns });
    const decrypts = actions.some((action) => /GetObject|UploadParts/.test(action));
    if (decrypts) grantKey(grantee, this.key, 's3', ['kms:Decrypt']);
    if (actions.includes('s3:PutObject')) grantKey(grantee, this.key, 's3', ['kms:GenerateDataKey']);
  }
}

/** @param prefixes the rules are limited to them. By default, they hold for the whole bucket */
function lifecycleRules({ keep_reports_days, tables }: Config, prefixes = ['']): LifecycleRule[] {
  const rules = prefixes.flatMap((prefix): LifecycleRule[] => {
    const under = prefix && { prefix };
    return [
      {
        id: `UnfinishedUploads${prefix}`,
        ...under,
        abortIncompleteMultipartUploadAfter: ABORT_UPLOADS_AFTER,
      },
      {
        id: `ReplacedObjects${prefix}`,
        ...under,
        noncurrentVersionExpiration: KEEP_REPLACED,
        expiredObjectDeleteMarker: true,
      },
    ];
  });
  // S3 takes the shorter time of two rules for an object.
  rules.push(
    { id: 'ReplacedTables', prefix: TABLES_PREFIX, noncurrentVersionExpiration: TO_UNDO },
    { id: 'ReplacedLeases', prefix: LEASES_PREFIX, noncurrentVersionExpiration: KEEP_REPLACED_LEASES },
  );
  rules.push({
    id: 'Pages',
    prefix: PAGES_PREFIX,
    expiration: KEEP_PAGES,
    noncurrentVersionExpiration: KEEP_PAGES,
  });
  if (keep_reports_days !== undefined)
    rules.push({
      id: 'Reports',
      prefix: EXPORTS_PREFIX,
      // Manifests and failure reports, which have no tag, stay.
      tagFilters: { [FILE_TAG.name]: FILE_TAG.value },
      expiration: Duration.days(keep_reports_days),
      noncurrentVersionExpiration: TO_UNDO,
    });
  if (tables)
    rules.push({
      id: 'QueryResults',
      prefix: RESULTS_PREFIX,
      expiration: KEEP_RESULTS,
      noncurrentVersionExpiration: Duration.days(1),
    });
  return rules;
}

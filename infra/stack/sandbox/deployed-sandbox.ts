import { join } from 'node:path';
import { Duration, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { Grant } from 'aws-cdk-lib/aws-iam';
import { FunctionUrlAuthType, SystemLogLevel } from 'aws-cdk-lib/aws-lambda';
import type { CfnBucket, IBucket } from 'aws-cdk-lib/aws-s3';
import { Secret } from 'aws-cdk-lib/aws-secretsmanager';
import { Construct } from 'constructs';
import type { Config } from '../config/config.ts';
import { SANDBOX } from '../config/sandbox-config.ts';
import { type Acknowledged, acknowledge, type Wildcard } from '../constructs/policy-checks.ts';
import { createSandboxFunction } from './create-sandbox-function.ts';
import { BucketEmptier, createTemporaryBucket } from './temporary-bucket.ts';

/** A report is READY after seconds, and its file is copied within minutes. */
const KEEP_REPORTS = Duration.days(2);

/** More than it needs: with less memory, it would load the SDK for seconds. */
const SANDBOX_MEMORY_MB = 512;

const SANDBOX_TIMEOUT = Duration.seconds(30);

/** Of the client secret. 62 letters and digits: 48 of them are 285 bits. */
const SECRET_CHARACTERS = 48;

const NO_LOG = 'It would need one more bucket, and all data is invented.';
const SANDBOX_ACKNOWLEDGED: readonly Acknowledged[] = [
  ['Exports', 'S1', NO_LOG],
  ['Reports', 'S1', NO_LOG],
  ['Credential', 'SMG4', 'It is the secret of a sandbox, and goes with it.'],
];
const SANDBOX_WILDCARDS: readonly Wildcard[] = [
  [/\/(reports|files)\/\*$/, ['PlatformRole'], 'The objects are named by the ids of reports.'],
  [/\/\*$/, ['Emptier'], 'All objects of a bucket that is removed.'],
];

interface SandboxProps {
  readonly config: Config;
  /** The folder of the bundled functions. */
  readonly bundles: string;
}

/**
 * The sandbox of the platform, in AWS: one function behind a public URL. It keeps reports in a bucket, and
 * its tokens are signed with the secret of its client, so it has no other memory.
 *
 * It holds all that has to be emptied or removed for good, and the main stack refers to it: its stack is
 * deleted after the main one, when nothing writes any more.
 */
export class DeployedSandbox extends Construct {
  /** Known after the deployment. */
  readonly url: string;
  /** For the exports of the main stack. */
  readonly exports: IBucket;

  constructor(scope: Construct, id: string, { config, bundles }: SandboxProps) {
    super(scope, id);
    const emptier = new BucketEmptier(this, 'Emptier', { config, bundles });
    const exports = createTemporaryBucket(this, 'Exports', { emptier, versioned: true });
    // The L2 property `eventBridgeEnabled` would add a custom resource with a Lambda function.
    const path = 'NotificationConfiguration.EventBridgeConfiguration.EventBridgeEnabled';
    (exports.node.defaultChild as CfnBucket).addPropertyOverride(path, true);
    // CDK's types differ in whether an absent property may be undefined.
    this.exports = exports as IBucket;
    const reports = createTemporaryBucket(this, 'Reports', { emptier, expiration: KEEP_REPORTS });
    const secret = createClient(this, 'Credential', config);
    const platform = createSandboxFunction(this, 'Platform', {
      config,
      bundle: join(bundles, 'sandbox-function'),
      memorySize: SANDBOX_MEMORY_MB,
      timeout: SANDBOX_TIMEOUT,
      environment: {
        ACCOUNT: SANDBOX,
        SECRET_PREFIX: config.stack,
        BUCKET: reports.bucketName,
        BUCKET_OWNER: Stack.of(this).account,
      },
      // Calls that fail are logged. The others are not: a stranger could make millions.
      systemLogLevelV2: SystemLogLevel.WARN,
    });
    // Removed before the bucket is emptied, because it writes there.
    platform.node.addDependency(reports);
    const grant = (actions: string[], ...resourceArns: string[]) =>
      Grant.addToPrincipal({ grantee: platform, actions, resourceArns });
    grant(['secretsmanager:GetSecretValue'], secret.secretArn);
    // Without it, S3 answers 403 for a report that does not exist.
    grant(['s3:ListBucket'], reports.bucketArn);
    const objects = ['reports/*', 'files/*'].map((keys) => reports.arnForObjects(keys));
    grant(['s3:GetObject', 's3:PutObject'], ...objects);
    // Open to everybody: the platform asks for its own tokens. CDK adds both permissions that a public URL
    // needs, lambda:InvokeFunctionUrl and lambda:InvokeFunction.
    this.url = platform.addFunctionUrl({ authType: FunctionUrlAuthType.NONE }).url;
    acknowledge(this, SANDBOX_ACKNOWLEDGED, SANDBOX_WILDCARDS);
  }
}

/** The secret of the account's client. Nobody has to know it. */
function createClient(scope: Construct, id: string, { stack }: Config): Secret {
  return new Secret(scope, id, {
    // The name that the functions of the main stack read.
    secretName: `${stack}/${SANDBOX}/credential`,
    description: 'The client of the sandbox',
    generateSecretString: {
      secretStringTemplate: JSON.stringify({ client_id: SANDBOX }),
      generateStringKey: 'client_secret',
      excludePunctuation: true,
      passwordLength: SECRET_CHARACTERS,
    },
    // CloudFormation deletes it without a recovery window, so the name is free at once.
    removalPolicy: RemovalPolicy.DESTROY,
  });
}

import { ArnFormat, Stack } from 'aws-cdk-lib';
import type { IGrantable } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import type { ILogGroup } from 'aws-cdk-lib/aws-logs';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import type { StateMachine } from 'aws-cdk-lib/aws-stepfunctions';
import type { Construct } from 'constructs';
import { EXPORTS_PREFIX, LEASES_PREFIX } from '../../../functions/workflow/keys.ts';
import { TABLES_PREFIX } from '../../../functions/workflow/table.ts';
import type { AccountSecrets } from './account-secrets.ts';
import { childExecutions } from './child-executions.ts';
import { grantKey } from './encryption-key.ts';
import type { ExportBucket } from './export-bucket.ts';
import type { ExportTables } from './export-tables.ts';
import { createPolicy } from './reader-policy.ts';

interface ReadingProps {
  readonly stack: string;
  readonly bucket: ExportBucket;
  readonly tables: ExportTables | undefined;
  readonly encryptionKey: IKey | undefined;
}

interface OperatorPolicyProps extends ReadingProps {
  readonly stateMachine: StateMachine;
  /** Undefined if no run has a time by which it must be ready. */
  readonly readyChecks: StateMachine | undefined;
  /** The log group of the functions. */
  readonly logGroup: ILogGroup;
  readonly deadLetterQueue: IQueue;
}

/** Creates the policies for people who run commands. @returns their ARNs */
export function createPolicies(scope: Construct, props: OperatorPolicyProps & KeeperPolicyProps) {
  return {
    operatorPolicy: createOperatorPolicy(scope, 'Operator', props),
    keeperPolicy: createKeeperPolicy(scope, 'Keeper', props),
  };
}

/** Calls that look at the stack, and have no resource, or none that narrows them. */
const LOOK_AROUND = ['cloudwatch:DescribeAlarms', 'lambda:GetAccountSettings', 'scheduler:ListSchedules'];

/**
 * Creates a policy for the people who run the exports and look at them: the commands that start, stop and
 * show, and the calls of the runbook. It reads no secret and writes no object.
 *
 * @returns its ARN
 */
function createOperatorPolicy(scope: Construct, id: string, props: OperatorPolicyProps): string {
  const { stack, stateMachine, readyChecks, logGroup, deadLetterQueue, encryptionKey } = props;
  const { policy, allow } = createPolicy(scope, id, `${stack}-operator`, `Runs the exports of ${stack}`);
  allow(['states:StartExecution', 'states:ListExecutions'], stateMachine.stateMachineArn);
  const ofExecution = ['DescribeExecution', 'StopExecution', 'GetExecutionHistory'].map(
    (action) => `states:${action}`,
  );
  const ofExport = [...ofExecution, 'states:ListMapRuns', 'states:RedriveExecution'];
  stateMachine.grantExecution(policy, ...ofExport);
  // The history of a window is a child execution's.
  allow(
    ['states:DescribeExecution', 'states:GetExecutionHistory'],
    childExecutions(stateMachine, 'execution'),
  );
  allow(['states:DescribeMapRun', 'states:ListExecutions'], childExecutions(stateMachine, 'mapRun'));
  if (readyChecks) {
    allow(['states:ListExecutions'], readyChecks.stateMachineArn);
    readyChecks.grantExecution(policy, ...ofExecution);
  }
  grantReading(policy, props);
  allow(['s3:GetEncryptionConfiguration', 's3:ListBucketVersions'], props.bucket.bucket.bucketArn);
  allow(['sqs:ReceiveMessage', 'sqs:DeleteMessage'], deadLetterQueue.queueArn);
  allow(['logs:FilterLogEvents'], logGroup.logGroupArn);
  allow(['logs:DescribeLogGroups'], allLogGroups(scope));
  allow(LOOK_AROUND, '*');
  grantKey(policy, encryptionKey, 'states', ['kms:Decrypt']);
  grantKey(policy, encryptionKey, 'sqs', ['kms:Decrypt']);
  if (encryptionKey) allow(['kms:DescribeKey'], encryptionKey.keyArn);
  return policy.managedPolicyArn;
}

/** A group is looked for by the beginning of its name. */
function allLogGroups(scope: Construct): string {
  const arnFormat = ArnFormat.COLON_RESOURCE_NAME;
  return Stack.of(scope).formatArn({ service: 'logs', resource: 'log-group', resourceName: '*', arnFormat });
}

interface KeeperPolicyProps extends ReadingProps {
  readonly secrets: AccountSecrets;
}

/**
 * Creates a policy for the few people who keep credentials and tables: `secret set`, `login`, `doctor`,
 * `rebuild` and `close`, and the runbook's calls that restore or remove an object of a table.
 *
 * @returns its ARN
 */
function createKeeperPolicy(scope: Construct, id: string, props: KeeperPolicyProps): string {
  const { stack, bucket, secrets } = props;
  const words = `Keeps the credentials and tables of ${stack}`;
  const { policy, allow } = createPolicy(scope, id, `${stack}-keeper`, words);
  grantReading(policy, props);
  allow(['s3:ListBucketVersions'], bucket.bucket.bucketArn);
  const replaceTables = ['s3:PutObject', 's3:GetObjectVersion', 's3:DeleteObject'];
  bucket.grant(policy, `${TABLES_PREFIX}*`, replaceTables);
  // Whoever uses or stores a login has the account's lease.
  bucket.grant(policy, `${LEASES_PREFIX}*`, ['s3:GetObject', 's3:PutObject']);
  secrets.grantStoreCredentials(policy);
  return policy.managedPolicyArn;
}

/** To read reports, tables and the schemas of tables. */
function grantReading(grantee: IGrantable, { bucket, tables }: ReadingProps): void {
  bucket.grantRead(grantee, `${EXPORTS_PREFIX}*`);
  bucket.grant(grantee, `${TABLES_PREFIX}*`, ['s3:GetObject']);
  tables?.grantRead(grantee);
}

import type { IKey } from 'aws-cdk-lib/aws-kms';
import type { StateMachine } from 'aws-cdk-lib/aws-stepfunctions';
import type { Construct } from 'constructs';
import { EXPORTS_PREFIX, LEASES_PREFIX } from '../../functions/workflow/keys.ts';
import { TABLES_PREFIX } from '../../functions/workflow/table.ts';
import type { AccountSecrets } from './account-secrets.ts';
import { childExecutions } from './child-executions.ts';
import { grantKey } from './encryption-key.ts';
import type { ExportBucket } from './export-bucket.ts';
import type { ExportTables } from './export-tables.ts';
import { createPolicy } from './reader-policy.ts';

interface OperatorPolicyProps {
  readonly stack: string;
  readonly stateMachine: StateMachine;
  readonly bucket: ExportBucket;
  readonly secrets: AccountSecrets;
  readonly tables: ExportTables | undefined;
  readonly encryptionKey: IKey | undefined;
}

/**
 * Creates a policy that allows the calls of all commands but `query`, for which the reader's policy is. The
 * owner of the AWS account attaches it to the people who operate the exports.
 *
 * @returns its ARN
 */
export function createOperatorPolicy(scope: Construct, id: string, props: OperatorPolicyProps): string {
  const { stack, stateMachine, bucket, secrets, tables, encryptionKey } = props;
  const { policy, allow } = createPolicy(scope, id, `${stack}-operator`, `Operates the exports of ${stack}`);
  allow(['states:StartExecution', 'states:ListExecutions'], stateMachine.stateMachineArn);
  const ofExecution = ['DescribeExecution', 'StopExecution', 'GetExecutionHistory', 'ListMapRuns'];
  stateMachine.grantExecution(policy, ...ofExecution.map((action) => `states:${action}`));
  allow(['states:DescribeExecution'], childExecutions(stateMachine, 'execution'));
  allow(['states:DescribeMapRun', 'states:ListExecutions'], childExecutions(stateMachine, 'mapRun'));
  bucket.grantRead(policy, `${EXPORTS_PREFIX}*`);
  // `rebuild` and `close` write months, and whoever refreshes a login has the account's lease.
  for (const prefix of [TABLES_PREFIX, LEASES_PREFIX])
    bucket.grant(policy, `${prefix}*`, ['s3:GetObject', 's3:PutObject']);
  tables?.grantRead(policy);
  secrets.grantStoreCredentials(policy);
  grantKey(policy, encryptionKey, 'states', ['kms:Decrypt']);
  return policy.managedPolicyArn;
}

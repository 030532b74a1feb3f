import { RemovalPolicy, Stack } from 'aws-cdk-lib';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { LogGroup, type RetentionDays } from 'aws-cdk-lib/aws-logs';
import { LogLevel, type LogOptions } from 'aws-cdk-lib/aws-stepfunctions';
import type { Construct } from 'constructs';

/**
 * Every event of every execution, without its input and output. Under `/aws/vendedlogs/` the group does not count
 * against the size of the account's one resource policy for log deliveries, which many state machines fill up.
 */
export function executionLogs(
  scope: Construct,
  id: string,
  retention: RetentionDays,
  encryptionKey?: IKey,
): LogOptions {
  const destination = new LogGroup(scope, id, {
    logGroupName: `/aws/vendedlogs/states/${Stack.of(scope).stackName}`,
    retention,
    ...(encryptionKey && { encryptionKey }),
    // The name is fixed: a group that is left over would stand in the way of the stack's next creation.
    removalPolicy: RemovalPolicy.DESTROY,
  });
  return { destination, level: LogLevel.ALL, includeExecutionData: false };
}

import { RemovalPolicy } from 'aws-cdk-lib';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { LogLevel, type LogOptions } from 'aws-cdk-lib/aws-stepfunctions';
import type { Construct } from 'constructs';
import { type Config, executionLogsOf } from '../config/config.ts';

/**
 * Logs every event of every execution without its input and output. Groups under `/aws/vendedlogs/` do not
 * use up the limited size of the account's resource policy for log deliveries.
 */
export function createExecutionLogs(
  scope: Construct,
  id: string,
  { stack, log_retention_days: retention }: Config,
  encryptionKey?: IKey,
): LogOptions {
  const destination = new LogGroup(scope, id, {
    logGroupName: executionLogsOf(stack),
    retention,
    ...(encryptionKey && { encryptionKey }),
    // The name is fixed, so a group left over from a deleted stack would block the next deployment.
    removalPolicy: RemovalPolicy.DESTROY,
  });
  return { destination, level: LogLevel.ALL, includeExecutionData: false };
}

import { type Duration, RemovalPolicy } from 'aws-cdk-lib';
import { Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import {
  Architecture,
  Code,
  Function as LambdaFunction,
  LoggingFormat,
  Runtime,
  type SystemLogLevel,
} from 'aws-cdk-lib/aws-lambda';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import type { Construct } from 'constructs';
import type { Config } from '../config/config.ts';

interface FunctionProps {
  readonly config: Config;
  /** The folder of the bundle. */
  readonly bundle: string;
  readonly memorySize: number;
  readonly timeout: Duration;
  readonly environment?: Record<string, string>;
  /** Default: each call is logged. */
  readonly systemLogLevelV2?: SystemLogLevel;
}

/** A function of the sandbox's stack. Its log group goes with it, and its role may write to that one only. */
export function createSandboxFunction(scope: Construct, id: string, props: FunctionProps): LambdaFunction {
  const { config, bundle, ...settings } = props;
  const logGroup = new LogGroup(scope, `${id}Logs`, {
    retention: config.log_retention_days,
    removalPolicy: RemovalPolicy.DESTROY,
  });
  const role = new Role(scope, `${id}Role`, { assumedBy: new ServicePrincipal('lambda.amazonaws.com') });
  logGroup.grantWrite(role);
  return new LambdaFunction(scope, id, {
    runtime: Runtime.NODEJS_24_X,
    architecture: Architecture.ARM_64,
    code: Code.fromAsset(bundle),
    handler: 'index.handler',
    role,
    logGroup,
    loggingFormat: LoggingFormat.JSON,
    ...settings,
  });
}

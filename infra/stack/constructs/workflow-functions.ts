import { join } from 'node:path';
import { Duration, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import {
  Architecture,
  Code,
  Function as LambdaFunction,
  LoggingFormat,
  Runtime,
} from 'aws-cdk-lib/aws-lambda';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import { READS, type SettingName, type Settings } from '../../../functions/workflow/settings.ts';
import type { Config } from '../config/config.ts';
import { MEMORY_MB, type StepName } from '../config/memory.ts';
import { SANDBOX } from '../config/sandbox-config.ts';
import {
  allowInterfaces,
  type CallersNetwork,
  createNetwork,
  type FunctionNetwork,
} from './function-network.ts';
import { COPY_ENVIRONMENT, curateStorage, STEP_TIMEOUTS } from './step-limits.ts';
import { grantPermissions, type StepResources } from './step-permissions.ts';

interface WorkflowFunctionsProps extends StepResources {
  readonly config: Config;
  /** The platform's address. */
  readonly platformUrl: string;
  /** The folder that `bundleFunctions` filled. */
  readonly bundles: string;
  /** Encrypts the log group. */
  readonly encryptionKey: IKey | undefined;
  readonly network: CallersNetwork;
  /** The program of the command line, for messages. */
  readonly program: string;
}

/** One Lambda function per step, each with its own role. All log to one group, which saves resources. */
export class WorkflowFunctions extends Construct {
  readonly functions: Readonly<Record<StepName, LambdaFunction>>;
  readonly logGroup: LogGroup;
  private readonly network: FunctionNetwork;

  constructor(scope: Construct, id: string, props: WorkflowFunctionsProps) {
    super(scope, id);
    const { config, encryptionKey, network } = props;
    this.logGroup = new LogGroup(this, 'Logs', {
      retention: config.log_retention_days,
      ...(encryptionKey && { encryptionKey }),
      removalPolicy: RemovalPolicy.DESTROY,
    });
    this.network = createNetwork(this, config, network);
    const steps = Object.keys(STEP_TIMEOUTS) as StepName[];
    const functions = steps.map((step) => [step, this.function(step, props)]);
    this.functions = Object.fromEntries(functions);
    grantPermissions(this.functions, props);
  }

  private function(step: StepName, props: WorkflowFunctionsProps): LambdaFunction {
    const { config, bundles } = props;
    // PlanExport lives in plan-export.ts.
    const file = step.replace(/(?<!^)[A-Z]/g, (letter) => `-${letter}`).toLowerCase();
    return new LambdaFunction(this, step, {
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      code: Code.fromAsset(join(bundles, file)),
      handler: 'index.handler',
      timeout: step === 'CurateReport' ? Duration.minutes(config.curate_minutes) : STEP_TIMEOUTS[step],
      memorySize: config.memory_mb[step] ?? MEMORY_MB[step],
      ...(step === 'CurateReport' && { ephemeralStorageSize: curateStorage(config) }),
      role: this.role(step),
      ...this.network,
      logGroup: this.logGroup,
      // Makes what the runtime prints JSON as well, such as an uncaught error.
      loggingFormat: LoggingFormat.JSON,
      environment: {
        ...this.settings(step, props),
        ...(step === 'SaveReport' && COPY_ENVIRONMENT),
        POWERTOOLS_SERVICE_NAME: config.stack,
        POWERTOOLS_LOG_LEVEL: 'INFO',
      },
    });
  }

  /** The default role would have a managed policy that allows writing to every log group. */
  private role(step: StepName): Role {
    const role = new Role(this, `${step}Role`, { assumedBy: new ServicePrincipal('lambda.amazonaws.com') });
    this.logGroup.grantWrite(role);
    allowInterfaces(role, this.network);
    return role;
  }

  /** The settings that the step reads, and no others. */
  private settings(step: StepName, props: WorkflowFunctionsProps): Record<string, string> {
    const { config, platformUrl, bucket, tables, program } = props;
    const { advertisers_list, refresh_parameters, runbook_url, download_hosts } = config;
    const settings: Settings = {
      STEP: step,
      PLATFORM_BASE_URL: platformUrl,
      ...(config.base_url === SANDBOX && { PLATFORM_NAME: SANDBOX }),
      PLATFORM_REVISION: config.revision,
      SECRET_PREFIX: config.stack,
      BUCKET: bucket.bucket.bucketName,
      BUCKET_OWNER: Stack.of(this).account,
      MAX_DOWNLOAD_BYTES: String(config.max_download_bytes),
      MAX_CURATE_BYTES: String(config.max_curate_bytes),
      ...(tables && { GLUE_DATABASE: tables.database }),
      ...(advertisers_list && { ADVERTISERS_LIST: JSON.stringify(advertisers_list) }),
      ...(refresh_parameters && { REFRESH_PARAMETERS: JSON.stringify(refresh_parameters) }),
      PROGRAM: program,
      ...(runbook_url && { RUNBOOK_URL: runbook_url }),
      ...(download_hosts && { DOWNLOAD_HOSTS: download_hosts.join(',') }),
    };
    const names: readonly SettingName[] = ['STEP', ...READS[step]];
    return Object.fromEntries(names.flatMap((name) => (settings[name] ? [[name, settings[name]]] : [])));
  }
}

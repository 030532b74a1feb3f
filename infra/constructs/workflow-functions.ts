import { join } from 'node:path';
import { Duration, RemovalPolicy } from 'aws-cdk-lib';
import { Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import {
  Architecture,
  Code,
  Function as LambdaFunction,
  LoggingFormat,
  Runtime,
} from 'aws-cdk-lib/aws-lambda';
import { LogGroup, type RetentionDays } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import { MAX_REPORTS } from '../../functions/decisions/waits.ts';
import type { Settings } from '../../functions/workflow/settings.ts';
import { bundle } from './bundle.ts';
import { COPY_ENVIRONMENT } from './copy-environment.ts';
import type { StepName } from './workflow-states.ts';

interface Size {
  readonly timeout: Duration;
  /** MB. */
  readonly memory: number;
  readonly environment?: Readonly<Record<string, string>>;
}

/** A request to the platform is given up after a minute; half a minute is for the rest. */
function calls(requests: number): Size {
  return { timeout: Duration.seconds(60 * requests + 30), memory: 256 };
}

/** Sends nothing to the platform. CPU grows with memory, and loading the AWS SDK is most of a cold start. */
const INTERNAL: Size = { timeout: Duration.seconds(30), memory: 256 };

/** The longest that Lambda allows. */
const COPIES: Size = {
  timeout: Duration.minutes(15),
  memory: 256,
  environment: COPY_ENVIRONMENT,
};

/** A page of 5,000 items as text and as objects, and 200 bytes for each item of the list: 3 million take 600 MB. */
const LISTS: Size = { timeout: Duration.minutes(15), memory: 1024 };

const SIZES: Readonly<Record<StepName, Size>> = {
  PlanExport: INTERNAL,
  // The second one where a refused credential has changed meanwhile.
  GetToken: calls(2),
  CreateReport: calls(1),
  CheckReport: calls(MAX_REPORTS),
  SaveReport: COPIES,
  QueryPurchases: COPIES,
  ExportList: LISTS,
  PublishWindow: INTERNAL,
  PublishExport: INTERNAL,
  DescribeFailure: INTERNAL,
};

const STEPS = Object.keys(SIZES) as StepName[];

interface WorkflowFunctionsProps {
  /** Each function gets all of it; the compiler holds it to what the functions read. */
  readonly settings: Omit<Settings, 'STEP'>;
  /** On every log line. */
  readonly service: string;
  readonly logRetention: RetentionDays;
  /** Of the log groups. */
  readonly encryptionKey?: IKey | undefined;
  /** One token request at a time. A new AWS account's quota may allow no reservation. */
  readonly reserveTokenConcurrency: boolean;
}

/** A function per step, each with a role and a log group of its own. */
export class WorkflowFunctions extends Construct {
  readonly functions: Readonly<Record<StepName, LambdaFunction>>;

  constructor(scope: Construct, id: string, props: WorkflowFunctionsProps) {
    super(scope, id);
    const bundles = bundle(STEPS.map(fileName));
    const functions = STEPS.map((step) => [step, this.function(step, bundles, props)] as const);
    this.functions = Object.fromEntries(functions) as Record<StepName, LambdaFunction>;
  }

  private function(step: StepName, bundles: string, props: WorkflowFunctionsProps): LambdaFunction {
    const { timeout, memory, environment } = SIZES[step];
    return new LambdaFunction(this, step, {
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      code: Code.fromAsset(join(bundles, fileName(step))),
      handler: 'index.handler',
      timeout,
      memorySize: memory,
      ...this.identity(step, props),
      // What the runtime itself prints, an error that nobody caught among it, is one JSON line too.
      loggingFormat: LoggingFormat.JSON,
      ...(step === 'GetToken' && props.reserveTokenConcurrency && { reservedConcurrentExecutions: 1 }),
      environment: {
        ...asEnvironment({ ...props.settings, STEP: step }),
        ...environment,
        POWERTOOLS_SERVICE_NAME: props.service,
        POWERTOOLS_LOG_LEVEL: 'INFO',
      },
    });
  }

  /** The default role has a managed policy that lets it write to every log group. */
  private identity(step: StepName, { logRetention, encryptionKey }: WorkflowFunctionsProps) {
    const logGroup = new LogGroup(this, `${step}Logs`, {
      retention: logRetention,
      ...(encryptionKey && { encryptionKey }),
      removalPolicy: RemovalPolicy.DESTROY,
    });
    const role = new Role(this, `${step}Role`, { assumedBy: new ServicePrincipal('lambda.amazonaws.com') });
    logGroup.grantWrite(role);
    return { logGroup, role };
  }
}

/** PlanExport lives in plan-export.ts. */
function fileName(step: StepName): string {
  return step.replace(/(?<!^)[A-Z]/g, (letter) => `-${letter}`).toLowerCase();
}

function asEnvironment(settings: Settings): Record<string, string> {
  const isSet = (entry: [string, string | undefined]): entry is [string, string] => entry[1] !== undefined;
  return Object.fromEntries(Object.entries(settings).filter(isSet));
}

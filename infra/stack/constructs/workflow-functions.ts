import { join } from 'node:path';
import { Duration, RemovalPolicy, Stack, Size as StorageSize } from 'aws-cdk-lib';
import { type IVpc, Peer, Port, SecurityGroup, type SubnetSelection } from 'aws-cdk-lib/aws-ec2';
import { type IGrantable, PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import {
  Architecture,
  Code,
  type FunctionProps,
  Function as LambdaFunction,
  LoggingFormat,
  Runtime,
} from 'aws-cdk-lib/aws-lambda';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import { LEASE_SECONDS, MAX_REPORTS } from '../../../functions/decisions/waits.ts';
import { CREATE_TIMEOUTS, TIMEOUTS } from '../../../functions/platform/connection.ts';
import {
  ADVERTISER_LISTS,
  EXPORTS_PREFIX,
  FAILURE,
  LEASES_PREFIX,
  MANIFEST,
  PAGES_PREFIX,
  RUNS,
} from '../../../functions/workflow/keys.ts';
import { READS, type SettingName, type Settings } from '../../../functions/workflow/settings.ts';
import { LEDGER, TABLES_PREFIX } from '../../../functions/workflow/table.ts';
import type { Config } from '../config/config.ts';
import { MEMORY } from '../config/cost.ts';
import { SANDBOX } from '../config/sandbox.ts';
import type { AccountSecrets } from './account-secrets.ts';
import type { ExportBucket } from './export-bucket.ts';
import type { ExportTables } from './export-tables.ts';
import type { StepName } from './retries.ts';

/** The time of requests that all time out. The other 30 s are for secrets and a cold start. */
function calls(requests: number, { total }: { readonly total: number } = TIMEOUTS): Duration {
  return Duration.seconds((total / 1000) * requests + 30);
}

const HTTPS_PORT = 443;

/** Calls AWS only. */
const INTERNAL = Duration.seconds(30);

/** Lambda's maximum. */
const LONG = Duration.minutes(15);

/**
 * MB of /tmp that CurateReport needs: the file itself, as much again for the rows that DuckDB moves out of
 * memory, and the 512 MB that every function has. The default of 4 GiB needs 512 + 2 × 4,096 = 8,704 MB. Once
 * the file is read, months take its place: the old object and the new one.
 */
function curateStorage({ max_curate_bytes }: Config): StorageSize {
  return StorageSize.mebibytes(512 + 2 * Math.ceil(max_curate_bytes / 1024 ** 2));
}

const STEP_TIMEOUTS: Readonly<Record<StepName, Duration>> = {
  // With `only_missing`, it reads each manifest and the end of each month of the range.
  PlanExport: Duration.minutes(5),
  // Its call is over when its lease is, also by a clock that is 5 s ahead.
  GetToken: Duration.seconds(LEASE_SECONDS - 5),
  ListAdvertisers: LONG,
  // Once more without the advertisers that were refused.
  CreateReport: calls(2, CREATE_TIMEOUTS),
  CheckReport: calls(MAX_REPORTS),
  SaveReport: LONG,
  QueryPurchases: LONG,
  ExportList: LONG,
  CurateReport: LONG,
  PublishWindow: INTERNAL,
  PublishExport: INTERNAL,
  DescribeFailure: INTERNAL,
  // It reads two objects of each window of each account, ten accounts at once.
  CheckReady: Duration.minutes(5),
};

/**
 * Keeps the memory of a function that copies files low: about 120 MB over http, and 151 MB over TLS, which
 * gets parts whole. A young generation of 16 MiB takes 14 MB more and saves no CPU. Less than 2 GiB for the
 * old generation made V8 collect more often while bytes stream; the copy itself fills only 20 MB of it. Both
 * sizes are set, because Lambda sets neither once one of them is set.
 */
export const COPY_ENVIRONMENT = {
  NODE_OPTIONS: '--max-semi-space-size=1 --max-old-space-size=2048',
  MALLOC_ARENA_MAX: '1',
};

/** With these permissions of their roles, Lambda makes and removes the network interfaces of functions. */
const OF_INTERFACES = [
  ...['Create', 'Delete'].map((verb) => `ec2:${verb}NetworkInterface`),
  ...['ec2:DescribeNetworkInterfaces', 'ec2:DescribeSubnets'],
  ...['ec2:AssignPrivateIpAddresses', 'ec2:UnassignPrivateIpAddresses'],
];

interface WorkflowFunctionsProps {
  readonly config: Config;
  /** The platform's address. */
  readonly platformUrl: string;
  /** The folder that `bundleFunctions` filled. */
  readonly bundles: string;
  readonly secrets: AccountSecrets;
  readonly bucket: ExportBucket;
  readonly tables: ExportTables | undefined;
  /** Encrypts the log group. */
  readonly encryptionKey: IKey | undefined;
  readonly vpc: IVpc | undefined;
  readonly vpcSubnets: SubnetSelection | undefined;
  /** The program of the command line, for messages. */
  readonly program: string;
}

/** One Lambda function per step, each with its own role. All log to one group, which saves resources. */
export class WorkflowFunctions extends Construct {
  readonly functions: Readonly<Record<StepName, LambdaFunction>>;
  readonly logGroup: LogGroup;
  private readonly network: Pick<FunctionProps, 'vpc' | 'vpcSubnets' | 'securityGroups'> = {};

  constructor(scope: Construct, id: string, props: WorkflowFunctionsProps) {
    super(scope, id);
    const { config, encryptionKey, vpc, vpcSubnets } = props;
    this.logGroup = new LogGroup(this, 'Logs', {
      retention: config.log_retention_days,
      ...(encryptionKey && { encryptionKey }),
      removalPolicy: RemovalPolicy.DESTROY,
    });
    if (vpc) {
      const description = `The functions of ${config.stack}`;
      const group = new SecurityGroup(this, 'SecurityGroup', { vpc, description, allowAllOutbound: false });
      for (const port of portsOf(config))
        for (const peer of [Peer.anyIpv4(), Peer.anyIpv6()]) group.addEgressRule(peer, Port.tcp(port));
      this.network = { vpc, ...(vpcSubnets && { vpcSubnets }), securityGroups: [group] };
    }
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
      memorySize: config.memory_mb[step] ?? MEMORY[step],
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
    // Without the managed policy for them. AWS does not say how to limit them to a VPC.
    if (this.network.vpc) role.addToPolicy(new PolicyStatement({ actions: OF_INTERFACES, resources: ['*'] }));
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

/** The ports that functions call: of https, and of the platform. */
function portsOf({ base_url }: Config): number[] {
  const port = base_url === SANDBOX ? '' : new URL(base_url).port;
  return [...new Set([HTTPS_PORT, Number(port || HTTPS_PORT)])];
}

/** A write on the condition that the object has not changed needs s3:GetObject as well. */
const REPLACE = ['s3:GetObject', 's3:PutObject'] as const;

/** Lets each step's function use the secrets, the bucket and the tables as far as its calls need. */
function grantPermissions(functions: WorkflowFunctions['functions'], props: WorkflowFunctionsProps): void {
  const { secrets, bucket, tables } = props;
  const callPlatform = (step: IGrantable) => secrets.grantReadTokens(step);
  const storeReport = (step: IGrantable) => {
    secrets.grantReadTokens(step);
    bucket.grantUpload(step);
  };
  const storePages = (step: IGrantable) => {
    bucket.grantRead(step, `${PAGES_PREFIX}*`);
    bucket.grant(step, `${PAGES_PREFIX}*`, ['s3:PutObject']);
  };
  const [all, runs] = [`${EXPORTS_PREFIX}*`, `${EXPORTS_PREFIX}*/${RUNS}*`];
  const lists = `${EXPORTS_PREFIX}*/${ADVERTISER_LISTS}*`;
  const [manifests, failures] = [`${EXPORTS_PREFIX}*/${MANIFEST}`, `${EXPORTS_PREFIX}*/${FAILURE}`];
  const readDays = (step: IGrantable) => {
    bucket.grantRead(step, all);
    if (tables) bucket.grantRead(step, `${TABLES_PREFIX}*`);
    tables?.grantRead(step);
  };
  const permissions: Readonly<Record<StepName, (step: IGrantable) => void>> = {
    PlanExport(step) {
      readDays(step);
      bucket.grant(step, runs, ['s3:PutObject', 's3:DeleteObject']);
    },
    GetToken(step) {
      secrets.grantReplaceTokens(step);
      // A lease is created without being read, and never removed.
      bucket.grant(step, `${LEASES_PREFIX}*`, REPLACE);
    },
    ListAdvertisers(step) {
      callPlatform(step);
      bucket.grantRead(step, lists);
      // They name the lists that were delivered.
      bucket.grant(step, manifests, ['s3:GetObject']);
      bucket.grant(step, lists, ['s3:PutObject']);
      storePages(step);
    },
    CreateReport(step) {
      callPlatform(step);
      bucket.grant(step, lists, ['s3:GetObject']);
    },
    CheckReport: callPlatform,
    SaveReport: storeReport,
    QueryPurchases: storeReport,
    ExportList(step) {
      storeReport(step);
      storePages(step);
    },
    CurateReport(step) {
      bucket.grantRead(step, all);
      if (tables) bucket.grant(step, `${TABLES_PREFIX}*`, REPLACE);
      tables?.grantRead(step);
    },
    PublishWindow(step) {
      bucket.grantRead(step, manifests);
      bucket.grant(step, manifests, ['s3:PutObject']);
    },
    PublishExport(step) {
      // The platform's totals, beside the rows.
      if (tables) bucket.grantRead(step, `${TABLES_PREFIX}${LEDGER}/*`);
      bucket.grantRead(step, runs);
      bucket.grant(step, runs, ['s3:DeleteObject']);
    },
    DescribeFailure: (step) => bucket.grant(step, failures, ['s3:PutObject']),
    CheckReady: readDays,
  };
  for (const [step, grant] of Object.entries(permissions)) grant(functions[step as StepName]);
}

import { type App, CfnOutput, Stack, Token, TokenComparison } from 'aws-cdk-lib';
import type { IVpc, SubnetSelection } from 'aws-cdk-lib/aws-ec2';
import { type OnEventOptions, Rule } from 'aws-cdk-lib/aws-events';
import type { IDatabaseRef } from 'aws-cdk-lib/aws-glue';
import type { IGrantable } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import type { FunctionOptions } from 'aws-cdk-lib/aws-lambda';
import { Bucket, type IBucket } from 'aws-cdk-lib/aws-s3';
import type { ITopic } from 'aws-cdk-lib/aws-sns';
import type { IStateMachine, StateMachine } from 'aws-cdk-lib/aws-stepfunctions';
import { Construct } from 'constructs';
import { PROGRAM } from '../../package.ts';
import { type Config, type ConfigInput, InvalidConfig, OUTPUTS, parseConfig } from '../config/config.ts';
import { runsToCheck, runsToStart } from '../config/runs.ts';
import { SANDBOX } from '../config/sandbox.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { AccountSecrets } from './account-secrets.ts';
import { lambdaBundles } from './bundle.ts';
import { createEncryptionKey, encryptExecutions } from './encryption-key.ts';
import { ExportBucket } from './export-bucket.ts';
import { ExportSchedules } from './export-schedules.ts';
import { ExportTables } from './export-tables.ts';
import { createExecutionLogs, ExportWorkflow } from './export-workflow.ts';
import { createAlarmTopic } from './monitoring/alarm-topic.ts';
import { ExportAlarms } from './monitoring/export-alarms.ts';
import { ReadyChecks } from './monitoring/ready-checks.ts';
import { createKeeperPolicy, createOperatorPolicy } from './operator-policy.ts';
import { acknowledgeFindings } from './policy-checks.ts';
import { grantCatalog } from './reader-policy.ts';
import { WorkflowFunctions } from './workflow-functions.ts';
import { EVENT_SOURCE } from './workflow-states.ts';

export interface AdReportExportProps {
  /** The accounts, exports and settings. infra/CONFIG.md describes each field. */
  readonly config: ConfigInput;
  /** Default: a bucket is created, and stays when the stack is deleted. */
  readonly bucket?: IBucket;
  /** Encrypts everything that is stored. Default: the keys that AWS manages, or one by `kms_key`. */
  readonly encryptionKey?: IKey;
  /** The alarms and the messages of `ready_by` go there. Default: a topic is created. */
  readonly alarmTopic?: ITopic;
  /** The tables are created there. Default: a database is created. */
  readonly database?: IDatabaseRef;
  /** The functions run there. They need a way to the platform. Default: in no VPC. */
  readonly vpc?: IVpc;
  /** Default: the private subnets of the VPC. */
  readonly vpcSubnets?: SubnetSelection;
  /**
   * Replaces `memory_mb` of CurateReport, and `curate_minutes`. The limits are the same, and the timeout must
   * be whole minutes.
   */
  readonly curateReport?: Pick<FunctionOptions, 'memorySize' | 'timeout'>;
  /** The platform of a config whose `base_url` is "sandbox". It has the bucket of the exports, too. */
  readonly sandbox?: Sandbox;
  /**
   * The program of the command line. Mails, events and failure reports begin their commands with it. Default:
   * `npx --no-install ad-report-export`. A program that downloads runs a stranger's code: nobody owns the
   * package's name in npm's registry.
   */
  readonly command?: string;
}

/**
 * Exports an advertising platform's reports to S3. Schedules start the state machine. Its functions read the
 * secrets and write to the bucket. A stack has one.
 *
 * A bucket of the caller that is made in this app gets lifecycle rules for what is written there, and nothing
 * else. The policy of a key that is made in this app gets three statements for services of AWS. An imported
 * bucket or key and every topic stay as they are, and a warning says what they must have.
 */
export class AdReportExport extends Construct {
  readonly bucket: IBucket;
  readonly stateMachine: IStateMachine;
  /** Undefined if `tables` is `false` in the config. */
  readonly tables: ExportTables | undefined;
  /** `stack` of the config: the names of what is deployed begin with it. */
  readonly name: string;
  private readonly exportBucket: ExportBucket;
  private readonly readyChecks: IStateMachine | undefined;

  /**
   * @param bundles the folder of the bundled functions. By default, they are bundled now
   * @throws InvalidConfig with every fault of the config and the props
   */
  constructor(scope: Construct, id: string, props: AdReportExportProps, bundles?: string) {
    super(scope, id);
    const config = parseProps(props);
    this.name = config.stack;
    refuseOthers(
      this,
      this.node.root.node.findAll().filter((construct) => construct instanceof AdReportExport),
      props.bucket,
    );
    refuseFaults(this, config, props);
    const { stack, exports } = config;
    const { database, vpc, vpcSubnets, command: program = PROGRAM } = props;
    const givenBucket = props.bucket ?? props.sandbox?.exports;
    const encryptionKey = createEncryptionKey(this, 'Key', config, props.encryptionKey);

    const secrets = new AccountSecrets(this, 'Secrets', config, encryptionKey);
    const bucket = new ExportBucket(this, 'Exports', { config, bucket: givenBucket, encryptionKey });
    const tables = config.tables ? new ExportTables(this, 'Tables', { config, bucket, database }) : undefined;
    const { functions, logGroup } = new WorkflowFunctions(this, 'Functions', {
      config,
      platformUrl: props.sandbox?.url ?? config.base_url,
      bundles: bundles ?? lambdaBundles((this.node.root as App).outdir),
      secrets,
      bucket,
      tables,
      encryptionKey,
      vpc,
      vpcSubnets,
      program,
    });

    const logs = createExecutionLogs(this, 'ExecutionLogs', config, encryptionKey);
    const { stateMachine } = new ExportWorkflow(this, 'Workflow', { functions, logs });
    encryptExecutions(stateMachine, encryptionKey);
    const schedules = new ExportSchedules(this, 'Schedules', encryptionKey);
    const { deadLetterQueue } = schedules;
    schedules.add(stateMachine, runsToStart(exports, config.max_accounts), 'scheduled_at');

    const topic = createAlarmTopic(this, 'AlarmTopic', { config, topic: props.alarmTopic, encryptionKey });
    const checked = runsToCheck(exports);
    let readyChecks: StateMachine | undefined;
    if (checked.length > 0) {
      readyChecks = new ReadyChecks(this, 'ReadyChecks', { functions, logs, topic }).stateMachine;
      encryptExecutions(readyChecks, encryptionKey);
      schedules.add(readyChecks, checked, 'checked_at');
    }
    new ExportAlarms(this, 'Alarms', { config, stateMachine, readyChecks, deadLetterQueue, topic });
    const read = { stack, bucket, tables, encryptionKey };
    const operatorPolicy = createOperatorPolicy(this, 'Operator', {
      ...read,
      stateMachine,
      readyChecks,
      logGroup,
      deadLetterQueue,
    });
    const keeperPolicy = createKeeperPolicy(this, 'Keeper', { ...read, secrets });
    schedules.createAfter(...this.node.children.filter((child) => child !== schedules));

    this.exportBucket = bucket;
    this.bucket = bucket.bucket;
    this.stateMachine = stateMachine;
    this.readyChecks = readyChecks;
    this.tables = tables;
    this.output({
      stateMachine: stateMachine.stateMachineArn,
      bucket: this.bucket.bucketName,
      deadLetterQueue: deadLetterQueue.queueUrl,
      alarmTopic: topic.topicArn,
      operatorPolicy,
      keeperPolicy,
      readyChecks: readyChecks?.stateMachineArn,
      sandboxUrl: props.sandbox?.url,
      database: tables?.database,
      workgroup: tables?.workgroup,
      readerPolicy: tables?.readerPolicy,
    });
    acknowledgeFindings(this, vpc !== undefined);
  }

  /**
   * Lets a role read the reports, the tables and the catalog, and use the key for it. For a role of another
   * AWS account, that account has to allow its role the same, and this one has to admit it to the catalog:
   * infra/PLATFORM.md says how. The policies of the bucket and the key admit it, if they are made in this
   * app.
   *
   * @throws Error if the bucket is imported, and the role belongs to another AWS account or to an unknown one
   */
  grantRead(grantee: IGrantable): void {
    this.exportBucket.grantConsume(grantee);
    if (this.tables) grantCatalog(this, grantee, this.tables.database);
  }

  /** A rule for the event `Report Exported`. EventBridge may deliver it twice. */
  onDelivered(id: string, options?: OnEventOptions): Rule {
    return this.createRule(id, 'Report Exported', this.stateMachine, options);
  }

  /** A rule for the event `Report Export Failed`. EventBridge may deliver it twice. */
  onFailed(id: string, options?: OnEventOptions): Rule {
    return this.createRule(id, 'Report Export Failed', this.stateMachine, options);
  }

  /**
   * A rule for the event `Report Late`. EventBridge may deliver it twice.
   *
   * @throws InvalidConfig if no run has `ready_by`
   */
  onLate(id: string, options?: OnEventOptions): Rule {
    if (this.readyChecks) return this.createRule(id, 'Report Late', this.readyChecks, options);
    throw new InvalidConfig([`${this.node.path}: onLate needs a run with ready_by`]);
  }

  private createRule(
    id: string,
    detailType: string,
    sender: IStateMachine,
    options: OnEventOptions = {},
  ): Rule {
    const rule = new Rule(options.crossStackScope ?? this, id, options);
    // Step Functions adds its state machine. Other stacks send the same event.
    const resources = [sender.stateMachineArn];
    rule.addEventPattern({ source: [EVENT_SOURCE], detailType: [detailType], resources });
    if (options.target) rule.addTarget(options.target);
    return rule;
  }

  /** Commands find the deployed resources by these outputs, whatever the id of this construct is. */
  private output(values: Readonly<Record<keyof typeof OUTPUTS, string | undefined>>): void {
    for (const [name, value] of Object.entries(values)) {
      const id = OUTPUTS[name as keyof typeof OUTPUTS];
      if (value) new CfnOutput(this, id, { value }).overrideLogicalId(id);
    }
  }
}

/**
 * Parses the config with the settings of the prop `curateReport`.
 *
 * @throws InvalidConfig with every fault. Faults of the prop name it
 */
function parseProps({ config, curateReport }: AdReportExportProps): Config {
  const { memorySize, timeout } = curateReport ?? {};
  const settings = {
    ...config,
    ...(memorySize !== undefined && { memory_mb: { ...config.memory_mb, CurateReport: memorySize } }),
    ...(timeout && { curate_minutes: timeout.toMinutes({ integral: false }) }),
  };
  const fields = new Map<string, string>();
  if (memorySize !== undefined) fields.set('memory_mb.CurateReport', 'curateReport.memorySize');
  if (timeout) fields.set('curate_minutes', 'curateReport.timeout');
  try {
    return parseConfig(settings);
  } catch (error) {
    if (!(error instanceof InvalidConfig)) throw error;
    const faults = error.faults.map((fault) => {
      const [setting = ''] = fault.split(':', 1);
      const field = fields.get(setting);
      return field === undefined ? fault : fault.replace(setting, `${field} (${setting})`);
    });
    throw new InvalidConfig(faults);
  }
}

/**
 * @throws InvalidConfig if an export is in the same stack, has the same bucket, or would be deployed under
 *   the same names
 */
function refuseOthers(
  added: AdReportExport,
  all: readonly AdReportExport[],
  bucket: IBucket | undefined,
): void {
  const ownStack = Stack.of(added);
  const faults = all.flatMap((existing) => {
    const stack = Stack.of(existing);
    if (existing === added) return [];
    if (stack === ownStack)
      return [
        `${added.node.path}: its stack already has ${existing.node.path}; give each a stack of its own`,
      ];
    // One that failed has no bucket.
    if (bucket !== undefined && bucket.bucketName === (existing.bucket as IBucket | undefined)?.bucketName)
      return [
        `bucket: ${added.node.path} and ${existing.node.path} cannot share one, because their keys are the same`,
      ];
    const isElsewhere =
      Token.compareStrings(stack.account, ownStack.account) === TokenComparison.DIFFERENT ||
      Token.compareStrings(stack.region, ownStack.region) === TokenComparison.DIFFERENT;
    if (existing.name !== added.name || isElsewhere) return [];
    return [
      `stack: ${added.node.path} and ${existing.node.path} are both called ${existing.name}, and their names would collide; give one another name, or give their stacks different env`,
    ];
  });
  if (faults.length > 0) throw new InvalidConfig(faults);
}

/** A message has room for it, and for the rest of its command. */
const MAX_COMMAND = 100;

/** @throws InvalidConfig with every fault of the props, and of settings that they replace */
function refuseFaults(scope: Construct, config: Config, props: AdReportExportProps): void {
  const { bucket, encryptionKey, alarmTopic, command } = props;
  const { region, account } = Stack.of(scope);
  const faults = Object.entries({ bucket, encryptionKey, alarmTopic }).flatMap(([name, resource]) =>
    resource && Token.compareStrings(resource.env.region, region) === TokenComparison.DIFFERENT
      ? [`${name}: belongs to ${resource.env.region}, and the stack to ${region}`]
      : [],
  );
  if (bucket && Token.compareStrings(bucket.env.account, account) === TokenComparison.DIFFERENT)
    faults.push(`bucket: belongs to the AWS account ${bucket.env.account}, and the stack to ${account}`);
  if (command !== undefined && !(command.length <= MAX_COMMAND && /^\S(.*\S)?$/.test(command)))
    faults.push(`command: must be a line of 1 to ${MAX_COMMAND} characters, without blanks around it`);
  faults.push(...findSandboxFaults(config, props));
  if (encryptionKey && config.kms_key) faults.push('kms_key: cannot be combined with encryptionKey');
  if (alarmTopic && config.alarm_emails.length > 0)
    faults.push('alarm_emails: cannot be combined with alarmTopic; subscribe the addresses to that topic');
  if (bucket && !(bucket instanceof Bucket) && config.keep_reports_days !== undefined)
    faults.push(
      'keep_reports_days: needs a bucket of this app; give yours a rule for exports/ with the tag kind=file',
    );
  if (faults.length > 0) throw new InvalidConfig(faults);
}

function findSandboxFaults({ base_url }: Config, { sandbox }: AdReportExportProps): string[] {
  if (base_url === SANDBOX && !sandbox)
    return [`base_url: "${SANDBOX}" needs the prop sandbox; addSandboxStacks makes both stacks`];
  if (base_url !== SANDBOX && sandbox) return [`sandbox: needs the base_url "${SANDBOX}" in the config`];
  return [];
}

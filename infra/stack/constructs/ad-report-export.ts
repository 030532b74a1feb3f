import type { App } from 'aws-cdk-lib';
import type { OnEventOptions, Rule } from 'aws-cdk-lib/aws-events';
import type { IGrantable } from 'aws-cdk-lib/aws-iam';
import type { IBucket } from 'aws-cdk-lib/aws-s3';
import type { IStateMachine } from 'aws-cdk-lib/aws-stepfunctions';
import { Construct } from 'constructs';
import { AccountSecrets } from './account-secrets.ts';
import { lambdaBundles } from './bundle.ts';
import { createEncryptionKey, encryptExecutions } from './encryption-key.ts';
import { createEventRule, createLateRule } from './event-rules.ts';
import { ExportBucket } from './export-bucket.ts';
import { type AdReportExportProps, parseProps, refuseCollisions, refuseFaults } from './export-props.ts';
import { ExportSchedules } from './export-schedules.ts';
import { ExportTables } from './export-tables.ts';
import { createExecutionLogs, ExportWorkflow } from './export-workflow.ts';
import { createMonitoring } from './monitoring/create-monitoring.ts';
import { createPolicies } from './operator-policy.ts';
import { createOutputs } from './outputs.ts';
import { acknowledgeFindings } from './policy-checks.ts';
import { WorkflowFunctions } from './workflow-functions.ts';

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
    const { config, program } = parseProps(props);
    this.name = config.stack;
    const all = this.node.root.node.findAll();
    const exports = all.filter((construct) => construct instanceof AdReportExport);
    refuseCollisions(this, exports, props.bucket);
    refuseFaults(this, config, props);
    const { database, vpc, vpcSubnets } = props;
    const callersBucket = props.bucket ?? props.sandbox?.exports;
    const encryptionKey = createEncryptionKey(this, 'Key', config, props.encryptionKey);

    const secrets = new AccountSecrets(this, 'Secrets', config, encryptionKey);
    const bucket = new ExportBucket(this, 'Exports', { config, bucket: callersBucket, encryptionKey });
    const tables = config.tables ? new ExportTables(this, 'Tables', { config, bucket, database }) : undefined;
    const stored = { secrets, bucket, tables, encryptionKey };
    const { functions, logGroup } = new WorkflowFunctions(this, 'Functions', {
      config,
      platformUrl: props.sandbox?.url ?? config.base_url,
      bundles: bundles ?? lambdaBundles((this.node.root as App).outdir),
      ...stored,
      network: { vpc, vpcSubnets },
      program,
    });

    const logs = createExecutionLogs(this, 'ExecutionLogs', config, encryptionKey);
    const { stateMachine } = new ExportWorkflow(this, 'Workflow', { functions, logs });
    encryptExecutions(stateMachine, encryptionKey);
    const schedules = new ExportSchedules(this, 'Schedules', encryptionKey);
    const { deadLetterQueue } = schedules;
    schedules.startExports(stateMachine, config);
    const watched = { config, functions, logs, stateMachine, schedules, encryptionKey };
    const { topic, readyChecks } = createMonitoring(this, { ...watched, topic: props.alarmTopic });
    const operated = { stateMachine, readyChecks, logGroup, deadLetterQueue };
    const policies = createPolicies(this, { stack: config.stack, ...stored, ...operated });
    schedules.createAfter(...this.node.children.filter((child) => child !== schedules));

    this.exportBucket = bucket;
    this.bucket = bucket.bucket;
    this.stateMachine = stateMachine;
    this.readyChecks = readyChecks;
    this.tables = tables;
    createOutputs(this, {
      stateMachine: stateMachine.stateMachineArn,
      bucket: this.bucket.bucketName,
      deadLetterQueue: deadLetterQueue.queueUrl,
      alarmTopic: topic.topicArn,
      ...policies,
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
    this.tables?.grantConsume(grantee);
  }

  /** A rule for the event `Report Exported`. EventBridge may deliver it twice. */
  onDelivered(id: string, options?: OnEventOptions): Rule {
    return createEventRule(this, id, 'Report Exported', this.stateMachine, options);
  }

  /** A rule for the event `Report Export Failed`. EventBridge may deliver it twice. */
  onFailed(id: string, options?: OnEventOptions): Rule {
    return createEventRule(this, id, 'Report Export Failed', this.stateMachine, options);
  }

  /**
   * A rule for the event `Report Late`. EventBridge may deliver it twice.
   *
   * @throws InvalidConfig if no run has `ready_by`
   */
  onLate(id: string, options?: OnEventOptions): Rule {
    return createLateRule(this, id, this.readyChecks, options);
  }
}

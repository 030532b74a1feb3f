import { CfnOutput, Stack } from 'aws-cdk-lib';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import type { Construct } from 'constructs';
import { platformName } from '../functions/decisions/request-hash.ts';
import type { Config } from './config/config.ts';
import { OUTPUTS } from './config/config.ts';
import { tablesOf } from './config/exports.ts';
import { runsToCheck, runsToStart } from './config/runs.ts';
import { AccountSecrets } from './constructs/account-secrets.ts';
import { createEncryptionKey, encryptExecutions } from './constructs/encryption-key.ts';
import { createExecutionLogs } from './constructs/execution-logs.ts';
import { ExportBucket } from './constructs/export-bucket.ts';
import { ExportSchedules } from './constructs/export-schedules.ts';
import { ExportTables } from './constructs/export-tables.ts';
import { ExportWorkflow } from './constructs/export-workflow.ts';
import { createAlarmTopic } from './constructs/monitoring/alarm-topic.ts';
import { ExportAlarms } from './constructs/monitoring/export-alarms.ts';
import { ReadyChecks } from './constructs/monitoring/ready-checks.ts';
import { grantPermissions, WorkflowFunctions } from './constructs/workflow-functions.ts';

/** Schedules start the state machine. Its functions read the secrets and write to the bucket. */
export class ExportStack extends Stack {
  /** @param bundles the folder that `bundleFunctions` filled */
  constructor(scope: Construct, config: Config, bundles: string) {
    super(scope, config.stack, {
      description: "Exports an advertising platform's reports to S3",
      // Saves a quarter of a large template.
      suppressTemplateIndentation: true,
    });
    const { exports } = config;
    const accounts = Object.keys(config.accounts);
    const encryptionKey = createEncryptionKey(this, 'Key', config.kms_key);

    const secrets = new AccountSecrets(this, 'Secrets', { accounts, encryptionKey });
    const bucket = new ExportBucket(this, 'Exports', {
      keepReportsDays: config.keep_reports_days,
      encryptionKey,
    });
    const tables = config.tables ? this.tables(config, bucket, encryptionKey) : undefined;
    const { functions } = new WorkflowFunctions(this, 'Functions', {
      config,
      bundles,
      bucket: bucket.bucket,
      database: tables?.database,
      encryptionKey,
    });
    grantPermissions(functions, { secrets, bucket, tables });

    const logs = createExecutionLogs(this, 'ExecutionLogs', config.log_retention_days, encryptionKey);
    const { stateMachine } = new ExportWorkflow(this, 'Workflow', { functions, logs });
    encryptExecutions(stateMachine, encryptionKey);
    const schedules = new ExportSchedules(this, 'Schedules', { encryptionKey });
    schedules.add(stateMachine, runsToStart(exports, config.max_accounts), 'scheduled_at');
    const { deadLetterQueue } = schedules;

    const topic = createAlarmTopic(this, 'AlarmTopic', {
      arn: config.alarm_topic_arn,
      emails: config.alarm_emails,
      encryptionKey,
    });
    const runbookUrl = config.runbook_url;
    const checked = runsToCheck(exports);
    const readyChecks =
      checked.length > 0
        ? new ReadyChecks(this, 'ReadyChecks', { functions, logs, topic, encryptionKey })
        : undefined;
    if (readyChecks) {
      encryptExecutions(readyChecks.stateMachine, encryptionKey);
      schedules.add(readyChecks.stateMachine, checked, 'checked_at');
    }
    new ExportAlarms(this, 'Alarms', {
      stateMachine,
      readyChecks: readyChecks?.stateMachine,
      deadLetterQueue,
      hasTables: tables !== undefined,
      topic,
      runbookUrl,
    });
    schedules.createAfter(...this.node.children.filter((other) => other !== schedules));

    new CfnOutput(this, OUTPUTS.stateMachine, { value: stateMachine.stateMachineArn });
    new CfnOutput(this, OUTPUTS.bucket, { value: bucket.bucket.bucketName });
    new CfnOutput(this, OUTPUTS.deadLetterQueue, { value: deadLetterQueue.queueUrl });
    new CfnOutput(this, OUTPUTS.alarmTopic, { value: topic.topicArn });
    if (!tables) return;
    new CfnOutput(this, OUTPUTS.database, { value: tables.database });
    new CfnOutput(this, OUTPUTS.workgroup, { value: tables.workgroup });
    new CfnOutput(this, OUTPUTS.readerPolicy, { value: tables.readerPolicy });
  }

  private tables(config: Config, { bucket }: ExportBucket, encryptionKey: IKey | undefined): ExportTables {
    const { exports, base_url, revision } = config;
    const tables = tablesOf(exports, { platform: platformName(base_url), revision }, config);
    return new ExportTables(this, 'Tables', { exports, config, tables, bucket, encryptionKey });
  }
}

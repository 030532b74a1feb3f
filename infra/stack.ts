import { CfnOutput, Stack } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import type { Settings } from '../functions/workflow/settings.ts';
import type { Config } from './config.ts';
import { AccountSecrets } from './constructs/account-secrets.ts';
import { alarmTopic } from './constructs/alarm-topic.ts';
import { encryptExecutions, encryptionKey } from './constructs/encryption-key.ts';
import { executionLogs } from './constructs/execution-logs.ts';
import { ExportAlarms } from './constructs/export-alarms.ts';
import { ExportBucket } from './constructs/export-bucket.ts';
import { ExportDashboard } from './constructs/export-dashboard.ts';
import { ExportSchedules } from './constructs/export-schedules.ts';
import { ExportWorkflow } from './constructs/export-workflow.ts';
import { WorkflowFunctions } from './constructs/workflow-functions.ts';
import { OUTPUTS } from './outputs.ts';

/** Steps that call the platform with the token that GetToken keeps. */
const WITH_TOKEN = ['CreateReport', 'CheckReport', 'SaveReport', 'QueryPurchases', 'ExportList'] as const;

/** Steps that store what the platform gave. */
const STORING = ['SaveReport', 'QueryPurchases', 'ExportList'] as const;

/** Schedules start the state machine, whose functions read the secrets and write to the bucket. */
export class ExportStack extends Stack {
  constructor(scope: Construct, config: Config) {
    super(scope, config.stack, { description: "Exports an advertising platform's reports to S3" });
    const key = encryptionKey(this, 'Key', config.kms_key);
    const kept = key && { encryptionKey: key };
    const exports = new ExportBucket(this, 'Exports', kept);
    const accounts = { prefix: config.stack, accounts: config.accounts };
    const secrets = new AccountSecrets(this, 'Secrets', { ...accounts, ...kept });
    const { functions } = new WorkflowFunctions(this, 'Functions', {
      settings: this.settings(config, exports.bucket.bucketName),
      service: config.stack,
      logRetention: config.log_retention_days,
      ...kept,
      reserveTokenConcurrency: config.reserve_token_concurrency,
    });

    secrets.grantReadWriteCredentials(functions.GetToken);
    secrets.grantReadWriteTokens(functions.GetToken);
    for (const step of WITH_TOKEN) secrets.grantReadTokens(functions[step]);
    for (const step of STORING) exports.grantUpload(functions[step]);
    exports.grantReadOutcomes(functions.PlanExport);
    exports.grantLeaveManifest(functions.PublishWindow);
    exports.grantRemoveFailure(functions.PublishWindow);
    exports.grantRemoveFailure(functions.PublishExport);
    exports.grantLeaveFailure(functions.DescribeFailure);
    exports.grantAbandon(functions.DescribeFailure);

    const logs = executionLogs(this, 'ExecutionLogs', config.log_retention_days, key);
    const { stateMachine } = new ExportWorkflow(this, 'Workflow', { functions, logs });
    encryptExecutions(stateMachine, key);
    const started = { exports: config.exports, stateMachine };
    const { unstarted } = new ExportSchedules(this, 'Schedules', { ...started, ...kept });

    const topic = alarmTopic(this, 'AlarmTopic', { emails: config.alarm_emails, ...kept });
    const watched = { ...started, functions, unstarted };
    new ExportAlarms(this, 'Alarms', { ...watched, topic, runbookUrl: config.runbook_url });
    new ExportDashboard(this, 'Dashboard', watched);

    new CfnOutput(this, OUTPUTS.stateMachine, { value: stateMachine.stateMachineArn });
    new CfnOutput(this, OUTPUTS.bucket, { value: exports.bucket.bucketName });
    new CfnOutput(this, OUTPUTS.unstarted, { value: unstarted.queueUrl });
  }

  private settings(config: Config, bucket: string): Omit<Settings, 'STEP'> {
    return {
      PLATFORM_BASE_URL: config.base_url,
      PLATFORM_REVISION: config.revision,
      SECRET_PREFIX: config.stack,
      BUCKET: bucket,
      BUCKET_OWNER: this.account,
      ACCOUNTS: config.accounts.join(','),
      MAX_DOWNLOAD_BYTES: String(config.max_download_bytes),
      ...(config.refresh_parameters && { REFRESH_PARAMETERS: JSON.stringify(config.refresh_parameters) }),
      ...(config.runbook_url && { RUNBOOK_URL: config.runbook_url }),
      ...(config.download_hosts && { DOWNLOAD_HOSTS: config.download_hosts.join(',') }),
    };
  }
}

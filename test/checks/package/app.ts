import {
  AdReportExport,
  type ExportResult,
  type FailureReport,
  InvalidConfig,
  type Manifest,
  type Readiness,
} from 'ad-report-export';
import { App, Stack } from 'aws-cdk-lib';
import { Vpc } from 'aws-cdk-lib/aws-ec2';
import { Key } from 'aws-cdk-lib/aws-kms';
import { Bucket } from 'aws-cdk-lib/aws-s3';
import { Topic } from 'aws-cdk-lib/aws-sns';
import config from './ads.config.ts';

// The check copies this file into the app that `init` wrote.

const app = new App();

// As infra/stack/stack.ts does it.
const clone = new Stack(app, config.stack, {
  description: "Exports an advertising platform's reports to S3",
  suppressTemplateIndentation: true,
});
new AdReportExport(clone, 'Default', { config, command: 'npm run export --' });

const platform = new Stack(app, 'platform');
const encryptionKey = new Key(platform, 'Key');
const ads = new AdReportExport(platform, 'Ads', {
  config: { ...config, stack: 'ads' },
  bucket: new Bucket(platform, 'Lake', { versioned: true, encryptionKey }),
  encryptionKey,
  alarmTopic: new Topic(platform, 'Pager'),
  vpc: new Vpc(platform, 'Vpc'),
});
ads.onFailed('Failed');
ads.onLate('Late');

try {
  new AdReportExport(new Stack(app, 'refused'), 'Ads', { config: { ...config, revision: 'none' } });
} catch (error) {
  if (!(error instanceof InvalidConfig)) throw error;
}
app.node.tryRemoveChild('refused');

/** Readers of an app have the types of what they get. */
export const lines = {
  exported: ({ name, windows }: ExportResult) => `${name}: ${windows.map(({ key }) => key).join()}`,
  failed: ({ error, todo }: FailureReport) => `${error}: ${todo}`,
  late: ({ subject }: Readiness) => subject,
  delivered: ({ key, bytes }: Manifest) => `${key}: ${bytes}`,
};

import { AdReportExport } from 'ad-report-export';
import { App, Stack } from 'aws-cdk-lib';
import { Vpc } from 'aws-cdk-lib/aws-ec2';
import { Key } from 'aws-cdk-lib/aws-kms';
import { Bucket } from 'aws-cdk-lib/aws-s3';
import { Topic } from 'aws-cdk-lib/aws-sns';
import config from './ads.config.ts';

// The check copies this file into the app that `init` wrote.

const app = new App();

// As infra/stack.ts does it.
const clone = new Stack(app, config.stack, {
  description: "Exports an advertising platform's reports to S3",
  suppressTemplateIndentation: true,
});
new AdReportExport(clone, 'Default', { config, command: 'npm run export --' });

const platform = new Stack(app, 'platform');
const encryptionKey = new Key(platform, 'Key');
new AdReportExport(platform, 'Ads', {
  config: { ...config, stack: 'ads' },
  bucket: new Bucket(platform, 'Lake', { versioned: true, encryptionKey }),
  encryptionKey,
  alarmTopic: new Topic(platform, 'Pager'),
  vpc: new Vpc(platform, 'Vpc'),
});

import { type App, Stack } from 'aws-cdk-lib';
import { type ConfigInput, parseConfig } from './config/config.ts';
import { AdReportExport } from './constructs/ad-report-export.ts';

/** The stack of this repository: give the construct a bucket, key, topic, database or VPC of yours here. */
export class ExportStack extends Stack {
  /** @param bundles the folder of the bundled functions. By default, they are bundled now */
  constructor(scope: App, config: ConfigInput, bundles?: string) {
    super(scope, parseConfig(config).stack, {
      description: "Exports an advertising platform's reports to S3",
      // Saves a quarter of a large template.
      suppressTemplateIndentation: true,
    });
    // CDK leaves this id out of logical ids, which are shorter without it.
    new AdReportExport(this, 'Default', { config }, bundles);
  }
}

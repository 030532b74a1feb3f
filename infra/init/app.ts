import { AdReportExport, exitOnInvalidConfig } from 'ad-report-export';
import { App, Stack } from 'aws-cdk-lib';
import config from './ads.config.ts';

const app = new App();
exitOnInvalidConfig(() => {
  new AdReportExport(new Stack(app, config.stack), 'Ads', { config });
});

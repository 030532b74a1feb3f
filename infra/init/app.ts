import { AdReportExport } from 'ad-report-export';
import { App, Stack } from 'aws-cdk-lib';
import config from './ads.config.ts';

const stack = new Stack(new App(), config.stack);
new AdReportExport(stack, 'Ads', { config });

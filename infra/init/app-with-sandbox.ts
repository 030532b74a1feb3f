import { AdReportExport, addSandboxStacks, asksForSandbox, exitOnInvalidConfig } from 'ad-report-export';
import { App, Stack } from 'aws-cdk-lib';
import config from './ads.config.ts';
import sandbox from './sandbox.ts';

const app = new App();
exitOnInvalidConfig(() => {
  if (asksForSandbox(app)) addSandboxStacks(app, sandbox);
  else new AdReportExport(new Stack(app, config.stack), 'Ads', { config });
});

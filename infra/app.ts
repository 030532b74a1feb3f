import { App } from 'aws-cdk-lib';
import { CONFIG_KEY, InvalidConfig } from './config/config.ts';
import { readConfigFile } from './config/read-config.ts';
import { ExportStack } from './stack.ts';
import { addPolicyChecks, checkTemplate } from './synth-checks.ts';

/** The CDK app. The CDK CLI passes the context of cdk.json, and `-c config=FILE`. */
try {
  const app = new App();
  const file = app.node.tryGetContext('config');
  const config = file === undefined ? app.node.tryGetContext(CONFIG_KEY) : readConfigFile(file);
  const { stackName } = new ExportStack(app, config);
  addPolicyChecks(app);
  checkTemplate(app.synth().getStackByName(stackName));
} catch (error) {
  if (!(error instanceof InvalidConfig)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}

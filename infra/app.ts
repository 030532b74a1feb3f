import { App } from 'aws-cdk-lib';
import { InvalidConfig } from './stack/config/config.ts';
import { readConfigFile } from './stack/config/read-config.ts';
import { ExportStack } from './stack/stack.ts';
import { addPolicyChecks, checkTemplate } from './stack/synth-checks.ts';

/** The CDK app: `cdk synth`, or `cdk synth -c config=FILE`. */
const app = new App();
const file: string | undefined = app.node.tryGetContext('config');
try {
  const { stackName } = new ExportStack(app, Object(readConfigFile(file)));
  addPolicyChecks(app);
  checkTemplate(app.synth().getStackByName(stackName));
} catch (error) {
  if (!(error instanceof InvalidConfig)) throw error;
  process.stderr.write(`${file ?? 'cdk.json'}: ${error.message}\n`);
  process.exitCode = 1;
}

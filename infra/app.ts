import { App } from 'aws-cdk-lib';
import { CONFIG_KEY, InvalidConfig, parseConfig } from './config.ts';
import { addPolicyChecks } from './policy-checks.ts';
import { ExportStack } from './stack.ts';

/** What the CDK CLI runs. It hands over cdk.json's context. */
try {
  const app = new App();
  const stack = new ExportStack(app, parseConfig(app.node.tryGetContext(CONFIG_KEY)));
  addPolicyChecks(app, stack);
  app.synth();
} catch (error) {
  if (!(error instanceof InvalidConfig)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}

import { App } from 'aws-cdk-lib';
import { warnOfApiKeys } from './api-key-warnings.ts';
import { CONFIG_KEY, InvalidConfig, parseConfig } from './config.ts';
import { addPolicyChecks } from './policy-checks.ts';
import { ExportStack } from './stack.ts';

/** What the CDK CLI runs. It hands over cdk.json's context. */
try {
  const app = new App();
  const config = parseConfig(app.node.tryGetContext(CONFIG_KEY));
  const stack = new ExportStack(app, config);
  warnOfApiKeys(stack, config, new Date());
  addPolicyChecks(app, stack);
  app.synth();
} catch (error) {
  if (!(error instanceof InvalidConfig)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}

import { join } from 'node:path';
import { App } from 'aws-cdk-lib';
import { CONFIG_KEY, InvalidConfig, parseConfig } from './config/config.ts';
import { bundleFunctions, installForLambda } from './constructs/bundle.ts';
import { ExportStack } from './stack.ts';
import { addPolicyChecks, addWarnings, checkTemplate } from './synth-checks.ts';

/** The CDK app. The CDK CLI passes cdk.json's context. */
try {
  const app = new App();
  const config = parseConfig(app.node.tryGetContext(CONFIG_KEY));
  const bundles = join(app.outdir, 'functions');
  bundleFunctions(bundles, await installForLambda());
  const stack = new ExportStack(app, config, bundles);
  addWarnings(stack, config);
  addPolicyChecks(app, stack);
  checkTemplate(app.synth().getStackByName(config.stack));
} catch (error) {
  if (!(error instanceof InvalidConfig)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}

import { join } from 'node:path';
import { App } from 'aws-cdk-lib';
import { CONFIG_KEY, InvalidConfig, parseConfig } from './config.ts';
import { bundleFunctions } from './constructs/bundle.ts';
import { fetchBindings } from './duckdb-bindings.ts';
import { PackageFault } from './fetch-package.ts';
import { checkLimits } from './limits.ts';
import { addPolicyChecks } from './policy-checks.ts';
import { ExportStack } from './stack.ts';
import { addWarnings } from './warnings.ts';

/** The CDK app. The CDK CLI passes cdk.json's context. */
try {
  const app = new App();
  const config = parseConfig(app.node.tryGetContext(CONFIG_KEY));
  const bundles = join(app.outdir, 'functions');
  bundleFunctions(bundles, await fetchBindings());
  const stack = new ExportStack(app, config, bundles);
  addWarnings(stack, config, new Date());
  addPolicyChecks(app, stack);
  checkLimits(app.synth().getStackByName(stack.stackName).template, config);
} catch (error) {
  if (!(error instanceof InvalidConfig || error instanceof PackageFault)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}

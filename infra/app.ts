import { relative } from 'node:path';
import { App } from 'aws-cdk-lib';
import { readConfigFile, SANDBOX_CONFIG } from './stack/config/read-config.ts';
import { SANDBOX } from './stack/config/sandbox-config.ts';
import { exitOnInvalidConfig } from './stack/exit-on-invalid-config.ts';
import { addSandboxStacks, asksForSandbox } from './stack/sandbox/sandbox-stacks.ts';
import { ExportStack } from './stack/stack.ts';
import { addPolicyChecks, checkTemplate } from './stack/synth-checks.ts';

/** The CDK app: `cdk synth`, or with `-c config=FILE` or `-c sandbox=true`. */
const app = new App();
const contextFile: string | undefined = app.node.tryGetContext('config');
const file = contextFile ?? (asksForSandbox(app) ? SANDBOX_CONFIG : undefined);
exitOnInvalidConfig(
  () => {
    const config = Object(readConfigFile(file));
    if (asksForSandbox(app) || config.base_url === SANDBOX) addSandboxStacks(app, config);
    else new ExportStack(app, config);
    addPolicyChecks(app);
    for (const stack of app.synth().stacks) checkTemplate(stack);
  },
  relative('', file ?? 'cdk.json'),
);

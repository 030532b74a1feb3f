import { type App, Stack } from 'aws-cdk-lib';
import { type Config, type ConfigInput, InvalidConfig, parseConfig } from '../config/config.ts';
import { sandboxFaults } from '../config/sandbox-config.ts';
import { AdReportExport } from '../constructs/ad-report-export.ts';
import { lambdaBundles } from '../constructs/bundle.ts';
import { DeployedSandbox } from './deployed-sandbox.ts';

/** The key in an app's context: `cdk deploy --all -c sandbox=true`. */
const FLAG = 'sandbox';

/** Whether `cdk` was called with `-c sandbox=…`, also with a wrong value: `addSandboxStacks` refuses it. */
export function asksForSandbox(app: App): boolean {
  return app.node.tryGetContext(FLAG) !== undefined;
}

/**
 * Adds two stacks to try the export without a platform: a sandbox of the platform, and a main stack that
 * exports from it. Destroying them removes all that they hold.
 *
 * @param config with the `base_url` "sandbox" and only the account "sandbox"
 * @param bundles the folder of the bundled functions. By default, they are bundled now
 * @throws InvalidConfig with every fault of the flag and the config
 */
export function addSandboxStacks(app: App, config: ConfigInput, bundles?: string): void {
  const parsed = parseSandboxConfig(app, config);
  const sandbox = new Stack(app, `${parsed.stack}-platform`, {
    description: `A sandbox of an advertising platform for ${parsed.stack}, with invented data. ${REMOVAL}`,
    suppressTemplateIndentation: true,
  });
  const platform = new DeployedSandbox(sandbox, 'Default', {
    config: parsed,
    bundles: bundles ?? lambdaBundles(app.outdir),
  });
  const main = new Stack(app, parsed.stack, {
    description: `Exports reports of the sandbox to S3. ${REMOVAL}`,
    suppressTemplateIndentation: true,
  });
  new AdReportExport(main, 'Default', { config, sandbox: platform }, bundles);
}

/** What a person needs who finds one of the stacks. */
const REMOVAL =
  'To remove it with all that it holds, destroy both stacks with the -c of their deployment, ' +
  'such as: cdk destroy --all -c sandbox=true';

function parseSandboxConfig(app: App, config: ConfigInput): Config {
  const flag: unknown = app.node.tryGetContext(FLAG);
  const isRight = flag === undefined || flag === true || flag === 'true';
  const faults = [...(isRight ? [] : [`-c ${FLAG}: must be true, or absent`]), ...sandboxFaults(config)];
  try {
    const parsed = parseConfig(config);
    if (faults.length === 0) return parsed;
  } catch (error) {
    if (!(error instanceof InvalidConfig)) throw error;
    faults.push(...error.faults);
  }
  throw new InvalidConfig([...new Set(faults)]);
}

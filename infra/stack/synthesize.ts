import { mkdtempDisposableSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App, AssetStaging } from 'aws-cdk-lib';
import type { Template } from 'aws-cdk-lib/assertions';
import { DISABLE_ASSET_STAGING_CONTEXT } from 'aws-cdk-lib/cx-api';
import type { ConfigInput } from './config/config.ts';
import { readContext } from './config/read-config.ts';
import { ExportStack } from './stack.ts';

/** The stack as it would be deployed. */
export type Synthesized = ReturnType<typeof synthesize>;

/**
 * Synthesizes the stack in this process, with the feature flags of `cdk synth` and without an AWS account.
 * Skips the policy checks and CloudFormation's schema validation: they take seconds, and `cdk synth` runs
 * them. Leaves the functions' code where it was bundled and deletes the assembly after reading the template.
 *
 * @param bundles the folder that `bundleFunctions` filled
 * @returns the template with its references unresolved, and `codeOf` for the folder of a function's bundle
 */
export function synthesize(config: ConfigInput, bundles: string) {
  using assembly = mkdtempDisposableSync(join(tmpdir(), 'ad-report-export-'));
  const context = { ...readContext(), [DISABLE_ASSET_STAGING_CONTEXT]: true };
  const app = new App({ context, builtinCloudFormationValidation: false, outdir: assembly.path });
  const stack = new ExportStack(app, config, bundles);
  const template: ReturnType<Template['toJSON']> = app.synth().getStackByName(stack.stackName).template;
  const assets = stack.node.findAll().filter((construct) => construct instanceof AssetStaging);
  const folders = new Map(assets.map(({ assetHash, sourcePath }) => [`${assetHash}.zip`, sourcePath]));
  const codeOf = (id: string) => folders.get(template.Resources[id].Properties.Code.S3Key) ?? '';
  return { template, codeOf };
}

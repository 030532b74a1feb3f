import { statSync } from 'node:fs';
import { type App, Validations } from 'aws-cdk-lib';
import type { CloudFormationStackArtifact } from 'aws-cdk-lib/cx-api';
import { AwsSolutionsChecks } from 'cdk-nag';
import { InvalidConfig } from './config/config.ts';

// The checks of `cdk synth` that a local run leaves out.

/** Fails the synth on every finding of cdk-nag's AwsSolutions pack that is not acknowledged. */
export function addPolicyChecks(app: App): void {
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
}

/** CloudFormation refuses a larger template. */
const MAX_TEMPLATE_BYTES = 1_000_000;

/** @throws InvalidConfig if CloudFormation would refuse the template for its size */
export function checkTemplate({ templateFullPath }: CloudFormationStackArtifact): void {
  const { size } = statSync(templateFullPath);
  if (size <= MAX_TEMPLATE_BYTES) return;
  throw new InvalidConfig([
    `exports: make a template of ${size} bytes, and CloudFormation takes ${MAX_TEMPLATE_BYTES}. Set advertiser_ids to "all" ` +
      'instead of long lists, or deploy some exports in a second stack, with another name in stack.',
  ]);
}

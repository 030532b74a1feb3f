import { CfnOutput } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { OUTPUTS } from '../config/config.ts';

type OutputName = keyof typeof OUTPUTS;

/** Commands find the deployed resources by these outputs, whatever the id of the construct is. */
export function createOutputs(
  scope: Construct,
  values: Readonly<Record<OutputName, string | undefined>>,
): void {
  for (const [name, value] of Object.entries(values)) {
    const id = OUTPUTS[name as OutputName];
    if (value) new CfnOutput(scope, id, { value }).overrideLogicalId(id);
  }
}

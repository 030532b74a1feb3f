import { type App, Validations } from 'aws-cdk-lib';
import { AwsSolutionsChecks } from 'cdk-nag';
import type { ExportStack } from './stack.ts';

/** Makes the synth fail on any finding of cdk-nag's AwsSolutions pack that is not acknowledged here, with its reason. */
export function addPolicyChecks(app: App, _stack: ExportStack): void {
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
}

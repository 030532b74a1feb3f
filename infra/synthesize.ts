import { join } from 'node:path';
import { App } from 'aws-cdk-lib';
import type { Template } from 'aws-cdk-lib/assertions';
import { type Config, readContext } from './config.ts';
import { ExportStack } from './stack.ts';
import type { Definition } from './workflow-picture.ts';

type Json = ReturnType<Template['toJSON']>;

/** The stack as it would be deployed. */
export interface Synthesized {
  /** CloudFormation's template, its references unresolved. */
  readonly template: Json;
  /** The state machine's definition; where an ARN belongs, parts of it are missing. */
  readonly definition: Definition;
  /** The directory of a function's code, in which the module of its `Handler` lies. */
  codeOf(functionId: string): string;
}

/**
 * Synthesizes the stack in this process, under the same feature flags as `cdk synth`, without an account. The checks
 * against policies and against CloudFormation's schemas are left out: they take seconds, and `cdk synth` makes them.
 *
 * @param outdir where the assembly goes; what it holds from before is overwritten
 */
export function synthesize({ config, outdir }: { config: Config; outdir: string }): Synthesized {
  const app = new App({ context: readContext(), builtinCloudFormationValidation: false, outdir });
  const { stackName } = new ExportStack(app, config);
  const template: Json = app.synth().getStackByName(stackName).template;
  return {
    template,
    definition: definitionIn(template),
    codeOf(functionId) {
      const { Code } = template.Resources[functionId].Properties;
      return join(outdir, `asset.${Code.S3Key.replace(/\.zip$/, '')}`);
    },
  };
}

function definitionIn(template: Json): Definition {
  const resources = Object.values<Json>(template.Resources);
  const machine = resources.find(({ Type }) => Type === 'AWS::StepFunctions::StateMachine');
  const parts: unknown[] = machine?.Properties.DefinitionString['Fn::Join'][1];
  return JSON.parse(parts.filter((part) => typeof part === 'string').join(''));
}

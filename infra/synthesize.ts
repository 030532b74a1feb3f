import { join } from 'node:path';
import { App } from 'aws-cdk-lib';
import type { Template } from 'aws-cdk-lib/assertions';
import { type Config, readContext } from './config.ts';
import { ExportStack } from './stack.ts';

type Json = ReturnType<Template['toJSON']>;

/** The stack as it would be deployed. */
export interface Synthesized {
  /** CloudFormation's template, with its references unresolved. */
  readonly template: Json;
  /** The directory of a function's code, in which the module of its `Handler` lies. */
  codeOf(functionId: string): string;
}

/**
 * Synthesizes the stack in this process, under the same feature flags as `cdk synth`, without an account. Its checks
 * against policies and against CloudFormation's schemas are left out: they take seconds, and `cdk synth` makes them.
 *
 * @param outdir where the assembly goes; a temporary directory unless given
 */
export function synthesize({ config, outdir }: { config: Config; outdir?: string }): Synthesized {
  const app = new App({
    context: readContext(),
    builtinCloudFormationValidation: false,
    ...(outdir !== undefined && { outdir }),
  });
  const stack = new ExportStack(app, config);
  const assembly = app.synth();
  const template: Json = assembly.getStackByName(stack.stackName).template;
  return {
    template,
    codeOf(functionId) {
      const { Code } = template.Resources[functionId].Properties;
      return join(assembly.directory, `asset.${Code.S3Key.replace(/\.zip$/, '')}`);
    },
  };
}
